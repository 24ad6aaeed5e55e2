/* See uuid.h. */
#include "agent/box/uuid.h"

#include <sys/random.h>

void
uuid_make(char out[UUID_SIZE])
{
	unsigned char b[16];

	if (getrandom(b, sizeof b, 0) != (ssize_t)sizeof b)
		abort(); /* cannot be: 16 bytes never come short */
	b[6] = (unsigned char)(0x40 | (b[6] & 15));
	b[8] = (unsigned char)(0x80 | (b[8] & 63));
	size_t n = 0;
	for (size_t i = 0; i < sizeof b; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			out[n++] = '-';
		snprintf(out + n, 3, "%02x", b[i]);
		n += 2;
	}
}

bool
uuid_valid(const char *s)
{
	size_t i = 0;

	for (; s[i]; i++) {
		bool dash = i == 8 || i == 13 || i == 18 || i == 23;
		if (i >= UUID_SIZE - 1 || (s[i] == '-') != dash ||
		    (!dash && !strchr("0123456789abcdef", s[i])))
			return false;
	}
	return i == UUID_SIZE - 1;
}
