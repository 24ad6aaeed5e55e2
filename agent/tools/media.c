/* Content blocks for what is no text; see media.h. */
#include "agent/tools/media.h"

#include <strings.h>

#include "agent/base/json.h"
#include "agent/base/path.h"

static const struct {
	const char *extension, *type, *mime;
} known[] = {
	{ "png", "image", "image/png" },
	{ "jpeg", "image", "image/jpeg" },
	{ "jpg", "image", "image/jpeg" },
	{ "webp", "image", "image/webp" },
	{ "gif", "image", "image/gif" },
	{ "heic", "image", "image/heic" },
	{ "heif", "image", "image/heif" },
	{ "mp4", "video", "video/mp4" },
	{ "mpeg", "video", "video/mpeg" },
	{ "mpg", "video", "video/mpeg" },
	{ "mov", "video", "video/quicktime" },
	{ "avi", "video", "video/x-msvideo" },
	{ "flv", "video", "video/x-flv" },
	{ "webm", "video", "video/webm" },
	{ "wmv", "video", "video/x-ms-wmv" },
	{ "3gpp", "video", "video/3gpp" },
	{ "wav", "audio", "audio/wav" },
	{ "mp3", "audio", "audio/mpeg" },
	{ "aiff", "audio", "audio/aiff" },
	{ "aac", "audio", "audio/aac" },
	{ "ogg", "audio", "audio/ogg" },
	{ "flac", "audio", "audio/flac" },
	{ "pdf", "file", "application/pdf" },
	{ "ppt", "file", "application/vnd.ms-powerpoint" },
	{ "pptx", "file",
	    "application/vnd.openxmlformats-officedocument.presentationml."
	    "presentation" },
};

static const char *
extension(const char *path)
{
	const char *name = strrchr(path, '/');
	const char *dot = strrchr(name ? name : path, '.');

	return dot ? dot + 1 : "";
}

bool
media_of(const char *path, struct media *out)
{
	const char *ext = extension(path);

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (strcasecmp(ext, known[i].extension) == 0) {
			*out = (struct media){ known[i].type, known[i].mime };
			return true;
		}
	return false;
}

/* How many bytes at the end of a probe are a character without its end. */
static size_t
cut_bytes(const char *bytes, size_t len)
{
	for (size_t cut = 1; cut < 4 && cut <= len; cut++) {
		unsigned char c = (unsigned char)bytes[len - cut];
		if ((c & 0xc0) == 0x80)
			continue;
		size_t need = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;
		return need > cut ? cut : 0;
	}
	return 0;
}

bool
media_is_text(const char *bytes, size_t len)
{
	if (len < MEDIA_PROBE)
		return utf8_valid(bytes, len);
	return utf8_valid(bytes, MEDIA_PROBE - cut_bytes(bytes, MEDIA_PROBE));
}

struct media
media_unknown(const char *path)
{
	bool text = strcasecmp(extension(path), "txt") == 0;

	return (struct media){ "file",
		text ? "text/plain" : "application/octet-stream" };
}

void
media_block(struct buf *out, const struct media *media, const char *bytes,
    size_t len)
{
	buf_puts(out, "[{\"type\":");
	json_print_string(out, media->type, strlen(media->type));
	buf_puts(out, ",\"base64\":\"");
	buf_base64(out, bytes, len);
	buf_puts(out, "\",\"mime_type\":");
	json_print_string(out, media->mime, strlen(media->mime));
	buf_puts(out, "}]");
}
