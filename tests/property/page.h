/* page.h - a document that a test writes line by line. */
#pragma once

#include <stddef.h>

struct page {
        char text[16384];               /* always ends in NUL */
        size_t length;
};

/* Appends; what goes beyond the page is cut off. */
void put(struct page *page, const char *format, ...) __attribute__((format(printf, 2, 3)));
