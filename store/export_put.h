/* export_put.h - writes the frames of an export (export.h has the format).
 *
 * Pure but for what `write` does. The caller keeps to the format's order.
 */
#pragma once

#include <sodium.h>
#include <stddef.h>
#include <stdint.h>

#include "store/period.h"

struct err;
struct key_entry;
struct log_head;
struct object;
struct record;
struct sealed_head;
struct snapshot;

struct export_out {
        int (*write)(void *self, const void *bytes, size_t size, struct err *err);
        void *self;
        crypto_generichash_state hash;          /* of all bytes so far */
        uint64_t frames;
};

/* Of a row's names, the one that comes n-th in its frame. */
extern const uint8_t export_names[PERIOD_KINDS_END][PERIOD_NAMES];

/* Each returns 0 or what `write` returned. */
int export_put_start(struct export_out *out, struct err *err);
int export_put_head(struct export_out *out, const struct sealed_head *head, struct err *err);
int export_put_record(struct export_out *out, const struct record *record, struct err *err);
int export_put_snapshot(struct export_out *out, const struct snapshot *snapshot,
                        struct err *err);
int export_put_chunk(struct export_out *out, const void *bytes, size_t size, struct err *err);
int export_put_object(struct export_out *out, const struct object *object, struct err *err);
int export_put_row(struct export_out *out, const struct period_row *row, struct err *err);
int export_put_key(struct export_out *out, const struct key_entry *entry, struct err *err);
int export_put_done(struct export_out *out, const struct log_head *head, struct err *err);
