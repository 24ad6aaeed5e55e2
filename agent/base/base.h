/*
 * What every file of the program may rely on: allocation that cannot fail for
 * sizes we choose, cleanup attributes, and a ban on the unsafe C functions.
 *
 * Sizes that the world chooses (a Content-Length, a prompt, a listing) never
 * come here: use struct buf, which is born with a maximum and may fail.
 */
#ifndef AGENT_BASE_BASE_H
#define AGENT_BASE_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
/* Each argument is evaluated once; names are unique, so that they nest. */
#define LESSER_(a, b, x, y)                    \
	({                                     \
		__typeof__((a) + (b)) x = (a); \
		__typeof__((a) + (b)) y = (b); \
		x < y ? x : y;                 \
	})
#define GREATER_(a, b, x, y)                   \
	({                                     \
		__typeof__((a) + (b)) x = (a); \
		__typeof__((a) + (b)) y = (b); \
		x > y ? x : y;                 \
	})
#define PASTE_(a, b)  a##b
#define UNIQUE_(a, n) PASTE_(a, n)
#define MIN(a, b) \
	LESSER_(a, b, UNIQUE_(x_, __COUNTER__), UNIQUE_(y_, __COUNTER__))
#define MAX(a, b) \
	GREATER_(a, b, UNIQUE_(x_, __COUNTER__), UNIQUE_(y_, __COUNTER__))
#define PRINTF_LIKE(f, a) __attribute__((format(printf, f, a)))
#define MUST_CHECK        __attribute__((warn_unused_result))

/* Abort on failure; zeroed. The caller owns the result. */
void *xcalloc(size_t n, size_t size);
void *xrealloc(void *p, size_t n, size_t size);
char *xstrdup(const char *s);
char *xstrndup(const char *s, size_t n);
char *xasprintf(const char *fmt, ...) PRINTF_LIKE(1, 2);

void auto_free_cleanup(void *p);
void auto_fd_cleanup(const int *fd);

/* Freed or closed when the variable leaves its scope; see take(). */
#define auto_free __attribute__((cleanup(auto_free_cleanup)))
#define auto_fd   __attribute__((cleanup(auto_fd_cleanup)))

/* Gives away the value of an auto_ variable: `return take(s);` */
#define take(var)                           \
	({                                  \
		__auto_type taken_ = (var); \
		(var) = NULL;               \
		taken_;                     \
	})
#define take_fd(var)                \
	({                          \
		int taken_ = (var); \
		(var) = -1;         \
		taken_;             \
	})

/* Writes or reads all of it, restarting after signals. -1 with errno set. */
int write_all(int fd, const void *bytes, size_t len) MUST_CHECK;
int pwrite_all(int fd, const void *bytes, size_t len, off_t off) MUST_CHECK;

#pragma GCC poison strcpy strcat sprintf vsprintf strtok atoi atol gets

#endif
