/* export_put.h - writes the frames of an export (export.h has the format).
 *
 * Pure but for what `write` does. The caller keeps to the format's order.
 */
#pragma once

#include <sodium.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct key_entry;
struct log_head;
struct object;
struct record;
struct review_row;
struct sealed_head;
struct snapshot;
struct usage_row;

struct export_out {
        int (*write)(void *self, const void *bytes, size_t size, struct err *err);
        void *self;
        crypto_generichash_state hash;          /* of all bytes so far */
        uint64_t frames;
};

/* Each returns 0 or what `write` returned. */
int export_put_start(struct export_out *out, struct err *err);
int export_put_head(struct export_out *out, const struct sealed_head *head, struct err *err);
int export_put_record(struct export_out *out, const struct record *record, struct err *err);
int export_put_snapshot(struct export_out *out, const struct snapshot *snapshot,
                        struct err *err);
int export_put_chunk(struct export_out *out, const void *bytes, size_t size, struct err *err);
int export_put_object(struct export_out *out, const struct object *object, struct err *err);
int export_put_usage(struct export_out *out, const struct usage_row *row, struct err *err);
int export_put_review(struct export_out *out, const struct review_row *row, struct err *err);
int export_put_key(struct export_out *out, const struct key_entry *entry, struct err *err);
int export_put_done(struct export_out *out, const struct log_head *head, struct err *err);
