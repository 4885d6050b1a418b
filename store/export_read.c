#include "store/export.h"

#include <assert.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdbool.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "store/bytes.h"
#include "store/export_put.h"
#include "store/keys.h"
#include "store/objects.h"
#include "store/prune.h"
#include "store/snapshot.h"
#include "store/snapshot_impl.h"
#include "store/store_impl.h"

/* Texts of a frame, copied with a NUL behind each: a reader of the source's bytes has none. */
#define TEXTS_MAX 6
#define TEXT_BYTES_MAX OBJECT_DETAIL_MAX

struct reader {
        export_source *source;
        void *source_self;
        const struct export_sink *sink;
        uint8_t *frame;                 /* the present one's payload, and one byte of room */
        size_t room, size;
        uint64_t at;                    /* bytes before the present frame */
        uint64_t next_at;
        uint64_t frames;
        unsigned rank;                  /* of the frame before: the order never goes back */
        crypto_generichash_state hash, hash_before;     /* with and without this frame */
        struct log_head head;
        uint64_t base_seq;
        struct snapshot snapshot;       /* the newest one */
        uint64_t snapshot_left;         /* bytes of it to come */
        crypto_generichash_state snapshot_hash;
        char texts[TEXTS_MAX][TEXT_BYTES_MAX + 1];
        char last_texts[TEXTS_MAX][TEXT_BYTES_MAX + 1];
        int64_t last_hour_ms;
        unsigned last_kind;             /* of an object */
        uint64_t last_id;
        bool has_last;                  /* of this kind of frame */
        bool is_done;
};

_Static_assert(TEXT_BYTES_MAX >= ROLLUP_NAME_MAX, "room for a name of usage");
_Static_assert(TEXT_BYTES_MAX >= OBJECT_NAME_MAX, "room for a name of an object");
_Static_assert(TEXT_BYTES_MAX >= KEY_MAX, "room for a key");
_Static_assert(TEXT_BYTES_MAX >= RECORD_ACTOR_MAX, "room for an actor");

static int refuse(const struct reader *in, struct err *err, const char *what)
{
        return err_set(err, ERR_INPUT, "export: byte %" PRIu64 ": %s", in->at, what);
}

/* The sentence of a check below, with its place. */
static int refuse_for(const struct reader *in, struct err *err)
{
        return err_prefix(err, "export: byte %" PRIu64, in->at);
}

/* Exactly `size` bytes; 0 when the source has ended before the first of them. */
static int64_t read_bytes(struct reader *in, void *ret_bytes, size_t size, struct err *err)
{
        int64_t got = in->source(in->source_self, ret_bytes, size, err);

        if (got < 0)
                return got;
        assert((uint64_t)got <= size);
        if (got > 0 && (size_t)got < size)
                return refuse(in, err, "the file ends inside a frame");
        crypto_generichash_update(&in->hash, ret_bytes, (size_t)got);
        in->next_at += (uint64_t)got;
        return got;
}

/* The payload, read as it comes: a size that the file does not hold costs no memory. */
static int read_payload(struct reader *in, size_t size, struct err *err)
{
        const size_t step = 1u << 20;

        for (size_t at = 0; at < size;) {
                size_t part = size - at < step ? size - at : step;
                if (at + part + 1 > in->room) {
                        uint8_t *grown = mem_resize(in->frame, in->room, at + part + 1, 1);
                        if (!grown)
                                return err_set(err, ERR_NOMEM, "out of memory");
                        in->frame = grown;
                        in->room = at + part + 1;
                }
                int64_t got = read_bytes(in, in->frame + at, part, err);
                if (got < 0)
                        return (int)got;
                if (got == 0)
                        return refuse(in, err, "the file ends inside a frame");
                at += part;
        }
        in->size = size;
        return 0;
}

/* A text of a frame into slot `index`. */
static const char *take_text(struct reader *in, struct bytes_in *bytes, unsigned index)
{
        uint32_t size = bytes_take_u32(bytes);

        assert(index < TEXTS_MAX);
        if (size > TEXT_BYTES_MAX)
                bytes->failed = true;
        bytes_take_into(bytes, in->texts[index], bytes->failed ? 0 : size);
        in->texts[index][bytes->failed ? 0 : size] = '\0';
        if (!bytes->failed && strlen(in->texts[index]) != size)
                bytes->failed = true;           /* a NUL inside */
        return in->texts[index];
}

/* Whether this frame's number and texts come after those of the frame before, of the same kind. */
static bool comes_after(struct reader *in, int64_t hour_ms, unsigned texts)
{
        int order = !in->has_last || hour_ms > in->last_hour_ms ? 1
                    : hour_ms < in->last_hour_ms                ? -1 : 0;

        for (unsigned i = 0; i < texts && order == 0; i++)
                order = strcmp(in->texts[i], in->last_texts[i]);
        for (unsigned i = 0; i < texts; i++)
                (void)strcpy(in->last_texts[i], in->texts[i]);
        in->last_hour_ms = hour_ms;
        in->has_last = true;
        return order > 0;
}

static bool is_over(const struct bytes_in *bytes)
{
        return !bytes->failed && bytes->left == 0;
}

static int take_head(struct reader *in, struct bytes_in *bytes, struct err *err)
{
        struct sealed_head head = {.seq = bytes_take_u64(bytes)};

        head.at_ms = (int64_t)bytes_take_u64(bytes);
        bytes_take_into(bytes, head.hash, sizeof head.hash);
        bytes_take_into(bytes, head.public_key, sizeof head.public_key);
        bytes_take_into(bytes, head.signature, sizeof head.signature);
        if (!is_over(bytes))
                return refuse(in, err, "a head of another size");
        if (head.seq <= in->head.seq || head.seq > RECORD_SEQ_MAX)
                return refuse(in, err, "heads out of order");
        if (seal_verify(&head, err) < 0)
                return refuse_for(in, err);
        in->head.seq = in->base_seq = head.seq;
        memcpy(in->head.hash, head.hash, sizeof in->head.hash);
        return in->sink->head ? in->sink->head(in->sink->self, &head, err) : 0;
}

/* Actor and reason stand without a NUL behind them, so they are copied; the body stays where it
 * is. */
static int take_record_texts(struct reader *in, struct bytes_in *bytes, struct record *record,
                             char reason[RECORD_REASON_MAX + 1], const uint32_t sizes[3],
                             struct err *err)
{
        if (sizes[0] > RECORD_ACTOR_MAX || sizes[1] > RECORD_REASON_MAX ||
            sizes[2] > RECORD_BODY_MAX)
                return refuse(in, err, "a record above its bounds");
        bytes_take_into(bytes, in->texts[0], sizes[0]);
        in->texts[0][sizes[0]] = '\0';
        bytes_take_into(bytes, reason, sizes[1]);
        reason[sizes[1]] = '\0';
        record->actor = in->texts[0];
        record->reason = reason;
        record->size = sizes[2];
        record->body = bytes_take(bytes, sizes[2]);
        if (!is_over(bytes))
                return refuse(in, err, "a record of another size than it says");
        if (strlen(record->actor) != sizes[0] || strlen(record->reason) != sizes[1])
                return refuse(in, err, "a text that holds a NUL");
        return 0;
}

static int take_record(struct reader *in, struct bytes_in *bytes, struct err *err)
{
        struct record record = {.seq = 0};
        uint8_t hash[STORE_HASH_BYTES];
        char reason[RECORD_REASON_MAX + 1];
        uint32_t kind, sizes[3];

        bytes_take_into(bytes, record.hash, sizeof record.hash);
        record.seq = bytes_take_u64(bytes);
        kind = bytes_take_u32(bytes);
        for (unsigned i = 0; i < 3; i++)
                sizes[i] = bytes_take_u32(bytes);
        record.at_ms = (int64_t)bytes_take_u64(bytes);
        if (!record_kind_name(kind))
                return refuse(in, err, "a record of a kind that is not known");
        record.kind = (enum record_kind)kind;
        int rc = take_record_texts(in, bytes, &record, reason, sizes, err);
        if (rc < 0)
                return rc;
        if (record_check(&record, err) < 0)
                return refuse_for(in, err);
        if (record.seq != in->head.seq + 1 || record.seq > RECORD_SEQ_MAX)
                return refuse(in, err, "records out of order");
        record_hash(&record, in->head.hash, hash);
        if (memcmp(hash, record.hash, sizeof hash) != 0)
                return refuse(in, err, "a record that does not fit its hash");
        in->head.seq = record.seq;
        memcpy(in->head.hash, hash, sizeof hash);
        return in->sink->record ? in->sink->record(in->sink->self, &record, err) : 0;
}

/* All bytes of the newest snapshot are there: is it the one announced? */
static int end_snapshot(struct reader *in, struct err *err)
{
        uint8_t hash[STORE_HASH_BYTES];

        crypto_generichash_final(&in->snapshot_hash, hash, sizeof hash);
        if (memcmp(hash, in->snapshot.hash, sizeof hash) != 0)
                return refuse(in, err, "a snapshot that does not fit its hash");
        return 0;
}

static int take_snapshot(struct reader *in, struct bytes_in *bytes, struct err *err)
{
        struct snapshot it = {.seq = bytes_take_u64(bytes)};

        it.version = bytes_take_u64(bytes);
        it.at_ms = (int64_t)bytes_take_u64(bytes);
        it.size = bytes_take_u64(bytes);
        bytes_take_into(bytes, it.chain, sizeof it.chain);
        bytes_take_into(bytes, it.hash, sizeof it.hash);
        if (!is_over(bytes) || it.size > SNAPSHOT_BYTES_MAX)
                return refuse(in, err, "a snapshot of another size");
        if (it.seq < in->base_seq || it.seq > in->head.seq ||
            (in->has_last && it.seq < in->snapshot.seq))
                return refuse(in, err, "snapshots out of order or out of the log");
        in->has_last = true;
        in->snapshot = it;
        in->snapshot_left = it.size;
        snapshot_hash_begin(&it, &in->snapshot_hash);
        int rc = it.size == 0 ? end_snapshot(in, err) : 0;
        if (rc == 0 && in->sink->snapshot)
                rc = in->sink->snapshot(in->sink->self, &it, err);
        return rc;
}

static int take_chunk(struct reader *in, struct bytes_in *bytes, struct err *err)
{
        uint64_t wanted = in->snapshot_left < SNAPSHOT_CHUNK_BYTES ? in->snapshot_left
                                                                   : SNAPSHOT_CHUNK_BYTES;
        size_t size = bytes->left;

        if (size == 0 || size != wanted)
                return refuse(in, err, "a chunk of another size");
        crypto_generichash_update(&in->snapshot_hash, bytes->at, size);
        in->snapshot_left -= size;
        int rc = in->snapshot_left == 0 ? end_snapshot(in, err) : 0;
        if (rc == 0 && in->sink->chunk)
                rc = in->sink->chunk(in->sink->self, bytes->at, size, err);
        return rc;
}

static int take_object(struct reader *in, struct bytes_in *bytes, struct err *err)
{
        unsigned kind = bytes_take_u32(bytes);
        struct object object = {.kind = (enum object_kind)kind, .id = bytes_take_u64(bytes)};
        bool comes_later = !in->has_last || kind > in->last_kind ||
                           (kind == in->last_kind && object.id > in->last_id);

        object.created_ms = (int64_t)bytes_take_u64(bytes);
        object.updated_ms = (int64_t)bytes_take_u64(bytes);
        object.ended_ms = (int64_t)bytes_take_u64(bytes);
        object.seq = bytes_take_u64(bytes);
        object.tenant = take_text(in, bytes, 0);
        object.name = take_text(in, bytes, 1);
        object.class = take_text(in, bytes, 2);
        object.owner = take_text(in, bytes, 3);
        object.state = take_text(in, bytes, 4);
        object.detail = take_text(in, bytes, 5);
        object.size = bytes_take_u32(bytes);
        object.body = bytes_take(bytes, object.size);
        if (!is_over(bytes))
                return refuse(in, err, "an object of another size than it says");
        if (object_check(&object, err) < 0)
                return refuse_for(in, err);
        if (!comes_later)
                return refuse(in, err, "objects out of order");
        in->has_last = true;
        in->last_kind = kind;
        in->last_id = object.id;
        return in->sink->object ? in->sink->object(in->sink->self, &object, err) : 0;
}

static int take_row(struct reader *in, struct bytes_in *bytes, enum period_kind kind,
                    struct err *err)
{
        struct period_row row = {.kind = kind, .start_ms = (int64_t)bytes_take_u64(bytes)};

        row.amount = (int64_t)bytes_take_u64(bytes);
        for (unsigned n = 0; n < PERIOD_NAMES; n++) {
                unsigned slot = export_names[kind][n];
                row.names[slot] = take_text(in, bytes, slot);
        }
        if (!is_over(bytes) || row.amount < 0)
                return err_set(err, ERR_INPUT,
                               "export: byte %" PRIu64 ": a row of %s that cannot be", in->at,
                               period_word(kind));
        if (period_check(&row, err) < 0)
                return refuse_for(in, err);
        if (!comes_after(in, row.start_ms, PERIOD_NAMES))
                return err_set(err, ERR_INPUT, "export: byte %" PRIu64 ": rows of %s out of order",
                               in->at, period_word(kind));
        return in->sink->row ? in->sink->row(in->sink->self, &row, err) : 0;
}

static int take_usage(struct reader *in, struct bytes_in *bytes, struct err *err)
{
        return take_row(in, bytes, PERIOD_USAGE, err);
}

static int take_review(struct reader *in, struct bytes_in *bytes, struct err *err)
{
        return take_row(in, bytes, PERIOD_REVIEW, err);
}

static int take_key(struct reader *in, struct bytes_in *bytes, struct err *err)
{
        struct key_entry entry = {.status = 0};

        bytes_take_into(bytes, entry.request, sizeof entry.request);
        entry.until_ms = (int64_t)bytes_take_u64(bytes);
        entry.status = bytes_take_u32(bytes);
        entry.actor = take_text(in, bytes, 0);
        entry.key = take_text(in, bytes, 1);
        entry.size = bytes_take_u32(bytes);
        entry.body = bytes_take(bytes, entry.size);
        if (!is_over(bytes))
                return refuse(in, err, "a key of another size than it says");
        if (key_check(&entry, err) < 0)
                return refuse_for(in, err);
        if (!comes_after(in, 0, 2))
                return refuse(in, err, "keys out of order");
        return in->sink->key ? in->sink->key(in->sink->self, &entry, err) : 0;
}

static int take_done(struct reader *in, struct bytes_in *bytes, struct err *err)
{
        uint8_t hash[STORE_HASH_BYTES], all[STORE_HASH_BYTES], head[STORE_HASH_BYTES];
        uint64_t frames = bytes_take_u64(bytes), seq = bytes_take_u64(bytes);

        bytes_take_into(bytes, head, sizeof head);
        bytes_take_into(bytes, hash, sizeof hash);
        if (!is_over(bytes))
                return refuse(in, err, "an end of another size");
        crypto_generichash_final(&in->hash_before, all, sizeof all);
        if (frames != in->frames || seq != in->head.seq ||
            memcmp(head, in->head.hash, sizeof head) != 0)
                return refuse(in, err, "the end tells of other frames than there are");
        if (memcmp(hash, all, sizeof hash) != 0)
                return refuse(in, err, "the file does not fit the hash at its end");
        in->is_done = true;
        return 0;
}

struct frame_kind {
        char name[5];
        unsigned rank;
        int (*take)(struct reader *in, struct bytes_in *bytes, struct err *err);
};

static const struct frame_kind kinds[] = {
        {"HEAD", 1, take_head},  {"RECD", 2, take_record}, {"SNAP", 3, take_snapshot},
        {"CHNK", 3, take_chunk}, {"OBJT", 4, take_object}, {"USAG", 5, take_usage},
        {"REVW", 6, take_review}, {"IKEY", 7, take_key},  {"DONE", 8, take_done},
};

static const struct frame_kind *kind_of(const uint8_t name[4])
{
        for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
                if (memcmp(kinds[i].name, name, 4) == 0)
                        return &kinds[i];
        return NULL;
}

static int read_frame(struct reader *in, struct err *err)
{
        uint8_t start[8];

        in->at = in->next_at;
        in->hash_before = in->hash;
        int64_t got = read_bytes(in, start, sizeof start, err);
        if (got < 0)
                return (int)got;
        if (got == 0)
                return refuse(in, err, "the file ends without its last frame");
        const struct frame_kind *kind = kind_of(start);
        size_t size = bytes_take_u32(&(struct bytes_in){.at = start + 4, .left = 4});
        if (!kind || size > EXPORT_FRAME_MAX)
                return refuse(in, err, "no frame of an export");
        bool is_chunk = kind->take == take_chunk;
        if (kind->rank < in->rank || is_chunk != (in->snapshot_left > 0))
                return refuse(in, err, "a frame at the wrong place");
        if (kind->rank != in->rank)
                in->has_last = false;
        in->rank = kind->rank;
        int rc = read_payload(in, size, err);
        if (rc < 0)
                return rc;
        rc = kind->take(in, &(struct bytes_in){.at = in->frame, .left = size}, err);
        in->frames++;
        return rc;
}

static int read_all(struct reader *in, struct err *err)
{
        char magic[sizeof EXPORT_MAGIC - 1];
        uint8_t more;
        int64_t got = read_bytes(in, magic, sizeof magic, err);
        int rc = 0;

        if (got < 0 && got != -ERR_INPUT)
                return (int)got;
        if (got != (int64_t)sizeof magic || memcmp(magic, EXPORT_MAGIC, sizeof magic) != 0)
                return refuse(in, err, "is no export of a store of version 1");
        while (rc == 0 && !in->is_done)
                rc = read_frame(in, err);
        if (rc != 0)
                return rc;
        in->at = in->next_at;
        got = read_bytes(in, &more, 1, err);
        return got > 0 ? refuse(in, err, "something stands behind the end") : (int)got;
}

int export_read(export_source *source, void *source_self, const struct export_sink *sink,
                struct log_head *ret_head, struct err *err)
{
        assert(source);
        assert(sink);
        if (sodium_init() < 0)
                return err_set(err, ERR_IO, "the library of hashes could not be started");
        struct reader *in = mem_new(1, sizeof *in);
        if (!in)
                return err_set(err, ERR_NOMEM, "out of memory");
        in->source = source;
        in->source_self = source_self;
        in->sink = sink;
        crypto_generichash_init(&in->hash, NULL, 0, STORE_HASH_BYTES);
        int rc = read_all(in, err);
        if (rc == 0)
                *ret_head = in->head;
        mem_free(in->frame);
        mem_free(in);
        return rc;
}
