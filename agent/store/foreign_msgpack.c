/* Foreign rows in msgpack; see foreign.h. */
#include "agent/store/foreign.h"

int
foreign_msgpack_checkpoint(const char *bytes, size_t len, bool *found,
    struct records *out, struct status *st)
{
	(void)bytes, (void)len, (void)found, (void)out;
	return status_set(st, STATUS_NOT_SUPPORTED, "msgpack rows");
}

int
foreign_msgpack_write(const char *bytes, size_t len, bool *overwrite,
    struct records *out, struct status *st)
{
	(void)bytes, (void)len, (void)overwrite, (void)out;
	return status_set(st, STATUS_NOT_SUPPORTED, "msgpack rows");
}
