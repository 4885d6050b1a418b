#include "tests/property/isolate_draw.h"

#include <stdio.h>
#include <string.h>

#include "base/doc.h"
#include "base/err.h"
#include "base/mem.h"
#include "engine/state.h"
#include "proto/policy_doc.h"
#include "tests/property/page.h"

enum { PLANES = 2, RACKS = 3 };

static const char *const device_models[] = {"T4", "A100-40"};

unsigned isolate_below(struct rng *rng, unsigned n)
{
        return (unsigned)rng_below(rng, n);
}

static unsigned below(struct rng *rng, unsigned n)
{
        return isolate_below(rng, n);
}

static bool chance(struct rng *rng, unsigned percent)
{
        return below(rng, 100) < percent;
}

/* ---- a policy ---- */

static void put_classes(struct page *page, struct rng *rng)
{
        static const char *const spreads[] = {"none", "none", "node", "rack"};

        put(page, "classes:\n");
        for (unsigned c = 0; c < 4; c++) {
                put(page, "  c%u: {rank: %u, methods: [whole, slice, share], stop: always, "
                          "notice: 1m, exempt: 0s, hold_after: 1h, spread: %s",
                    c, below(rng, 3), spreads[below(rng, 4)]);
                if (chance(rng, 35))
                        put(page, ", apart_from: {%s: [c%u]}", chance(rng, 50) ? "device" : "node",
                            below(rng, 4));
                put(page, chance(rng, 20) ? ", planes: [p%u]}\n" : "}\n", below(rng, PLANES));
        }
}

/* Names of the second policy are those of the first. */
static void put_policy(struct page *page, struct rng *rng)
{
        static const char *const aparts[] = {"none", "device", "device", "node"};

        put(page, "kind: Policy\npreset: protected\nrules: {stop_rate: {pct: 100, per: 10m}}\n");
        put_classes(page, rng);
        put(page, "trust: {x: {with: [y]}, y: {}, z: {%s}}\n", chance(rng, 50) ? "with: [y]" : "");
        put(page, "data:\n");
        for (unsigned l = 0; l < 3; l++) {
                put(page, "  l%u: {apart: %s", l, aparts[below(rng, 4)]);
                if (chance(rng, 25))
                        put(page, ", planes: [p%u]", below(rng, PLANES));
                if (chance(rng, 25))
                        put(page, ", nodes: {zone: \"%s\"}", chance(rng, 50) ? "a" : "!=a");
                put(page, "}\n");
        }
        put(page, "tenants:\n");
        for (unsigned t = 0; t < 5; t++) {
                static const char *const trusts[] = {"x", "y", "z"};
                put(page, "  t%u: {limit: unlimited", t);
                if (chance(rng, 60))
                        put(page, ", trust: %s", trusts[below(rng, 3)]);
                if (chance(rng, 20))
                        put(page, ", protect: {T4: 2}");
                put(page, chance(rng, 15) ? ", planes: [p%u]}\n" : "}\n", below(rng, PLANES));
        }
}

struct policy_doc *isolate_policy(const struct model_table *models, uint64_t seed,
                                  uint64_t stream, bool say)
{
        struct page page = {.length = 0};
        struct policy_doc *policy = NULL;
        struct err err = {0};
        struct doc *doc;
        struct rng rng;

        rng_init_stream(&rng, seed, stream);
        put_policy(&page, &rng);
        if (say)
                printf("%s\n", page.text);
        if (doc_read_yaml("policy", page.text, page.length, &doc, &err) < 0 ||
            policy_doc_decode(doc_root(doc, 0), models, NULL, &policy, &err) < 0)
                fprintf(stderr, "%s\n%s\n", page.text, err.text);
        doc_free(doc);
        return policy;
}

/* ---- words, nodes, work ---- */

static uint16_t word_id(const struct state *state, const char *text)
{
        return (uint16_t)vocab_word(state->vocab, text, NULL);
}

void isolate_learn(const struct state *state)
{
        static const char *const words[] = {"zone", "a",  "b",  "p0",     "p1",
                                            "r0",   "r1", "1g.5gb", "3g.20gb"};

        for (unsigned i = 0; i < ARRAY_LEN(words); i++)
                (void)word_id(state, words[i]);
        for (unsigned i = 1; i < 3; i++) {
                struct label zone = {word_id(state, words[0]), word_id(state, words[i])};
                (void)vocab_labels(state->vocab, &zone, 1, NULL);
        }
        for (unsigned n = 0; n < ISOLATE_NODES; n++) {
                char text[16];
                snprintf(text, sizeof text, "n%u", n);
                (void)vocab_name(state->vocab, text, NULL);
        }
}

struct node_desc isolate_node(const struct state *state, struct rng *rng, unsigned number)
{
        static const char *const planes[] = {"", "p0", "p1"}, *const racks[] = {"", "r0", "r1"};
        unsigned plane = below(rng, PLANES + 1), rack = below(rng, RACKS);
        char text[16];

        snprintf(text, sizeof text, "n%u", number);
        struct label zone = {word_id(state, "zone"), word_id(state, chance(rng, 50) ? "a" : "b")};
        return (struct node_desc){
                .name = (uint32_t)vocab_name(state->vocab, text, NULL),
                .plane = plane ? word_id(state, planes[plane]) : 0,
                .rack = rack ? word_id(state, racks[rack]) : 0,
                .labels = chance(rng, 70)
                                  ? (uint16_t)vocab_labels(state->vocab, &zone, 1, NULL)
                                  : 0,
                .model = (uint8_t)model_find(state->models, device_models[below(rng, 2)], NULL),
                .devices = (uint8_t)(1 + below(rng, 3)),
                .cpu_milli = 16000,
                .ram_mib = 65536};
}

struct request isolate_request(const struct state *state, struct rng *rng, uint64_t id)
{
        struct request request = {.workload = id,
                                  .need = {.models = UINT64_MAX, .devices = 1, .ask = ASK_SHARE},
                                  .form = {.members = chance(rng, 15) ? 2 + below(rng, 2) : 1},
                                  .tenant = (uint16_t)below(rng, 5),
                                  .class = (uint16_t)below(rng, 4),
                                  .data = (uint16_t)(chance(rng, 40) ? 1 + below(rng, 3) : 0)};
        unsigned kind = below(rng, 10);

        request.need.share_milli = (uint16_t)(100 * (1 + below(rng, 5)));
        request.need.cpu_milli = 1000 * below(rng, 4);
        if (kind >= 5) {
                request.need.ask = kind < 7 ? ASK_PROFILE : kind < 9 ? ASK_WHOLE : ASK_NOTHING;
                request.need.profile = word_id(state, chance(rng, 50) ? "1g.5gb" : "3g.20gb");
                request.need.devices = (uint8_t)(kind < 9 ? 1 + below(rng, 2) : 0);
        }
        if (kind == 4) {
                request.need.ask = ASK_MEMORY;
                request.need.memory_mib = 4000 * (1 + below(rng, 3));
        }
        if (chance(rng, 30)) {
                request.group = 1 + below(rng, 3);
                request.service = true;
                request.form.spread = (uint8_t)below(rng, SPREAD_LEVELS_END);
        }
        return request;
}
