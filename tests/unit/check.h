/* check.h - cmocka with the headers it wants before it, and what several tests need. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* The text holds the part, or the test fails and shows both. */
static inline void check_has(const char *text, const char *part)
{
        if (strstr(text, part))
                return;
        fail_msg("'%s' holds no '%s'", text, part);
}
