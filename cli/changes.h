/* changes.h - what another policy or pool document changes, in words.
 *
 * Not pure: prints. Both documents are read with the device models that this program knows; where
 * one of them cannot be read so (a server may know more), nothing is said.
 */
#pragma once

#include <stddef.h>
#include <stdio.h>

struct text_of {
        const char *bytes;
        size_t size;
};

/* A line for each change, or that there is none. `before` may be empty: everything is new, and
 * nothing is said of it. */
void changes_of_policy(struct text_of before, struct text_of after, FILE *file);
/* Nodes that come, go, or are changed. */
void changes_of_pool(struct text_of before, struct text_of after, FILE *file);
