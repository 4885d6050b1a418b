/* batch_impl.h - the inside of a batch, for store/ only. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/batch.h"
#include "store/keys.h"
#include "store/log.h"
#include "store/objects.h"
#include "store/period.h"

struct arena;

struct batch_record {
        struct record record;
        struct batch_record *next;
};

struct batch_row {
        struct period_row row;
        struct batch_row *next;
};

/* A document, or a change of one: in the order in which they came. */
struct batch_object {
        bool is_change;
        struct object object;
        struct object_change change;
        struct batch_object *next;
};

struct batch {
        struct arena *arena;            /* all that was added */
        void *tag;
        struct batch_record *records, *records_last;
        struct batch_row *rows, *rows_last;     /* of usage and of the review */
        struct batch_object *objects, *objects_last;
        struct key_entry *key;          /* NULL: none */
        uint64_t key_word;              /* the writer's, of actor and key; 0: no key */
        size_t records_count, rows_count[PERIOD_KINDS_END], objects_count, bytes;
        uint64_t last_seq;
        struct batch *next;             /* the writer's queue */
};
