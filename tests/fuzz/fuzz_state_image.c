/* fuzz_state_image.c - an image is refused with a sentence, or makes a state that can be walked
 * through, written and read again.
 *
 * The first byte says what the rest is: an image itself, or changes to the image of a small world
 * that the real engine made (so that what is kept here need not follow the columns): five bytes
 * each, what to do, where, and with which number.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "engine/accounts.h"
#include "proto/image.h"
#include "proto/policy_doc.h"
#include "proto/state_fields.h"
#include "proto/state_image.h"
#include "tests/fuzz/known_models.h"
#include "tests/property/play.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MINUTE_MS  INT64_C(60000)
#define BOUNDS_MOST 4096                /* larger tables only cost time */

enum { RAW, CHANGES, CHANGES_END };
enum { SET_BYTE, ADD_BYTE, SET_SLOT, SET_NONE, COPY_SLOT, CUT, DOS_END };

static const char policy_text[] =
        "kind: Policy\n"
        "preset: protected\n"
        "classes:\n"
        "  c: {rank: 1, methods: [whole, slice, share], stop: for_protect, notice: 10m,\n"
        "      exempt: 0s, hold_after: 1m}\n"
        "rules: {stop_rate: {pct: 100, per: 10m}}\n"
        "tenants:\n"
        "  t: {protect: {any: 4}, lend: unlimited,\n"
        "      budget: {device_hours: 500, per: month, on_empty: warn}}\n"
        "  u: {}\n";

static struct play play;
static struct text image;               /* of the world */

static void must(bool good)
{
        if (good)
                return;
        fprintf(stderr, "%s\n", play.why);
        abort();
}

static struct request request_of(uint16_t tenant, enum ask ask, unsigned devices)
{
        return (struct request){.need = {.models = UINT64_MAX,
                                         .cpu_milli = 100,
                                         .ask = (uint8_t)ask,
                                         .devices = (uint8_t)devices},
                                .form = {.members = 1},
                                .tenant = tenant,
                                .group = devices ? 0 : 3,
                                .checkpoint_every_ms = 10 * MINUTE_MS};
}

/* Work that ended, runs, waits, waits for other work; then the other tenant wants its promise. */
static void make_world(void)
{
        struct request request;

        must(play_open(&play, known_models(), policy_text, 0, MINUTE_MS, MINUTE_MS));
        for (unsigned n = 0; n < 3; n++)
                must(play_join(&play, n, n == 2, 4));
        for (unsigned i = 0; i < 14; i++)
                must(play_submit(&play, request_of(1, ASK_WHOLE, 1), (i + 1) * 20 * MINUTE_MS));
        for (unsigned i = 0; i < 2; i++)
                must(play_submit(&play, request_of(1, ASK_NOTHING, 0), 900 * MINUTE_MS));
        request = request_of(1, ASK_SHARE, 1);
        request.need.share_milli = 250;
        request.after_count = 1;
        request.after[0] = play.works[13].request.workload;
        must(play_submit(&play, request, MINUTE_MS));
        while (play_step(&play, 85 * MINUTE_MS) > 0)
                ;
        must(play_submit(&play, request_of(0, ASK_WHOLE, 4), 600 * MINUTE_MS));
        must(play_step(&play, 86 * MINUTE_MS) >= 0);
        must(play.state->plan_slots.used > 0);
        must(play.state->after_slots.used > 0);
        state_image_write(play.state, &image);
        must(!image.failed);
}

/* ---- changes ---- */

static uint8_t *changed(const uint8_t *data, size_t size, size_t *ret_size)
{
        uint8_t *bytes = malloc(image.size);
        size_t length = image.size;

        if (!bytes)
                abort();
        memcpy(bytes, image.bytes, length);
        for (; size >= 5; data += 5, size -= 5) {
                size_t at = (size_t)data[1] << 8 | data[2], from = (size_t)data[3] << 8 | data[4];
                uint32_t number = data[3];
                at = (at * 4 + data[0] / DOS_END % 4) % (length - 4);
                switch (data[0] % DOS_END) {
                case SET_BYTE:
                        bytes[at] = data[3];
                        break;
                case ADD_BYTE:
                        bytes[at] = (uint8_t)(bytes[at] + data[3]);
                        break;
                case SET_NONE:
                        number = NONE;
                        memcpy(bytes + at, &number, sizeof number);
                        break;
                case SET_SLOT:
                        memcpy(bytes + at, &number, sizeof number);
                        break;
                case COPY_SLOT:
                        memmove(bytes + at, bytes + from % (length - 4), 4);
                        break;
                case CUT:
                        length = at + 5;
                        break;
                default:
                        break;
                }
        }
        *ret_size = length;
        return bytes;
}

/* ---- reading ---- */

static bool is_small(const uint8_t *bytes, size_t size)
{
        struct image_in in = {.at = bytes, .end = bytes + size};
        struct state_bounds bounds = {0};
        uint64_t none;
        size_t count = 0;

        if (image_read_strings(&in, "berth state 1", &none, NULL) < 0 ||
            image_read_rows(&in, "bounds", &state_bounds_fields, &bounds, 1, sizeof bounds, &count,
                            NULL) < 0)
                return true;            /* it will be refused */
        return bounds.nodes_max <= BOUNDS_MOST && bounds.workloads_max <= BOUNDS_MOST &&
               bounds.members_max <= BOUNDS_MOST && bounds.parts_max <= BOUNDS_MOST &&
               bounds.shapes_max <= BOUNDS_MOST && bounds.buckets_max <= BOUNDS_MOST &&
               bounds.plans_max <= BOUNDS_MOST;
}

/* It is written, and read again: the same state. */
static void check_again(const struct state *state, const struct tenancy *tenancy)
{
        struct text text = {0};
        struct state *again = NULL;
        struct err err = {0};

        state_image_write(state, &text);
        assert(!text.failed);
        int rc = state_image_read(text.bytes, text.size, play.models, tenancy, &again, &err);
        assert(rc == 0);
        assert(state_hash(again) == state_hash(state));
        state_free(again);
        text_done(&text);
}

static void try_image(const uint8_t *bytes, size_t size, const struct tenancy *tenancy)
{
        struct state *state = NULL;
        struct err err = {0};
        int rc = state_image_read(bytes, size, play.models, tenancy, &state, &err);

        if (rc) {
                assert(!state);
                assert(err.code == (enum err_code)-rc);
                assert(err.text[0] != '\0');
                return;
        }
        check_again(state, tenancy);
        state_free(state);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        uint8_t *made = NULL;

        if (!image.bytes)
                make_world();
        if (size == 0)
                return 0;
        bool raw = data[0] % CHANGES_END == RAW;
        data++;
        size--;
        if (!raw)
                data = made = changed(data, size, &size);
        if (is_small(data, size)) {
                try_image(data, size, play_tenancy(&play));
                if (raw)
                        try_image(data, size, NULL);
        }
        free(made);
        return 0;
}
