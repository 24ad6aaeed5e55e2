/* cmocka with what it needs before it; include this alone. */
#ifndef TESTS_TEST_H
#define TESTS_TEST_H

/* clang-format off: cmocka.h needs these four first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#endif
