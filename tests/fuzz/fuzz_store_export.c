/* fuzz_store_export.c - the reader of exports. Bytes as they come: what it accepts, written out
 * again frame by frame, must be the same bytes. And bytes as a recipe for frames with right hashes,
 * which no mutation finds: what is in order must be accepted, and come back the same. */
#include <assert.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "store/export.h"
#include "store/export_put.h"
#include "store/keys.h"
#include "store/log.h"
#include "store/objects.h"
#include "store/prune.h"
#include "store/review.h"
#include "store/rollup.h"
#include "store/snapshot.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct bytes {
        uint8_t *bytes;
        size_t size, room, at;
};

static int add(void *self, const void *bytes, size_t size, struct err *err)
{
        struct bytes *to = self;
        (void)err;
        if (size > to->room - to->size) {
                size_t room = 2 * to->room + size + 256;
                to->bytes = realloc(to->bytes, room);
                if (!to->bytes)
                        abort();
                to->room = room;
        }
        memcpy(to->bytes + to->size, bytes, size);
        to->size += size;
        return 0;
}

static int64_t take(void *self, void *ret_bytes, size_t size, struct err *err)
{
        struct bytes *from = self;
        size_t left = from->size - from->at;
        (void)err;
        size = left < size ? left : size;
        if (size > 0)
                memcpy(ret_bytes, from->bytes + from->at, size);
        from->at += size;
        return (int64_t)size;
}

static int put_head(void *out, const struct sealed_head *head, struct err *err)
{
        return export_put_head(out, head, err);
}

static int put_record(void *out, const struct record *record, struct err *err)
{
        return export_put_record(out, record, err);
}

static int put_snapshot(void *out, const struct snapshot *snapshot, struct err *err)
{
        return export_put_snapshot(out, snapshot, err);
}

static int put_chunk(void *out, const void *bytes, size_t size, struct err *err)
{
        return export_put_chunk(out, bytes, size, err);
}

static int put_object(void *out, const struct object *object, struct err *err)
{
        return export_put_object(out, object, err);
}

static int put_row(void *out, const struct period_row *row, struct err *err)
{
        return export_put_row(out, row, err);
}

static int put_key(void *out, const struct key_entry *entry, struct err *err)
{
        return export_put_key(out, entry, err);
}

/* Reads, writing all of it out again; accepted: the same bytes. Refused: with a sentence. */
static bool read_again(const uint8_t *data, size_t size)
{
        struct bytes in = {.size = size}, again = {0};
        struct export_out out = {.write = add, .self = &again};
        struct export_sink sink = {&out,      put_head,   put_record, put_snapshot,
                                   put_chunk, put_object, put_row,    put_key};
        struct log_head head;
        struct err err = {0};

        in.bytes = (uint8_t *)(uintptr_t)data;
        (void)export_put_start(&out, NULL);
        int rc = export_read(take, &in, &sink, &head, &err);
        if (rc == 0) {
                (void)export_put_done(&out, &head, NULL);
                assert(again.size == size);
                assert(memcmp(again.bytes, data, size) == 0);
        } else {
                assert(rc == -ERR_INPUT);
                assert(strncmp(err.text, "export: byte ", 13) == 0);
        }
        free(again.bytes);
        return rc == 0;
}

/* --- a recipe ----------------------------------------------------------------------------- */

struct recipe {
        const uint8_t *at;
        size_t left;
};

static unsigned draw(struct recipe *recipe)
{
        if (recipe->left == 0)
                return 0;
        recipe->left--;
        return *recipe->at++;
}

/* A text of up to 3 bytes, sometimes not UTF-8: then it must be refused. */
static void draw_text(struct recipe *recipe, char ret_text[4], bool *ret_is_good)
{
        unsigned length = draw(recipe) % 4;

        memset(ret_text, 0, 4);
        for (unsigned i = 0; i < length; i++) {
                ret_text[i] = (char)draw(recipe);
                if ((uint8_t)ret_text[i] >= 0x80)
                        *ret_is_good = false;   /* rarely wrong: may be UTF-8 after all */
                if (ret_text[i] == '\0')
                        ret_text[i] = 'x';
        }
}

static void cook_records(struct recipe *recipe, struct export_out *out, struct log_head *head,
                         bool *is_good)
{
        for (unsigned count = draw(recipe) % 5; count > 0; count--) {
                char actor[4], reason[4];
                unsigned kind = draw(recipe) % 6;
                size_t size = draw(recipe) % 32;
                struct record record = {.seq = head->seq + 1, .actor = actor, .reason = reason,
                                        .at_ms = (int64_t)draw(recipe) - 128};
                record.kind = (enum record_kind)kind;
                record.size = size < recipe->left ? size : recipe->left;
                record.body = recipe->at;
                draw_text(recipe, actor, is_good);
                draw_text(recipe, reason, is_good);
                *is_good &= kind >= 1 && kind <= 4;
                record_hash(&record, head->hash, record.hash);
                (void)export_put_record(out, &record, NULL);
                head->seq++;
                memcpy(head->hash, record.hash, sizeof head->hash);
        }
}

static void cook_heads(struct recipe *recipe, struct export_out *out, struct log_head *head)
{
        static struct seal_key key;
        static const uint8_t seed[crypto_sign_SEEDBYTES] = {1};

        (void)crypto_sign_seed_keypair(key.public_key, key.secret_key, seed);
        for (unsigned count = draw(recipe) % 3; count > 0; count--) {
                struct sealed_head it = {.seq = head->seq + 1 + draw(recipe)};
                memset(it.hash, (int)draw(recipe), sizeof it.hash);
                seal_sign(&key, &it);
                (void)export_put_head(out, &it, NULL);
                head->seq = it.seq;
                memcpy(head->hash, it.hash, sizeof head->hash);
        }
}

/* Up to four, in order but for one in eight. */
static void cook_objects(struct recipe *recipe, struct export_out *out, bool *is_good)
{
        uint64_t id = 0;

        for (unsigned count = draw(recipe) % 5; count > 0; count--) {
                char tenant[4], name[4], state[4];
                unsigned step = draw(recipe) % 8;
                struct object object = {.kind = (enum object_kind)(1 + draw(recipe) / 50),
                                        .tenant = tenant, .name = name, .class = "", .owner = "",
                                        .state = state, .detail = "{}",
                                        .ended_ms = (int64_t)draw(recipe) - 16};
                object.id = id + step;
                object.size = draw(recipe) % 32 < recipe->left ? draw(recipe) % 4 : 0;
                if (object.size > recipe->left)
                        object.size = 0;
                object.body = recipe->at;
                draw_text(recipe, tenant, is_good);
                draw_text(recipe, name, is_good);
                draw_text(recipe, state, is_good);
                /* Kinds go up and down; only one kind in rising order is surely good. */
                *is_good &= step > 0 && object.kind == OBJECT_WORKLOAD && object.ended_ms >= 0;
                (void)export_put_object(out, &object, NULL);
                id = object.id;
        }
}

static void cook_rest(struct recipe *recipe, struct export_out *out, bool *is_good)
{
        char tenant[4], actor[4], key[4];
        struct usage_row row = {.hour_ms = ((int64_t)draw(recipe) - 128) * ROLLUP_HOUR_MS,
                                .unit_ms = draw(recipe), .model = "m", .tenant = tenant,
                                .class = "", .method = "whole", .bucket = "free"};
        struct key_entry entry = {.actor = actor, .key = key, .status = draw(recipe)};
        struct review_row day = {.day_ms = ((int64_t)(row.unit_ms % 7) - 3) * REVIEW_DAY_MS,
                                 .tenant = tenant, .class = "", .model = "m",
                                 .measure = "starts", .detail = "", .amount = row.unit_ms};

        draw_text(recipe, tenant, is_good);
        draw_text(recipe, actor, is_good);
        draw_text(recipe, key, is_good);
        const struct period_row usage = period_of_usage(&row), review = period_of_review(&day);
        unsigned what = draw(recipe);
        if (what & 1)
                (void)export_put_row(out, &usage, NULL);
        if (what & 16)
                (void)export_put_row(out, &review, NULL);
        if ((what & 48) == 48) {                /* out of order too */
                (void)export_put_row(out, &review, NULL);
                *is_good = false;
        }
        if (what & 2)
                (void)export_put_key(out, &entry, NULL);
        if ((what & 2) && key[0] == '\0')
                *is_good = false;
        if ((what & 12) == 12) {                /* the same row twice is out of order */
                (void)export_put_key(out, &entry, NULL);
                *is_good &= !(what & 2) && key[0] != '\0';
        }
}

/* Bad texts may stand where nothing was written, so `is_good` is sure only when it is true. */
static void cook(const uint8_t *data, size_t size)
{
        struct recipe recipe = {data, size};
        struct bytes file = {0};
        struct export_out out = {.write = add, .self = &file};
        struct log_head head = {0};
        bool is_good = true;

        (void)export_put_start(&out, NULL);
        cook_heads(&recipe, &out, &head);
        cook_records(&recipe, &out, &head, &is_good);
        cook_objects(&recipe, &out, &is_good);
        cook_rest(&recipe, &out, &is_good);
        (void)export_put_done(&out, &head, NULL);
        bool is_accepted = read_again(file.bytes, file.size);
        assert(is_accepted || !is_good);
        free(file.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        if (sodium_init() < 0)
                abort();
        (void)read_again(data, size);
        cook(data, size);
        return 0;
}
