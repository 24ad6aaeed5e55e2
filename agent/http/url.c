/* URLs; see url.h. Taken apart by libcurl, so that we and it agree. */
#include "agent/http/url.h"

#include <curl/curl.h>

static int
take_part(CURLU *u, CURLUPart part, char *out, size_t size)
{
	char *text = NULL;
	int rc = -1;

	if (curl_url_get(u, part, &text, CURLU_DEFAULT_PORT) == CURLUE_OK &&
	    strlen(text) < size) {
		snprintf(out, size, "%s", text);
		rc = 0;
	}
	curl_free(text);
	return rc;
}

static bool
has_part(CURLU *u, CURLUPart part)
{
	char *text = NULL;
	bool has = curl_url_get(u, part, &text, 0) == CURLUE_OK;

	curl_free(text);
	return has;
}

int
url_origin(const char *url, struct url_origin *out, struct status *st)
{
	CURLU *u = curl_url();
	char port[8];
	int rc = -1;

	if (u && curl_url_set(u, CURLUPART_URL, url, 0) == CURLUE_OK &&
	    take_part(u, CURLUPART_SCHEME, out->scheme, sizeof out->scheme) ==
		0 &&
	    take_part(u, CURLUPART_HOST, out->host, sizeof out->host) == 0 &&
	    take_part(u, CURLUPART_PORT, port, sizeof port) == 0 &&
	    !has_part(u, CURLUPART_USER) && !has_part(u, CURLUPART_PASSWORD) &&
	    (strcmp(out->scheme, "http") == 0 ||
		strcmp(out->scheme, "https") == 0)) {
		out->port = (int)strtol(port, NULL, 10);
		for (char *p = out->host; *p; p++)
			if (*p >= 'A' && *p <= 'Z')
				*p = (char)(*p - 'A' + 'a');
		rc = 0;
	}
	curl_url_cleanup(u);
	return rc == 0
	    ? 0
	    : status_set(st, STATUS_INVALID, "not an http or https URL");
}

void
url_add_query(struct buf *url, const char *name, const char *value, size_t len)
{
	buf_putc(url, memchr(url->bytes, '?', url->len) ? '&' : '?');
	buf_printf(url, "%s=", name);
	buf_urlencode(url, value, len, true);
}

void
url_add_segment(struct buf *url, const char *segment)
{
	buf_putc(url, '/');
	buf_urlencode(url, segment, strlen(segment), false);
}

bool
url_may_carry_secret(const char *url, const char *home)
{
	struct url_origin to, from;
	struct status ignored;

	if (url_origin(url, &to, &ignored) < 0 ||
	    url_origin(home, &from, &ignored) < 0)
		return false;
	if (strcmp(to.scheme, "https") == 0)
		return true;
	return strcmp(from.scheme, "http") == 0 &&
	    strcmp(from.host, to.host) == 0;
}
