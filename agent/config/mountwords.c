/*
 * The generic words of mount(8) and fstab(5), which come with a call from
 * /etc/fstab. A few matter to a file system; the rest is for mount itself.
 */
#include "agent/config/options.h"

/* dev and suid are taken and change nothing: nosuid and nodev always hold. */
static const char *const ignored[] = { "defaults", "dev", "nodev", "suid",
	"nosuid", "async", "sync", "dirsync", "diratime", "nodiratime",
	"relatime", "norelatime", "strictatime", "nostrictatime", "lazytime",
	"nolazytime", "mand", "nomand", "iversion", "noiversion", "silent",
	"loud", "auto", "noauto", "user", "nouser", "users", "nousers", "owner",
	"noowner", "group", "nogroup", "nofail", "fail", "_netdev" };

static const char *const ignored_starts[] = { "x-", "X-",
	"comment=", "user=", "uhelper=", "helper=" };

bool
mount_word(struct mount_words *words, const char *word)
{
	const struct {
		const char *word;
		bool *flag;
		bool value;
	} known[] = {
		{ "ro", &words->read_only, true },
		{ "rw", &words->read_only, false },
		{ "noexec", &words->no_exec, true },
		{ "exec", &words->no_exec, false },
		{ "noatime", &words->no_atime, true },
		{ "atime", &words->no_atime, false },
		{ "allow_other", &words->allow_other, true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (strcmp(word, known[i].word) == 0) {
			*known[i].flag = known[i].value;
			return true;
		}
	for (size_t i = 0; i < ARRAY_SIZE(ignored); i++)
		if (strcmp(word, ignored[i]) == 0)
			return true;
	for (size_t i = 0; i < ARRAY_SIZE(ignored_starts); i++)
		if (strncmp(word, ignored_starts[i],
			strlen(ignored_starts[i])) == 0)
			return true;
	return false;
}
