/*
 * Fuzz targets: built with clang's fuzzer, or (FUZZ_PLAIN) as a program that
 * runs the files named on its command line.
 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include "agent/base/base.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len);

/* An assertion that no build flag removes. */
#define must(condition) ((condition) ? (void)0 : abort())

#ifdef FUZZ_PLAIN
int
main(int argc, char **argv)
{
	static uint8_t input[1 << 20];

	for (int i = 1; i < argc; i++) {
		FILE *f = fopen(argv[i], "rb");
		if (!f) {
			perror(argv[i]);
			return 1;
		}
		size_t n = fread(input, 1, sizeof input, f);
		fclose(f);
		LLVMFuzzerTestOneInput(input, n);
	}
	return 0;
}
#endif

#endif
