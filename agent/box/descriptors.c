/* See descriptors.h. */
#include "agent/box/descriptors.h"

#include <fcntl.h>
#include <unistd.h>

/* Where the kernel cannot do it at once (before Linux 5.11). */
#define HIGHEST 1024

void
descriptors_keep_private(void)
{
	if (close_range(3, ~0U, CLOSE_RANGE_CLOEXEC) == 0)
		return;
	for (int fd = 3; fd < HIGHEST; fd++) {
		int flags = fcntl(fd, F_GETFD);
		if (flags >= 0)
			fcntl(fd, F_SETFD, flags | FD_CLOEXEC);
	}
}
