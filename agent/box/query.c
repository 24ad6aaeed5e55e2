/* Paths and queries; see query.h. */
#include "agent/box/query.h"

static int
hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

int
query_unescape(const char *s, size_t len, bool plus, char *out, size_t *out_len)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		char c = s[i];
		if (c == '%') {
			if (len - i < 3 || hex(s[i + 1]) < 0 ||
			    hex(s[i + 2]) < 0)
				return -1;
			c = (char)(hex(s[i + 1]) << 4 | hex(s[i + 2]));
			i += 2;
		} else if (c == '+' && plus) {
			c = ' ';
		}
		out[n++] = c;
	}
	out[n] = '\0';
	*out_len = n;
	return 0;
}

char *
query_get_nth(const char *query, const char *name, size_t n, bool *nul)
{
	size_t want = strlen(name);

	while (*query) {
		size_t len = strcspn(query, "&");
		const char *eq = memchr(query, '=', len);
		size_t key_len = eq ? (size_t)(eq - query) : len;
		size_t value_len = eq ? len - key_len - 1 : 0;
		auto_free char *key = xcalloc(key_len + 1, 1);
		auto_free char *value = xcalloc(value_len + 1, 1);
		size_t got_key = 0, got_value = 0;

		if (!memchr(query, ';', len) &&
		    query_unescape(query, key_len, true, key, &got_key) == 0 &&
		    query_unescape(eq ? eq + 1 : query, value_len, true, value,
			&got_value) == 0 &&
		    got_key == want && memcmp(key, name, want) == 0 &&
		    n-- == 0) {
			if (nul && memchr(value, '\0', got_value))
				*nul = true;
			return take(value);
		}
		query += len;
		query += *query == '&';
	}
	return NULL;
}

char *
query_get(const char *query, const char *name, bool *nul)
{
	return query_get_nth(query, name, 0, nul);
}
