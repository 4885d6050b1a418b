/* listing.h - a list of JSON objects as a table: one row each. */
#pragma once

#include "cli/talk.h"

#define LISTING_COLUMNS_MAX 24

enum listing_kind {
        LISTING_TEXT,
        LISTING_NUMBER,         /* or an amount in words: to the right */
        LISTING_SPAN,           /* milliseconds, as "3.4 h" */
        LISTING_STATE,          /* in its colour */
        LISTING_CUT,            /* the text that is cut first; the last column */
};

struct listing_column {
        const char *key;        /* of the object; NULL ends the list */
        const char *title;
        enum listing_kind kind;
};

/* `fixed` as of grid.h; `empty` is said where the list is empty, or is none. 0 or -ERR_NOMEM. */
int listing_print(const json_t *list, const struct listing_column *columns, size_t fixed,
                  const char *empty, const struct screen *screen, FILE *file, struct err *err);

/* The same; to a copy of each row `add` first adds what is put together from its members. */
typedef void listing_add(json_t *row);
int listing_print_with(const json_t *list, listing_add *add, const struct listing_column *columns,
                       size_t fixed, const char *empty, const struct screen *screen, FILE *file,
                       struct err *err);
