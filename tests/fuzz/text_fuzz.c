/* Text of strangers: what goes to a terminal or into JSON is harmless. */
#include "agent/base/text.h"

#include <cjson/cJSON.h>

#include "agent/base/json.h"
#include "agent/base/path.h"
#include "tests/fuzz/fuzz.h"

int
LLVMFuzzerTestOneInput(const uint8_t *input, size_t len)
{
	const char *s = (const char *)input;
	auto_buf clean = BUF_INIT(16U << 20);
	auto_buf json = BUF_INIT(16U << 20);
	auto_buf coded = BUF_INIT(16U << 20);
	auto_buf back = BUF_INIT(16U << 20);
	char line[256];

	text_add_utf8(&clean, s, len);
	must(utf8_valid(clean.bytes, clean.len));
	must(!memchr(clean.bytes, '\0', clean.len));

	size_t n = escape_line(line, sizeof line, s, len);
	must(n == strlen(line) && utf8_valid(line, n));
	for (size_t i = 0; i < n; i++)
		must((unsigned char)line[i] >= 0x20 && line[i] != 0x7f);

	json_print_string(&json, clean.bytes, clean.len);
	cJSON *parsed = cJSON_ParseWithLength(json.bytes, json.len);
	must(cJSON_IsString(parsed));
	must(strcmp(parsed->valuestring, clean.bytes) == 0);
	cJSON_Delete(parsed);

	buf_base64(&coded, s, len);
	must(buf_unbase64(&back, coded.bytes, coded.len) == 0);
	must(back.len == len && memcmp(back.bytes, s, len) == 0);
	return 0;
}
