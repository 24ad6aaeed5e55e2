/* Rows that other programs wrote: what is read of them becomes records that are
 * JSON, and messages that are read again as the same. */
#include "agent/store/foreign.h"

#include "tests/fuzz/fuzz.h"

static void
check_record(const struct record *r)
{
	auto_buf once = BUF_INIT(256U << 20), twice = BUF_INIT(256U << 20);
	auto_buf line = BUF_INIT(256U << 20);
	struct message m;
	struct status st;

	if (message_from_record(&m, r->json, r->len, &st) < 0)
		return;
	message_to_record(&m, &once);
	message_to_line(&m, &line);
	message_finish(&m);
	must(!once.failed && !line.failed);
	must(message_from_record(&m, once.bytes, once.len, &st) == 0);
	message_to_record(&m, &twice);
	message_finish(&m);
	must(strcmp(once.bytes, twice.bytes) == 0);
	cJSON *json = json_parse(line.bytes, line.len, &st);
	must(json != NULL);
	cJSON_Delete(json);
}

int
LLVMFuzzerTestOneInput(const uint8_t *input, size_t len)
{
	if (len < 1)
		return 0;
	struct foreign_value value = {
		.type = input[0] & 1 ? "msgpack" : "json",
		.bytes = (const char *)input + 1,
		.len = len - 1,
	};
	struct records list = { 0 }, update = { 0 };
	struct status st;
	bool found = false, overwrite = false;

	if (input[0] & 2)
		(void)foreign_checkpoint(&value, &found, &list, &st);
	if (foreign_write(&value, &overwrite, &update, &st) == 0)
		records_apply(&list, &update);
	for (size_t i = 0; i < list.count; i++)
		check_record(&list.items[i]);
	records_finish(&list);
	records_finish(&update);
	return 0;
}
