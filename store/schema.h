/* schema.h - what stands in the file, and how an older file becomes a newer one.
 *
 * Not pure (changes the file). A step brings the schema from version i to i + 1, whole or not at
 * all, and is never edited once it was released: a change is a further step.
 */
#pragma once

#include <stddef.h>

struct err;
struct sqlite3;

struct schema_step {
        const char *what;               /* for the sentence when it fails */
        const char *sql;
        const char *more;               /* the rest of it; NULL: none */
};

/* The steps of this program; the schema's version is their number. */
const struct schema_step *schema_steps(size_t *ret_count);

/* Refuses what is no store (-ERR_INPUT) or is of a version above `count` (-ERR_INPUT), and returns
 * the version; a new, empty file has 0. -ERR_IO, -ERR_NOMEM. */
int schema_version(struct sqlite3 *db, size_t count, unsigned *ret_version, struct err *err);

/* Takes the steps that are missing. 0, or as schema_version, and then the file is of the version
 * that the steps before the failed one made. */
int schema_bring_forward(struct sqlite3 *db, const struct schema_step *steps, size_t count,
                         struct err *err);
