#include "tests/property/policy_draw.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/doc.h"
#include "base/err.h"
#include "base/mem.h"
#include "proto/policy_doc.h"
#include "tests/property/page.h"

#define SECOND_MS INT64_C(1000)
#define MINUTE_MS (60 * SECOND_MS)
#define HOUR_MS   (60 * MINUTE_MS)

unsigned draw_below(struct rng *rng, unsigned n)
{
        return (unsigned)rng_below(rng, n);
}

bool draw_chance(struct rng *rng, unsigned percent)
{
        return draw_below(rng, 100) < percent;
}

int64_t draw_span(struct rng *rng, int64_t low_ms, int64_t high_ms)
{
        unsigned doublings = 0;

        while (low_ms << (doublings + 1) <= high_ms)
                doublings++;
        int64_t from = low_ms << draw_below(rng, doublings + 1);
        int64_t span = from + (int64_t)rng_below(rng, (uint64_t)from);
        return span > high_ms ? high_ms : span;
}

/* ---- the pool ---- */

void draw_pool(struct rng *rng, const struct case_words *words, struct draw_pool *ret_pool)
{
        static const uint8_t all[] = {CASE_A100_40, CASE_A30, CASE_T4, CASE_MI300X};
        static const uint8_t counts[] = {1, 2, 4, 4, 8};
        struct draw_pool *pool = ret_pool;

        *pool = (struct draw_pool){.nodes_count = 2 + draw_below(rng, DRAW_NODES_MAX - 1),
                                   .models_count = 1 + draw_below(rng, 3)};
        if (pool->models_count > pool->nodes_count)
                pool->models_count = pool->nodes_count;
        unsigned first = draw_below(rng, ARRAY_LEN(all));
        for (unsigned m = 0; m < pool->models_count; m++)
                pool->models[m] = all[(first + m) % ARRAY_LEN(all)];
        uint8_t count = counts[draw_below(rng, ARRAY_LEN(counts))];
        for (unsigned n = 0; n < pool->nodes_count; n++) {
                struct node_desc *desc = &pool->nodes[n];
                desc->name = words->names[n];
                desc->model = pool->models[n < pool->models_count
                                                   ? n
                                                   : draw_below(rng, pool->models_count)];
                desc->devices = draw_chance(rng, 80) ? count : counts[draw_below(rng, 5)];
                desc->cpu_milli = 8000 * (1 + draw_below(rng, 8));
                desc->ram_mib = 65536 * (1 + draw_below(rng, 4));
                desc->disk_mib = 1000000;
                desc->network_mbit = 100000;
                desc->plane = draw_chance(rng, 50) ? words->planes[draw_below(rng, 2)] : 0;
                desc->rack = words->racks[n / 5];
                desc->block = words->blocks[n / 10];
                desc->nvlink = n % 5 < 4 ? words->nvlinks[n / 5 * 2 + n % 5 / 2] : 0;
                desc->link_group = n % 3 == 0 ? 0 : (uint8_t)((desc->devices + 1) / 2);
                pool->devices[desc->model] += desc->devices;
        }
}

/* ---- policy: a document ---- */

struct draft {
        struct page page;
        struct rng tree, numbers, contact;
        const struct draw_pool *pool;
        const struct model_table *models;
        bool apart;                     /* several trust domains */
        unsigned tenants;
        char paths[64][TENANT_PATH_MAX];
};

static void put_idle(struct draft *draft, unsigned stop)
{
        struct page *page = &draft->page;
        static const unsigned minutes[] = {1, 2, 5, 20, 60};
        unsigned then = draw_below(&draft->numbers, 8);

        then = then < IDLE_THENS_END ? then : then % 2 ? IDLE_THEN_DEMOTE : IDLE_THEN_STOP;
        if (then == IDLE_THEN_DEMOTE && stop == STOP_NEVER)
                then = IDLE_THEN_STOP;
        put(page, ", idle_after: {time: %um, then: %s}",
            minutes[draw_below(&draft->numbers, ARRAY_LEN(minutes))], idle_then_names[then]);
}

static void put_classes(struct draft *draft)
{
        struct page *page = &draft->page;
        struct rng *rng = &draft->numbers;
        static const char *const stops[] = {"never", "for_protect", "always"};
        static const unsigned notices[] = {0, 30, 60, 120, 300};
        static const unsigned exempts[] = {0, 0, 60, 300, 1200};
        static const unsigned holds[] = {0, 60, 300, 600};

        put(page, "classes:\n");
        for (unsigned c = 0; c < DRAW_CLASSES; c++) {
                unsigned stop = draw_below(rng, 3);
                put(page, "  c%u: {rank: %u, methods: [whole, slice, share], stop: %s", c,
                    draw_chance(rng, 70) ? c : draw_below(rng, 3), stops[stop]);
                put(page, ", notice: %us", notices[draw_below(rng, ARRAY_LEN(notices))]);
                put(page, ", exempt: %us", exempts[draw_below(rng, ARRAY_LEN(exempts))]);
                if (draw_chance(rng, 30))
                        put(page, ", stops_per_day: unlimited");
                else
                        put(page, ", stops_per_day: %u", draw_below(rng, 4));
                put(page, ", order: %s", draw_chance(rng, 50) ? "arrival" : "shortest");
                put(page, ", by_weight: %s", draw_chance(rng, 75) ? "true" : "false");
                put(page, ", hold_after: %us", holds[draw_below(rng, ARRAY_LEN(holds))]);
                if (stop != STOP_NEVER && draw_chance(rng, 40))
                        put(page, ", above_limit: spare");
                if (draw_chance(rng, 30))
                        put(page, ", time_slice: {levels: [%um, %uh]}", 5 + draw_below(rng, 30),
                            1 + draw_below(rng, 3));
                if (draw_chance(rng, 50))
                        put_idle(draft, stop);
                if (draw_chance(rng, 10))
                        put(page, ", time_limit: 2h, time_limit_max: 4h");
                if (draw_chance(&draft->contact, 40))
                        put(page, ", on_lost_contact: continue");
                put(page, "}\n");
        }
}

/* A number in devices, in halves now and then. */
static void put_devices(struct draft *draft, unsigned devices)
{
        struct page *page = &draft->page;

        if (devices > 0 && draw_chance(&draft->numbers, 10))
                put(page, "%u.5", devices - 1);
        else
                put(page, "%u", devices);
}

static const char *model_word(const struct draft *draft, unsigned m)
{
        return model_get(draft->models, draft->pool->models[m])->name;
}

static void put_comma(struct page *page)
{
        if (page->text[page->length - 1] != '{')
                put(page, ", ");
}

/* Promises come out of `room` (devices by the pool's models); what is promised here is left for
 * those below in `ret_room`. Returns whether something was promised. */
static bool put_protect(struct draft *draft, bool root, unsigned room[3], unsigned ret_room[3])
{
        struct page *page = &draft->page;
        struct rng *rng = &draft->numbers;
        unsigned sum = 0;
        bool all = draw_chance(rng, 60), some = false;

        if (draw_chance(rng, 5)) {
                put_comma(page);
                put(page, "protect: none");
                memset(ret_room, 0, 3 * sizeof *ret_room);
                return true;
        }
        for (unsigned m = 0; m < draft->pool->models_count; m++) {
                unsigned most = room[m];
                if (!all || !draw_chance(rng, 70) || most == 0)
                        continue;
                unsigned devices = 1 + draw_below(rng, most);
                put_comma(page);
                put(page, "%s%s: %u", some ? "" : "protect: {", model_word(draft, m), devices);
                some = true;
                room[m] -= devices;
                ret_room[m] = devices;
                sum += devices;
        }
        if (root && some && draw_chance(rng, 25))
                put(page, ", any: %u", sum + draw_below(rng, 3));
        if (some)
                put(page, "}");
        return some;
}

static void put_limit(struct draft *draft, const unsigned inside[3])
{
        struct page *page = &draft->page;
        struct rng *rng = &draft->numbers;
        unsigned sum = 0, pool = 0;
        bool some = false;

        for (unsigned m = 0; m < draft->pool->models_count; m++) {
                unsigned devices = draft->pool->devices[draft->pool->models[m]];
                sum += inside[m];
                pool += devices;
                if (!draw_chance(rng, 40))
                        continue;
                put_comma(page);
                put(page, "%s%s: ", some ? "" : "limit: {", model_word(draft, m));
                some = true;
                if (inside[m] == 0 && draw_chance(rng, 15))
                        put(page, "none");
                else
                        put_devices(draft, inside[m] + draw_below(rng, devices + 1) + 1);
        }
        static const struct {
                const char *word;
                unsigned percent, least, more;
        } rows[] = {{"jobs", 15, 3, 20}, {"running", 25, 1, 8}, {"cpu", 25, 4, 60}};
        for (unsigned r = 0; r < ARRAY_LEN(rows); r++) {
                if (!draw_chance(rng, rows[r].percent))
                        continue;
                put_comma(page);
                put(page, "%s%s: %u", some ? "" : "limit: {", rows[r].word,
                    rows[r].least + draw_below(rng, rows[r].more));
                some = true;
        }
        if (draw_chance(rng, 25)) {
                put_comma(page);
                put(page, "%sany: %u", some ? "" : "limit: {", sum + 3 + draw_below(rng, pool + 1));
                some = true;
        }
        if (draw_chance(rng, 10)) {
                put_comma(page);
                put(page, "%smemory: %uGi", some ? "" : "limit: {", 10 + draw_below(rng, 100));
                some = true;
        }
        if (some)
                put(page, "}");
}

static void put_words(struct draft *draft)
{
        struct page *page = &draft->page;
        struct rng *rng = &draft->numbers;
        static const char *const empties[] = {"warn", "demote", "refuse"};
        static const char *const periods[] = {"day", "day", "week", "month"};

        if (draw_chance(rng, 40)) {
                put_comma(page);
                put(page, "weight: %u", 1 + draw_below(rng, 4));
        }
        if (draw_chance(rng, 40)) {
                put_comma(page);
                if (draw_chance(rng, 60))
                        put(page, "lend: %s", draw_chance(rng, 50) ? "none" : "all");
                else
                        put(page, "lend: {%s: %u}", model_word(draft, 0), draw_below(rng, 4));
        }
        if (draw_chance(rng, 35)) {
                put_comma(page);
                unsigned hours = 1 + draw_below(rng, draw_chance(rng, 50) ? 3 : 40);
                const char *per = periods[draw_below(rng, ARRAY_LEN(periods))];
                put(page, "budget: {device_hours: %u, per: %s, on_empty: %s}", hours, per,
                    empties[draw_below(rng, ARRAY_LEN(empties))]);
        }
}

static void put_tenant(struct draft *draft, const char *above, unsigned number, unsigned depth,
                       unsigned room[3])
{
        struct page *page = &draft->page;
        unsigned children = depth == 3 ? 0 : draw_below(&draft->tree, 5 - depth);
        unsigned own[3] = {0}, *left = own;
        char *path = draft->paths[draft->tenants];

        if (depth > 1 && children < 2)
                children = 0;
        if (draft->tenants + 1 == ARRAY_LEN(draft->paths))
                return;
        draft->tenants++;
        snprintf(path, TENANT_PATH_MAX, "%s%st%u", above, *above ? "/" : "", number);
        put(page, "t%u: {", number);
        if (!draft->apart && depth == 1)
                put(page, "trust: all");
        else if (draft->apart && draw_chance(&draft->numbers, 60))
                put(page, "trust: %c", "xyz"[draw_below(&draft->numbers, 3)]);
        if (!put_protect(draft, depth == 1, room, own) && children > 0)
                left = room;
        put_limit(draft, left);
        put_words(draft);
        if (children > 0) {
                put_comma(page);
                put(page, "tenants: {");
                for (unsigned c = 0; c < children; c++) {
                        if (c > 0)
                                put(page, ", ");
                        put_tenant(draft, path, c, depth + 1, left);
                }
                put(page, "}");
        }
        put(page, "}");
}

static void put_time(struct page *page, const char *key, int64_t time_ms)
{
        struct calendar_date date = calendar_date(time_ms / CALENDAR_DAY_MS);
        int64_t minute = time_ms % CALENDAR_DAY_MS / MINUTE_MS;

        put(page, ", %s: %04d-%02u-%02uT%02d:%02dZ", key, date.year, date.month, date.day,
            (int)(minute / 60), (int)(minute % 60));
}

static void put_reservations(struct draft *draft)
{
        struct page *page = &draft->page;
        struct rng *rng = &draft->numbers;
        unsigned count = draw_below(rng, 3);

        if (count == 0)
                return;
        put(page, "reservations:\n");
        for (unsigned r = 0; r < count; r++) {
                unsigned m = draw_below(rng, draft->pool->models_count);
                int64_t from = DRAW_START_MS + draw_below(rng, 8) * 30 * MINUTE_MS;
                put(page, "  - {name: r%u, tenant: %s, devices: {%s: %u}", r,
                    draft->paths[draw_below(rng, draft->tenants)], model_word(draft, m),
                    1 + draw_below(rng, draft->pool->devices[draft->pool->models[m]]));
                put_time(page, "from", from);
                put_time(page, "until", from + (1 + draw_below(rng, 6)) * 20 * MINUTE_MS);
                put(page, ", unused: %s}\n", draw_chance(rng, 50) ? "lend" : "keep");
        }
}

static void put_policy(struct draft *draft)
{
        struct page *page = &draft->page;
        static const char *const presets[] = {"equal", "protected", "protected", "strict"};
        struct rng *rng = &draft->numbers;
        unsigned room[3] = {0}, roots = 1 + draw_below(&draft->tree, 3);

        for (unsigned m = 0; m < draft->pool->models_count; m++)
                room[m] = draft->pool->devices[draft->pool->models[m]];
        put(page, "kind: Policy\npreset: %s\n", presets[draw_below(rng, ARRAY_LEN(presets))]);
        put(page, "rules: {over_jobs: %s, stop_rate: {pct: %u, per: 10m}}\n",
            draw_chance(rng, 70) ? "wait" : "refuse",
            draw_chance(rng, 50) ? 100 : 5 + draw_below(rng, 40));
        put_classes(draft);
        draft->apart = draw_chance(rng, 40);
        if (draft->apart)
                put(page, "trust: {x: {with: [y]}, y: {}, z: {}}\n");
        put(page, "tenants: {");
        for (unsigned t = 0; t < roots; t++) {
                if (t > 0)
                        put(page, ", ");
                put_tenant(draft, "", t, 1, room);
        }
        put(page, "}\n");
        if (draw_chance(rng, 40))
                put_reservations(draft);
}

struct policy_doc *draw_policy(uint64_t tree_seed, uint64_t seed, const struct draw_pool *pool,
                               const struct model_table *models, bool say)
{
        static struct draft draft;
        struct err err = {0};

        for (unsigned tries = 0; tries < 50; tries++) {
                struct doc *doc;
                struct policy_doc *policy = NULL;
                draft.page.length = draft.tenants = 0;
                draft.pool = pool;
                draft.models = models;
                rng_init_stream(&draft.tree, tree_seed, 1);
                rng_init_stream(&draft.numbers, seed, 2 + tries);
                rng_init_stream(&draft.contact, seed, 100 + tries);
                put_policy(&draft);
                if (doc_read_yaml("policy", draft.page.text, draft.page.length, &doc, &err) < 0)
                        break;
                int rc = policy_doc_decode(doc_root(doc, 0), models, NULL, &policy, &err);
                doc_free(doc);
                if (rc == 0) {
                        if (say)
                                printf("%s\n", draft.page.text);
                        return policy;
                }
        }
        fprintf(stderr, "%s\n%s\n", draft.page.text, err.text);
        return NULL;
}

/* ---- work ---- */

static void draw_need(struct rng *rng, const struct draw_pool *pool,
                      const struct case_words *words, struct need *need)
{
        static const uint64_t kinds[] = {30, 22, 18, 12, 8, 10};
        unsigned m = draw_below(rng, pool->models_count);
        unsigned kind = (unsigned)rng_weighted(rng, kinds, ARRAY_LEN(kinds));

        need->models = draw_chance(rng, 60) ? 1ull << pool->models[m] : UINT64_MAX;
        need->devices = 1;
        need->ask = ASK_WHOLE;
        if (kind == 1)
                need->devices = (uint8_t)(1u << (1 + draw_below(rng, 3)));
        if (kind == 2) {
                need->ask = ASK_PROFILE;
                need->models = UINT64_MAX;
                need->profile = words->profiles[draw_below(rng, words->profiles_count)];
        }
        if (kind == 3) {
                need->ask = ASK_SHARE;
                need->share_milli = (uint16_t)(125 * (1 + draw_below(rng, 8)));
        }
        if (kind == 4) {
                need->ask = ASK_MEMORY;
                need->memory_mib = 4000 * (1 + draw_below(rng, 6));
                need->methods = METHODS_BY_MEMORY;
        }
        if (kind == 5) {
                need->ask = ASK_NOTHING;
                need->devices = 0;
        }
        need->cpu_milli = kind == 5 ? 1000 * (1 + draw_below(rng, 16))
                                    : 1000 * draw_below(rng, 5);
        need->ram_mib = draw_chance(rng, 30) ? 8192 * draw_below(rng, 5) : 0;
        if (draw_chance(rng, 5))
                need->plane = words->planes[draw_below(rng, 2)];
}

struct request draw_work(struct rng *rng, const struct draw_pool *pool,
                         const struct case_words *words, const struct tenancy *tenancy,
                         int64_t now_ms)
{
        struct request request = {.form = {.members = 1}};

        request.tenant = (uint16_t)draw_below(rng, tenancy->tenants_count);
        request.class = (uint16_t)draw_below(rng, tenancy->classes_count);
        draw_need(rng, pool, words, &request.need);
        if (draw_chance(rng, 22))
                request.form.members = 2 + draw_below(rng, 3);
        if (draw_chance(rng, request.form.members > 1 ? 60 : 15)) {
                request.form.near = (uint8_t)draw_below(rng, NEAR_LEVELS_END);
                request.form.near_required = draw_chance(rng, 60);
                if (request.need.devices == 0 && request.form.near == NEAR_DEVICE_LINKS)
                        request.form.near = NEAR_NODE;
        }
        if (request.form.members > 1 && draw_chance(rng, 25))
                request.form.spread = (uint8_t)(1 + draw_below(rng, 2));
        request.priority = draw_chance(rng, 5) ? (int32_t)draw_below(rng, 3) - 1 : 0;
        request.once = draw_chance(rng, 5);
        request.spare = draw_chance(rng, 12);
        request.user_hold = draw_chance(rng, 4);
        request.service = draw_chance(rng, 4);
        request.retries = (uint16_t)(draw_chance(rng, 20) ? 1 + draw_below(rng, 2) : 0);
        request.start_ms = draw_chance(rng, 6) ? now_ms + draw_span(rng, SECOND_MS, HOUR_MS) : 0;
        request.time_limit_ms = draw_chance(rng, 25) ? draw_span(rng, MINUTE_MS, 2 * HOUR_MS) : 0;
        request.checkpoint_every_ms = draw_chance(rng, 30) ? draw_span(rng, MINUTE_MS, HOUR_MS) : 0;
        request.checkpoint_within_ms =
                draw_chance(rng, 20) ? draw_span(rng, SECOND_MS, 3 * MINUTE_MS) : 0;
        return request;
}
