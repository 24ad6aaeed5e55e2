/* HTTP statuses; see code.h. */
#include "agent/http/code.h"

enum status_code
http_code(int http_status)
{
	static const struct {
		int status;
		enum status_code code;
	} table[] = {
		{ 400, STATUS_INVALID },
		{ 401, STATUS_DENIED },
		{ 402, STATUS_DENIED },
		{ 403, STATUS_DENIED },
		{ 404, STATUS_NOT_FOUND },
		{ 408, STATUS_TIMEOUT },
		{ 409, STATUS_EXISTS },
		{ 410, STATUS_NOT_FOUND },
		{ 413, STATUS_TOO_BIG },
		{ 423, STATUS_BUSY },
		{ 425, STATUS_BUSY },
		{ 429, STATUS_BUSY },
		{ 501, STATUS_NOT_SUPPORTED },
		{ 502, STATUS_UNAVAILABLE },
		{ 503, STATUS_UNAVAILABLE },
		{ 504, STATUS_TIMEOUT },
		{ 507, STATUS_NO_SPACE },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		if (table[i].status == http_status)
			return table[i].code;
	if (http_status >= 200 && http_status < 300)
		return STATUS_OK;
	return http_status >= 400 && http_status < 500 ? STATUS_INVALID
						       : STATUS_IO;
}
