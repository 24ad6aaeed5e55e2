/* cmocka with what it needs before it; include this alone. */
#ifndef TESTS_TEST_H
#define TESTS_TEST_H

/* cmocka.h needs the other four before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#endif
