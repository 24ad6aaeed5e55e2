/* Arguments of tool calls: what is accepted is a JSON object for cJSON too. */
#include "agent/model/arguments.h"

#include <cjson/cJSON.h>

#include "tests/fuzz/fuzz.h"

int
LLVMFuzzerTestOneInput(const uint8_t *input, size_t len)
{
	auto_buf object = BUF_INIT(64U << 20);
	enum arguments_status status =
	    arguments_read((const char *)input, len, true, &object);

	if (status == ARGUMENTS_INVALID) {
		must(object.len == 0);
		return 0;
	}
	cJSON *json = cJSON_ParseWithLength(object.bytes, object.len);
	must(cJSON_IsObject(json));
	cJSON_Delete(json);
	return 0;
}
