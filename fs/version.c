/* Versions; see version.h. */
#include "fs/version.h"

#include <gnu/libc-version.h>
#include <msgpack.h>
#include <zlib.h>

#include <cjson/cJSON.h>
#include <curl/curl.h>
#include <sqlite3.h>

#include "fs/session.h"

void
version_text(struct buf *out)
{
	buf_printf(out, "sandagentfs %s\n", SAF_VERSION);
	buf_printf(out, "libfuse %s (kernel interface %d.%d)\n",
	    fuse_pkgversion(), FUSE_MAJOR_VERSION, FUSE_MINOR_VERSION);
	buf_printf(out, "%s\n", curl_version());
	buf_printf(out, "SQLite %s\n", sqlite3_libversion());
	buf_printf(out, "cJSON %s\n", cJSON_Version());
	buf_printf(out, "msgpack-c %s\n", msgpack_version());
	buf_printf(out, "zlib %s\n", zlibVersion());
	buf_printf(out, "glibc %s\n", gnu_get_libc_version());
}
