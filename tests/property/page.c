#include "tests/property/page.h"

#include <stdarg.h>
#include <stdio.h>

void put(struct page *page, const char *format, ...)
{
        va_list args;

        va_start(args, format);
        int n = vsnprintf(page->text + page->length, sizeof page->text - page->length, format,
                          args);
        va_end(args);
        if (n > 0)
                page->length += (size_t)n;
        if (page->length >= sizeof page->text)
                page->length = sizeof page->text - 1;
}
