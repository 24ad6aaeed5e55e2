/* Identifiers; see uuid.h. */
#include "agent/store/uuid.h"

#include <ctype.h>
#include <sys/random.h>

/* 100 ns ticks from 1582-10-15 to 1970. */
#define EPOCH     0x01b21dd213814000ULL
#define TICKS_MAX ((1ULL << 60) - 1)

static void
random_bytes(unsigned char *out, size_t len)
{
	for (size_t have = 0; have < len;) {
		ssize_t n = getrandom(out + have, len - have, 0);
		have += n > 0 ? (size_t)n : 0;
	}
}

void
uuid_random(char out[UUID_TEXT])
{
	unsigned char r[16];

	random_bytes(r, sizeof r);
	r[6] = (r[6] & 0x0f) | 0x40;
	r[8] = (r[8] & 0x3f) | 0x80;
	snprintf(out, UUID_TEXT,
	    "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-"
	    "%02x%02x%02x%02x%02x%02x",
	    r[0], r[1], r[2], r[3], r[4], r[5], r[6], r[7], r[8], r[9], r[10],
	    r[11], r[12], r[13], r[14], r[15]);
}

/* Is it 8-4-4-4-12 hexadecimal digits? */
static bool
is_uuid(const char *text)
{
	for (int i = 0; i < 36; i++) {
		bool dash = i == 8 || i == 13 || i == 18 || i == 23;
		if (dash ? text[i] != '-' : !isxdigit((unsigned char)text[i]))
			return false;
	}
	return text[36] == '\0';
}

/* The ticks in the first 48 and the last 12 bits before the variant, whatever
 * the version says: of a version 6 id its time, of another one its rank. */
static uint64_t
ticks_of(const char *uuid)
{
	char high[13];

	memcpy(high, uuid, 8);
	memcpy(high + 8, uuid + 9, 4);
	high[12] = '\0';
	char low[4] = { uuid[15], uuid[16], uuid[17] };
	return strtoull(high, NULL, 16) << 12 | strtoull(low, NULL, 16);
}

static void
print(char out[UUID_TEXT], uint64_t ticks, int64_t step,
    const unsigned char node[6])
{
	snprintf(out, UUID_TEXT,
	    "%08llx-%04llx-6%03llx-%04x-%02x%02x%02x%02x%02x%02x",
	    (unsigned long long)(ticks >> 28 & 0xffffffff),
	    (unsigned long long)(ticks >> 12 & 0xffff),
	    (unsigned long long)(ticks & 0xfff),
	    (unsigned)(0x8000 | (step & 0x3fff)), node[0], node[1], node[2],
	    node[3], node[4], node[5]);
}

bool
uuid_time_ordered(char out[UUID_TEXT], struct timespec now, int64_t step,
    const char *above)
{
	uint64_t ticks = (uint64_t)now.tv_sec * 10000000U +
	    (uint64_t)now.tv_nsec / 100 + EPOCH;
	unsigned char node[6];

	random_bytes(node, sizeof node);
	if (is_uuid(above))
		ticks = MAX(ticks, ticks_of(above) + 1);
	if (ticks > TICKS_MAX)
		return false;
	print(out, ticks, step, node);
	if (strcmp(out, above) > 0)
		return true;
	/* Another version's digit or letter case stands above ours: pass the
	 * 48 bits before it. */
	ticks = (ticks >> 12) + 1;
	if (ticks > TICKS_MAX >> 12)
		return false;
	print(out, ticks << 12, step, node);
	return strcmp(out, above) > 0;
}

int64_t
uuid_time_ms(const char *text)
{
	if (!is_uuid(text) || text[14] != '6' || ticks_of(text) < EPOCH)
		return 0;
	return (int64_t)((ticks_of(text) - EPOCH) / 10000);
}
