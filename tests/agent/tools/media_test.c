/* What is text and what goes into a content block. */
#include "agent/tools/media.h"

#include "agent/base/json.h"
#include "tests/test.h"

static void
test_kinds(void **state)
{
	struct media m;

	(void)state;
	assert_true(media_of("/a/b.PNG", &m));
	assert_string_equal(m.type, "image");
	assert_string_equal(m.mime, "image/png");
	assert_true(media_of("/a/b.c.pdf", &m));
	assert_string_equal(m.type, "file");
	assert_false(media_of("/a/b.txt", &m));
	assert_false(media_of("/a/png", &m));
	assert_false(media_of("/a.png/b", &m));
	m = media_unknown("/a/b.txt");
	assert_string_equal(m.mime, "text/plain");
	m = media_unknown("/a/model.pkl");
	assert_string_equal(m.mime, "application/octet-stream");
}

static void
test_probe(void **state)
{
	auto_buf text = BUF_INIT(3 * MEDIA_PROBE);

	(void)state;
	assert_true(media_is_text("", 0));
	assert_true(media_is_text("a\xc3\xa9", 3));
	assert_false(media_is_text("a\xc3", 2));
	assert_false(media_is_text("\x80\x03]q", 4));
	/* The limit cuts a character of three bytes. */
	while (text.len < MEDIA_PROBE - 1)
		buf_putc(&text, 'a');
	buf_puts(&text, "논문");
	assert_true(media_is_text(text.bytes, text.len));
	/* What comes after it does not count. */
	buf_puts(&text, "\xff\xff");
	assert_true(media_is_text(text.bytes, text.len));
	text.bytes[MEDIA_PROBE - 2] = (char)0xff;
	assert_false(media_is_text(text.bytes, text.len));
}

static void
test_block(void **state)
{
	struct media m = { "image", "image/png" };
	auto_buf out = BUF_INIT(1000);
	struct status st;

	(void)state;
	media_block(&out, &m, "\x89PNG\0\n", 6);
	assert_string_equal(out.bytes,
	    "[{\"type\":\"image\",\"base64\":\"iVBORwAK\",\"mime_type\":"
	    "\"image/png\"}]");
	cJSON *json = json_parse(out.bytes, out.len, &st);
	assert_non_null(json);
	cJSON_Delete(json);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_probe),
		cmocka_unit_test(test_block),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
