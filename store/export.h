/* export.h - a store as one portable file, and back.
 *
 * Not pure; threads as store.h says (export takes a view). The file: the line "berth store export
 * 1\n", then frames; numbers little-endian, a text is u32 bytes and the bytes:
 *
 *     frame     u8[4] name, u32 bytes, that many bytes
 *     HEAD      u64 seq, i64 at_ms, hash, public key, signature       prune.h; oldest first
 *     RECD      hash, the record's layout                             log.h; from the base on
 *     SNAP      u64 seq, u64 version, i64 at_ms, u64 size, log's hash at seq, hash; then
 *     CHNK      bytes of it, until size is reached                    snapshot.h; oldest first
 *     OBJT      u32 kind, u64 id, i64 created_ms, i64 updated_ms, i64 ended_ms, u64 seq, texts
 *               tenant name class owner state detail, u32 and the document; by kind and id
 *     USAG      i64 hour_ms, i64 unit_ms, texts model tenant class method bucket
 *     REVW      i64 day_ms, i64 amount, texts tenant class model measure detail
 *     IKEY      request hash, i64 until_ms, u32 status, texts actor key, u32 and the answer
 *     DONE      u64 frames before, u64 seq and hash of the head, BLAKE2b-256 of all bytes before
 *
 * in this order. Whole chain, signatures and hashes are checked while reading; what stands behind
 * DONE, or is missing, is refused.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "store/log.h"

struct err;
struct key_entry;
struct object;
struct period_row;
struct sealed_head;
struct snapshot;
struct store;

#define EXPORT_MAGIC     "berth store export 1\n"
#define EXPORT_FRAME_MAX (RECORD_BODY_MAX + 65536u)

/* Writes the file ("-": standard output); whole or not at all when it is a file. *ret_head: the
 * head that went out. -ERR_IO, -ERR_INPUT (the store is damaged: check it), -ERR_NOMEM. */
int store_export(struct store *view, const char *path, struct log_head *ret_head,
                 struct err *err);

/* Makes the store `path` from the file ("-": standard input); it must not exist (-ERR_EXISTS).
 * -ERR_INPUT (the file is damaged: the sentence says at which byte), -ERR_IO, -ERR_NOMEM; then
 * there is no store. */
int store_import(const char *path, const char *from, struct log_head *ret_head, struct err *err);

/* What reading finds, in the file's order; each may be NULL. Texts and bodies live for the call;
 * what is not 0 ends the reading and is returned. */
struct export_sink {
        void *self;
        int (*head)(void *self, const struct sealed_head *head, struct err *err);
        int (*record)(void *self, const struct record *record, struct err *err);
        int (*snapshot)(void *self, const struct snapshot *snapshot, struct err *err);
        int (*chunk)(void *self, const void *bytes, size_t size, struct err *err);
        int (*object)(void *self, const struct object *object, struct err *err);
        int (*row)(void *self, const struct period_row *row, struct err *err);
        int (*key)(void *self, const struct key_entry *entry, struct err *err);
};

/* Up to `size` bytes; fewer only at the end; negative: an error, with its sentence. */
typedef int64_t export_source(void *self, void *ret_bytes, size_t size, struct err *err);

/* Reads and checks a whole export. 0, -ERR_INPUT, -ERR_NOMEM, or what a function returned. */
int export_read(export_source *source, void *source_self, const struct export_sink *sink,
                struct log_head *ret_head, struct err *err);
