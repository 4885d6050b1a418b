#include "store/export_put.h"

#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "store/bytes.h"
#include "store/export.h"
#include "store/keys.h"
#include "store/log.h"
#include "store/objects.h"
#include "store/prune.h"
#include "store/snapshot.h"
#include "store/store_impl.h"

/* A frame is gathered as pieces, so that its size is known before its first byte goes out. */
#define PIECES_MAX 24

struct frame {
        struct {
                const void *bytes;
                size_t size;
        } pieces[PIECES_MAX];
        size_t count, size;
        uint8_t numbers[PIECES_MAX][8];
};

static void add(struct frame *frame, const void *bytes, size_t size)
{
        assert(frame->count < PIECES_MAX);
        frame->pieces[frame->count].bytes = bytes;
        frame->pieces[frame->count].size = size;
        frame->count++;
        frame->size += size;
}

static void add_u64(struct frame *frame, uint64_t number)
{
        assert(frame->count < PIECES_MAX);
        uint8_t *bytes = frame->numbers[frame->count];
        bytes_put_u64(bytes, number);
        add(frame, bytes, 8);
}

static void add_u32(struct frame *frame, uint32_t number)
{
        assert(frame->count < PIECES_MAX);
        uint8_t *bytes = frame->numbers[frame->count];
        bytes_put_u32(bytes, number);
        add(frame, bytes, 4);
}

static void add_text(struct frame *frame, const char *text)
{
        add_u32(frame, (uint32_t)strlen(text));
        add(frame, text, strlen(text));
}

static int put(struct export_out *out, const void *bytes, size_t size, struct err *err)
{
        if (size == 0)
                return 0;
        crypto_generichash_update(&out->hash, bytes, size);
        return out->write(out->self, bytes, size, err);
}

static int put_frame(struct export_out *out, const char *name, const struct frame *frame,
                     struct err *err)
{
        uint8_t start[8];
        int rc;

        assert(strlen(name) == 4);
        if (frame->size > EXPORT_FRAME_MAX)
                return err_set(err, ERR_INPUT, "export: %zu bytes in one frame; at most %u: "
                               "check the store", frame->size, EXPORT_FRAME_MAX);
        memcpy(start, name, 4);
        bytes_put_u32(start + 4, (uint32_t)frame->size);
        rc = put(out, start, sizeof start, err);
        for (size_t i = 0; i < frame->count && rc == 0; i++)
                rc = put(out, frame->pieces[i].bytes, frame->pieces[i].size, err);
        out->frames++;
        return rc;
}

int export_put_start(struct export_out *out, struct err *err)
{
        crypto_generichash_init(&out->hash, NULL, 0, STORE_HASH_BYTES);
        out->frames = 0;
        return put(out, EXPORT_MAGIC, sizeof EXPORT_MAGIC - 1, err);
}

int export_put_head(struct export_out *out, const struct sealed_head *head, struct err *err)
{
        struct frame frame = {.count = 0};

        add_u64(&frame, head->seq);
        add_u64(&frame, (uint64_t)head->at_ms);
        add(&frame, head->hash, sizeof head->hash);
        add(&frame, head->public_key, sizeof head->public_key);
        add(&frame, head->signature, sizeof head->signature);
        return put_frame(out, "HEAD", &frame, err);
}

int export_put_record(struct export_out *out, const struct record *record, struct err *err)
{
        struct frame frame = {.count = 0};
        uint8_t fixed[RECORD_FIXED_BYTES];

        record_put_fixed(record, fixed);
        add(&frame, record->hash, sizeof record->hash);
        add(&frame, fixed, sizeof fixed);
        add(&frame, record->actor, strlen(record->actor));
        add(&frame, record->reason, strlen(record->reason));
        add(&frame, record->body, record->size);
        return put_frame(out, "RECD", &frame, err);
}

int export_put_snapshot(struct export_out *out, const struct snapshot *snapshot,
                        struct err *err)
{
        struct frame frame = {.count = 0};

        add_u64(&frame, snapshot->seq);
        add_u64(&frame, snapshot->version);
        add_u64(&frame, (uint64_t)snapshot->at_ms);
        add_u64(&frame, snapshot->size);
        add(&frame, snapshot->chain, sizeof snapshot->chain);
        add(&frame, snapshot->hash, sizeof snapshot->hash);
        return put_frame(out, "SNAP", &frame, err);
}

int export_put_chunk(struct export_out *out, const void *bytes, size_t size, struct err *err)
{
        struct frame frame = {.count = 0};

        add(&frame, bytes, size);
        return put_frame(out, "CHNK", &frame, err);
}

int export_put_object(struct export_out *out, const struct object *object, struct err *err)
{
        struct frame frame = {.count = 0};

        add_u32(&frame, (uint32_t)object->kind);
        add_u64(&frame, object->id);
        add_u64(&frame, (uint64_t)object->created_ms);
        add_u64(&frame, (uint64_t)object->updated_ms);
        add_u64(&frame, (uint64_t)object->ended_ms);
        add_u64(&frame, object->seq);
        add_text(&frame, object->tenant);
        add_text(&frame, object->name);
        add_text(&frame, object->class);
        add_text(&frame, object->owner);
        add_text(&frame, object->state);
        add_text(&frame, object->detail);
        add_u32(&frame, (uint32_t)object->size);
        add(&frame, object->body, object->size);
        return put_frame(out, "OBJT", &frame, err);
}

const uint8_t export_names[PERIOD_KINDS_END][PERIOD_NAMES] = {
        [PERIOD_USAGE] = {1, 0, 2, 3, 4},       /* the model first */
        [PERIOD_REVIEW] = {0, 1, 2, 3, 4},
};

int export_put_row(struct export_out *out, const struct period_row *row, struct err *err)
{
        struct frame frame = {.count = 0};

        add_u64(&frame, (uint64_t)row->start_ms);
        add_u64(&frame, (uint64_t)row->amount);
        for (unsigned n = 0; n < PERIOD_NAMES; n++)
                add_text(&frame, row->names[export_names[row->kind][n]]);
        return put_frame(out, row->kind == PERIOD_USAGE ? "USAG" : "REVW", &frame, err);
}

int export_put_key(struct export_out *out, const struct key_entry *entry, struct err *err)
{
        struct frame frame = {.count = 0};

        add(&frame, entry->request, sizeof entry->request);
        add_u64(&frame, (uint64_t)entry->until_ms);
        add_u32(&frame, entry->status);
        add_text(&frame, entry->actor);
        add_text(&frame, entry->key);
        add_u32(&frame, (uint32_t)entry->size);
        add(&frame, entry->body, entry->size);
        return put_frame(out, "IKEY", &frame, err);
}

int export_put_done(struct export_out *out, const struct log_head *head, struct err *err)
{
        struct frame frame = {.count = 0};
        uint8_t hash[STORE_HASH_BYTES];
        crypto_generichash_state before = out->hash;

        crypto_generichash_final(&before, hash, sizeof hash);
        add_u64(&frame, out->frames);
        add_u64(&frame, head->seq);
        add(&frame, head->hash, sizeof head->hash);
        add(&frame, hash, sizeof hash);
        return put_frame(out, "DONE", &frame, err);
}
