/*
 * Foreign rows in msgpack, as LangGraph's Python saver writes them; see
 * foreign.h. Objects are extensions that hold another msgpack document:
 * codes 0-5 an array of module, class, payload…, code 7 a whole list. A
 * message is code 5 and becomes a LangChain record here.
 */
#include <math.h>
#include <msgpack.h>

#include "agent/base/diag.h"
#include "agent/model/guard.h"
#include "agent/store/foreign.h"

#define TEXT_MAX  (256U << 20)
#define DEPTH_MAX 100 /* the library itself stops at 32 within a document */

enum ext_code {
	EXT_ONE_ARGUMENT,
	EXT_ARGUMENTS,
	EXT_KEYWORDS,
	EXT_METHOD,
	EXT_PYDANTIC_1,
	EXT_PYDANTIC_2,
	EXT_NUMPY,
	EXT_SNAPSHOT,
};

static void print_value(struct buf *out, const msgpack_object *o,
    unsigned depth);

/* How many bytes the number after a tag has, and how many elements or bytes of
 * content follow: the library makes room for as many as the input claims. */
struct head {
	size_t size;    /* of tag and number */
	size_t content; /* bytes */
	size_t items;   /* elements */
};

static size_t
number_at(const unsigned char *p, const unsigned char *end, size_t bytes)
{
	size_t n = 0;

	for (size_t i = 0; i < bytes && p + i < end; i++)
		n = n << 8 | p[i];
	return n;
}

static struct head
read_head(const unsigned char *p, const unsigned char *end)
{
	unsigned char tag = *p;

	if (tag >= 0x80 && tag <= 0x8f) /* small map, array, string */
		return (struct head){ 1, 0, (size_t)(tag & 15U) * 2 };
	if (tag >= 0x90 && tag <= 0x9f)
		return (struct head){ 1, 0, tag & 15U };
	if (tag >= 0xa0 && tag <= 0xbf)
		return (struct head){ 1, tag & 31U, 0 };
	if (tag >= 0xc4 && tag <= 0xc9) { /* bin, then ext with its code */
		size_t bytes = (size_t)1 << ((tag - 0xc4) % 3);
		return (struct head){ 1 + bytes,
			number_at(p + 1, end, bytes) + (tag >= 0xc7), 0 };
	}
	if (tag >= 0xca && tag <= 0xd3) { /* floats, integers */
		static const unsigned char sizes[] = { 4, 8, 1, 2, 4, 8, 1, 2,
			4, 8 };
		return (struct head){ 1, sizes[tag - 0xca], 0 };
	}
	if (tag >= 0xd4 && tag <= 0xd8) /* ext of 1, 2, 4, 8, 16 bytes */
		return (struct head){ 2, (size_t)1 << (tag - 0xd4), 0 };
	if (tag >= 0xd9 && tag <= 0xdb) {
		size_t bytes = (size_t)1 << (tag - 0xd9);
		return (
		    struct head){ 1 + bytes, number_at(p + 1, end, bytes), 0 };
	}
	if (tag >= 0xdc) { /* array, map; above them small integers */
		size_t bytes = (tag & 1U) ? 4 : 2;
		size_t each = tag >= 0xde ? 2 : 1;
		return tag >= 0xe0
		    ? (struct head){ 1, 0, 0 }
		    : (struct head){ 1 + bytes, 0,
			      each * number_at(p + 1, end, bytes) };
	}
	return (struct head){ 1, 0, 0 };
}

/* Can the input hold what it claims? */
static bool
is_plausible(const char *bytes, size_t len)
{
	const unsigned char *p = (const unsigned char *)bytes;
	const unsigned char *end = p + len;
	size_t items = 1;

	while (items > 0) {
		if (p >= end)
			return false;
		struct head head = read_head(p, end);
		size_t left = (size_t)(end - p);
		if (head.size > left || head.content > left - head.size)
			return false;
		p += head.size + head.content;
		items += head.items - 1;
		if (items > (size_t)(end - p))
			return false;
	}
	return true;
}

static int
unpack(msgpack_unpacked *u, const char *bytes, size_t len)
{
	size_t offset = 0;

	if (!is_plausible(bytes, len))
		return -1;
	msgpack_unpacked_init(u);
	if (msgpack_unpack_next(u, bytes, len, &offset) ==
		MSGPACK_UNPACK_SUCCESS &&
	    offset == len)
		return 0;
	msgpack_unpacked_destroy(u);
	return -1;
}

static bool
text_is(const msgpack_object *o, const char *text)
{
	return o->type == MSGPACK_OBJECT_STR &&
	    o->via.str.size == strlen(text) &&
	    memcmp(o->via.str.ptr, text, o->via.str.size) == 0;
}

static bool
text_begins(const msgpack_object *o, const char *text)
{
	size_t n = strlen(text);

	return o->type == MSGPACK_OBJECT_STR && o->via.str.size >= n &&
	    memcmp(o->via.str.ptr, text, n) == 0;
}

static const msgpack_object *
map_find(const msgpack_object *map, const char *key)
{
	if (map->type != MSGPACK_OBJECT_MAP)
		return NULL;
	for (uint32_t i = 0; i < map->via.map.size; i++)
		if (text_is(&map->via.map.ptr[i].key, key))
			return &map->via.map.ptr[i].val;
	return NULL;
}

/* --- Values as JSON ------------------------------------------------------- */

/* The shortest that reads back as the same, and as a fraction. */
static void
print_float(struct buf *out, double v)
{
	char text[40];

	if (!isfinite(v)) {
		buf_puts(out, "null");
		return;
	}
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, sizeof text, "%.*g", digits, v);
		if (strtod(text, NULL) == v)
			break;
	}
	buf_puts(out, text);
	if (!strpbrk(text, ".e"))
		buf_puts(out, ".0");
}

// NOLINTNEXTLINE(misc-no-recursion)
static void
print_array(struct buf *out, const msgpack_object *o, unsigned depth)
{
	buf_putc(out, '[');
	for (uint32_t i = 0; i < o->via.array.size; i++) {
		buf_puts(out, i > 0 ? "," : "");
		print_value(out, &o->via.array.ptr[i], depth + 1);
	}
	buf_putc(out, ']');
}

/* Keys that are no text become their JSON. */
// NOLINTNEXTLINE(misc-no-recursion)
static void
print_key(struct buf *out, const msgpack_object *key, unsigned depth)
{
	auto_buf text = BUF_INIT(TEXT_MAX);

	if (key->type == MSGPACK_OBJECT_STR) {
		print_value(out, key, depth);
		return;
	}
	print_value(&text, key, depth);
	json_print_string(out, text.bytes, text.len);
}

// NOLINTNEXTLINE(misc-no-recursion)
static void
print_map(struct buf *out, const msgpack_object *o, unsigned depth)
{
	buf_putc(out, '{');
	for (uint32_t i = 0; i < o->via.map.size; i++) {
		buf_puts(out, i > 0 ? "," : "");
		print_key(out, &o->via.map.ptr[i].key, depth + 1);
		buf_putc(out, ':');
		print_value(out, &o->via.map.ptr[i].val, depth + 1);
	}
	buf_putc(out, '}');
}

/* An object of Python by its payload: of a model its fields, of a date its
 * text, of a tuple its elements. */
// NOLINTNEXTLINE(misc-no-recursion)
static void
print_ext(struct buf *out, const msgpack_object *o, unsigned depth)
{
	msgpack_unpacked u;
	const msgpack_object *payload = NULL;

	if (o->via.ext.type == EXT_NUMPY ||
	    unpack(&u, o->via.ext.ptr, o->via.ext.size) < 0) {
		buf_puts(out, "null");
		return;
	}
	if (o->via.ext.type == EXT_SNAPSHOT)
		payload = &u.data;
	else if (u.data.type == MSGPACK_OBJECT_ARRAY &&
	    u.data.via.array.size >= 3)
		payload = &u.data.via.array.ptr[2];
	if (payload)
		print_value(out, payload, depth + 1);
	else
		buf_puts(out, "null");
	msgpack_unpacked_destroy(&u);
}

// NOLINTNEXTLINE(misc-no-recursion)
static void
print_value(struct buf *out, const msgpack_object *o, unsigned depth)
{
	if (depth > DEPTH_MAX) {
		buf_puts(out, "null");
		return;
	}
	switch (o->type) {
	case MSGPACK_OBJECT_BOOLEAN:
		buf_puts(out, o->via.boolean ? "true" : "false");
		break;
	case MSGPACK_OBJECT_POSITIVE_INTEGER:
		buf_printf(out, "%llu", (unsigned long long)o->via.u64);
		break;
	case MSGPACK_OBJECT_NEGATIVE_INTEGER:
		buf_printf(out, "%lld", (long long)o->via.i64);
		break;
	case MSGPACK_OBJECT_FLOAT32:
	case MSGPACK_OBJECT_FLOAT64:
		print_float(out, o->via.f64);
		break;
	case MSGPACK_OBJECT_STR:
		json_print_string(out, o->via.str.ptr, o->via.str.size);
		break;
	case MSGPACK_OBJECT_BIN:
		json_print_string(out, o->via.bin.ptr, o->via.bin.size);
		break;
	case MSGPACK_OBJECT_ARRAY:
		print_array(out, o, depth);
		break;
	case MSGPACK_OBJECT_MAP:
		print_map(out, o, depth);
		break;
	case MSGPACK_OBJECT_EXT:
		print_ext(out, o, depth);
		break;
	case MSGPACK_OBJECT_NIL:
	default:
		buf_puts(out, "null");
		break;
	}
}

/* --- Messages ------------------------------------------------------------- */

/* The fields become the record's kwargs; None is left out, and `type` is said
 * by the class. */
static void
print_kwargs(struct buf *out, const msgpack_object *fields)
{
	const char *separator = "";

	buf_putc(out, '{');
	for (uint32_t i = 0; i < fields->via.map.size; i++) {
		const msgpack_object_kv *field = &fields->via.map.ptr[i];
		auto_buf value = BUF_INIT(TEXT_MAX);
		if (field->val.type == MSGPACK_OBJECT_NIL ||
		    text_is(&field->key, "type"))
			continue;
		buf_puts(out, separator);
		separator = ",";
		print_key(out, &field->key, 0);
		buf_putc(out, ':');
		print_value(&value, &field->val, 0);
		guard_add(out, value.bytes, value.len);
		out->failed |= value.failed;
	}
	buf_putc(out, '}');
}

static void
print_record(struct buf *out, const msgpack_object *class,
    const msgpack_object *fields)
{
	buf_puts(out,
	    "{\"lc\":1,\"type\":\"constructor\",\"id\":"
	    "[\"langchain_core\",\"messages\",");
	print_value(out, class, 0);
	buf_puts(out, "],\"kwargs\":");
	print_kwargs(out, fields);
	buf_putc(out, '}');
}

static void
print_message_ext(struct buf *out, const msgpack_object *o)
{
	msgpack_unpacked u;

	if (unpack(&u, o->via.ext.ptr, o->via.ext.size) < 0)
		return;
	const msgpack_object *a = u.data.via.array.ptr;
	if (u.data.type == MSGPACK_OBJECT_ARRAY && u.data.via.array.size >= 3 &&
	    text_begins(&a[0], "langchain_core.messages.") &&
	    a[1].type == MSGPACK_OBJECT_STR && a[2].type == MSGPACK_OBJECT_MAP)
		print_record(out, &a[1], &a[2]);
	msgpack_unpacked_destroy(&u);
}

static bool
is_pair(const msgpack_object *o)
{
	return o->type == MSGPACK_OBJECT_ARRAY && o->via.array.size == 2 &&
	    o->via.array.ptr[0].type == MSGPACK_OBJECT_STR;
}

/* One element of the list: a message, or what the caller gave for one. */
static void
add_message(struct records *out, const msgpack_object *o)
{
	auto_buf json = BUF_INIT(TEXT_MAX);

	if (o->type == MSGPACK_OBJECT_EXT &&
	    (o->via.ext.type == EXT_PYDANTIC_1 ||
		o->via.ext.type == EXT_PYDANTIC_2)) {
		print_message_ext(&json, o);
	} else if (is_pair(o)) {
		buf_puts(&json, "{\"role\":");
		print_value(&json, &o->via.array.ptr[0], 0);
		buf_puts(&json, ",\"content\":");
		print_value(&json, &o->via.array.ptr[1], 0);
		buf_putc(&json, '}');
	} else if (o->type == MSGPACK_OBJECT_MAP) {
		print_value(&json, o, 0);
	}
	size_t len = json.len;
	if (len > 0 && !json.failed)
		records_add(out, buf_take(&json), len);
	else
		diag_warn("store: a message in msgpack cannot be read");
}

/* A list, a snapshot of one, or one message. Snapshots hold no snapshots. */
static void
add_messages(struct records *out, const msgpack_object *o)
{
	msgpack_unpacked u;

	if (o->type == MSGPACK_OBJECT_EXT && o->via.ext.type == EXT_SNAPSHOT) {
		if (unpack(&u, o->via.ext.ptr, o->via.ext.size) < 0)
			return;
		if (u.data.type == MSGPACK_OBJECT_ARRAY)
			add_messages(out, &u.data);
		msgpack_unpacked_destroy(&u);
	} else if (o->type == MSGPACK_OBJECT_ARRAY && !is_pair(o)) {
		for (uint32_t i = 0; i < o->via.array.size; i++)
			add_message(out, &o->via.array.ptr[i]);
	} else {
		add_message(out, o);
	}
}

static int
broken(struct status *st)
{
	return status_set(st, STATUS_INVALID, "broken msgpack");
}

int
foreign_msgpack_checkpoint(const char *bytes, size_t len, bool *found,
    struct records *out, struct status *st)
{
	msgpack_unpacked u;

	if (unpack(&u, bytes, len) < 0)
		return broken(st);
	const msgpack_object *channels = map_find(&u.data, "channel_values");
	const msgpack_object *messages =
	    channels ? map_find(channels, "messages") : NULL;
	*found = messages != NULL;
	if (messages)
		add_messages(out, messages);
	msgpack_unpacked_destroy(&u);
	return 0;
}

/* The value of an Overwrite in one of its two map forms; NULL if it is none. */
static const msgpack_object *
overwritten(const msgpack_object *map)
{
	const msgpack_object *type = map_find(map, "type");

	if (type && text_is(type, "__overwrite__"))
		return map_find(map, "value");
	return map_find(map, "__overwrite__");
}

static bool
add_overwrite(struct records *out, const msgpack_object *o)
{
	msgpack_unpacked u;
	const msgpack_object *value = overwritten(o);

	if (value) {
		add_messages(out, value);
		return true;
	}
	if (o->type != MSGPACK_OBJECT_EXT || o->via.ext.type != EXT_KEYWORDS ||
	    unpack(&u, o->via.ext.ptr, o->via.ext.size) < 0)
		return false;
	const msgpack_object *a = u.data.via.array.ptr;
	if (u.data.type == MSGPACK_OBJECT_ARRAY && u.data.via.array.size >= 3 &&
	    text_is(&a[1], "Overwrite"))
		value = map_find(&a[2], "value");
	if (value)
		add_messages(out, value);
	msgpack_unpacked_destroy(&u);
	return value != NULL;
}

int
foreign_msgpack_write(const char *bytes, size_t len, bool *overwrite,
    struct records *out, struct status *st)
{
	msgpack_unpacked u;

	if (unpack(&u, bytes, len) < 0)
		return broken(st);
	*overwrite = add_overwrite(out, &u.data);
	if (!*overwrite)
		add_messages(out, &u.data);
	msgpack_unpacked_destroy(&u);
	return 0;
}
