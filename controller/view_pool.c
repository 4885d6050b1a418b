/* What the API shows of nodes and devices. */
#include "controller/view.h"

#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "controller/alerts.h"
#include "controller/live.h"
#include "controller/nodes.h"
#include "controller/worker.h"
#include "controller/works.h"
#include "engine/accounts.h"
#include "engine/price.h"
#include "proto/policy_doc.h"
#include "proto/pool_doc.h"

/* ---- the pool ---- */

struct model_sums {
        uint32_t devices, unhealthy, draining;
        uint64_t free_units;
};

static void sum_node(const struct state *state, uint32_t number, struct model_sums *sums)
{
        const struct node *node = &state->nodes[number];
        const struct device *devices = node_devices(state, number);

        for (unsigned d = 0; d < node->desc.devices; d++) {
                bool broken = node->status != NODE_UP || devices[d].state.broken;
                sums->devices++;
                sums->unhealthy += broken;
                sums->draining += !broken && !node_takes_work(node);
                if (!broken && node_takes_work(node))
                        sums->free_units += device_free_units(node_model(state, number),
                                                              &devices[d].state);
        }
}

static json_t *model_row(const struct state *state, unsigned model, const struct model_sums *sums)
{
        uint64_t healthy = (uint64_t)(sums->devices - sums->unhealthy - sums->draining) *
                           UNITS_DEVICE;
        json_t *row = json_object();

        view_set(row, "model", json_string(model_get(state->models, model)->name));
        view_set(row, "devices", json_integer(sums->devices));
        view_set(row, "allocated", view_devices(healthy - sums->free_units));
        view_set(row, "free", view_devices(sums->free_units));
        view_set(row, "unhealthy", json_integer(sums->unhealthy));
        view_set(row, "draining", json_integer(sums->draining));
        return row;
}

/* The demand that is planned for: null where none is. */
static json_t *plan_of(const struct live *live)
{
        const struct state *state = core_state(live->core);
        int64_t now_ms = core_now_ms(live->core);
        json_t *json;

        if (!state->plan_set)
                return json_null();
        json = json_object();
        view_set(json, "made", view_time(state->plan->made_ms));
        view_set(json, "age_ms",
                 json_integer(now_ms > state->plan->made_ms ? now_ms - state->plan->made_ms : 0));
        view_set(json, "priced", json_boolean(state->plan->priced));
        view_set(json, "shapes", json_integer(state->plan->shapes_count));
        view_set(json, "arrivals", json_integer((json_int_t)state->plan->revision));
        return json;
}

static json_t *count_alerts(const struct live *live)
{
        const struct alerts_figures figures = alerts_figures(live->alerts);
        uint32_t firing = 0, critical = 0;

        for (unsigned k = 0; k < ALERT_KINDS_END; k++) {
                firing += figures.firing[k];
                critical += alert_severity_of(k) == ALERT_CRITICAL ? figures.firing[k] : 0;
        }
        return json_pack("{s:I,s:I,s:I}", "firing", (json_int_t)firing, "critical",
                         (json_int_t)critical, "unacknowledged",
                         (json_int_t)figures.unacknowledged);
}

static json_t *frozen_planes(const struct state *state)
{
        json_t *names = json_array();

        for (uint32_t p = 0; p < state->frozen_planes_count; p++)
                (void)json_array_append_new(
                        names, json_string(vocab_text(state->vocab, state->frozen_planes[p])));
        return names;
}

/* Whoever submits may name one. */
static json_t *class_names(const struct state *state)
{
        const struct tenancy *tenancy = state->accounts ? state->accounts->tenancy : NULL;
        json_t *names = json_array();

        for (uint32_t c = 0; tenancy && c < tenancy->classes_count; c++)
                (void)json_array_append_new(names, json_string(tenancy->classes[c].name));
        return names;
}

static json_t *retention_of(const struct live *live)
{
        const struct policy_doc *policy = core_policy(live->core);
        const struct retention keeps = live_retention(live);
        json_t *json = json_object(), *said = json_array();

        for (unsigned k = 0; k < RETENTIONS_END; k++) {
                char text[RETENTION_TEXT_MAX];
                view_set(json, retention_words[k],
                         json_string(retention_text(&keeps, (enum retention_kind)k, text)));
                if (policy && policy->retention.spans[k] != RETENTION_UNSAID)
                        (void)json_array_append_new(said, json_string(retention_words[k]));
        }
        view_set(json, "by_policy", said);
        return json;
}

json_t *view_pool(struct live *live, bool sees_all)
{
        const struct state *state = core_state(live->core);
        struct model_sums sums[MODELS_MAX] = {0};
        uint32_t nodes = 0, up = 0, devices = 0;
        json_t *json = json_object(), *models = json_array();

        for (uint32_t n = 0; n < state->node_slots.high; n++) {
                const struct node *node = &state->nodes[n];
                if (node->status == NODE_FREE_SLOT)
                        continue;
                nodes++;
                up += node->status == NODE_UP;
                devices += node->desc.devices;
                sum_node(state, n, &sums[node->desc.devices ? node->desc.model : 0]);
        }
        for (unsigned m = 0; m < MODELS_MAX; m++)
                if (sums[m].devices > 0)
                        (void)json_array_append_new(models, model_row(state, m, &sums[m]));
        view_set(json, "name", json_string(live->pool ? live->pool->name : ""));
        view_set(json, "nodes", json_integer(nodes));
        view_set(json, "nodes_described", json_integer(live->pool ? live->pool->nodes_count : 0));
        view_set(json, "nodes_up", json_integer(up));
        view_set(json, "nodes_down", json_integer(nodes - up));
        view_set(json, "devices", json_integer(devices));
        view_set(json, "models", models);
        view_set(json, "classes", class_names(state));
        view_set(json, "waiting", json_integer((json_int_t)state->waiting));
        view_set(json, "running",
            json_integer((json_int_t)(state->workload_slots.used - state->waiting)));
        view_set(json, "frozen", json_boolean(state->frozen));
        view_set(json, "frozen_planes", frozen_planes(state));
        view_set(json, "plan", plan_of(live));
        view_set(json, "policy_revision",
                 json_integer((json_int_t)core_policy_revision(live->core)));
        view_set(json, "pool_revision", json_integer((json_int_t)live->pool_revision));
        view_set(json, "retention", retention_of(live));
        if (sees_all)
                view_set(json, "alerts", count_alerts(live));
        return json;
}

json_t *view_worker(const struct live *live)
{
        struct worker_shown shown;
        json_t *json;

        if (!live->worker)
                return json_null();
        shown = worker_shown(live->worker);
        json = json_object();
        view_set(json, "up", json_boolean(shown.is_up));
        view_set(json, "starts", json_integer((json_int_t)shown.starts));
        view_set(json, "silent_ms", json_integer(shown.silent_ms));
        view_set(json, "trouble", shown.trouble[0] ? json_string(shown.trouble) : json_null());
        return json;
}

/* ---- nodes ---- */

static const char *device_word(const struct device *device)
{
        static const char *const words[] = {
                [DEVICE_FREE] = "free", [DEVICE_WHOLE] = "whole", [DEVICE_SLICED] = "sliced",
                [DEVICE_SHARED] = "shared",
        };

        return device->state.broken ? "broken" : words[device->state.mode];
}

static json_t *holder_row(struct live *live, uint32_t member_number, const struct part *part)
{
        static const char *const methods[METHODS_END] = {
                [METHOD_WHOLE] = "whole", [METHOD_SLICE] = "slice", [METHOD_SHARE] = "share"};
        const struct state *state = core_state(live->core);
        const struct member *member = &state->members[member_number];
        const struct work *work = works_find(core_works(live->core),
                                             state->workloads[member->workload].id);
        json_t *row = json_object();

        view_set(row, "workload", json_integer((json_int_t)state->workloads[member->workload].id));
        view_set(row, "name", json_string(work ? work->name : ""));
        view_set(row, "tenant", json_string(work ? work->tenant : ""));
        view_set(row, "member", json_integer(member->number));
        view_set(row, "method", json_string(methods[part->method]));
        if (part->method == METHOD_SLICE)
                view_set(row, "profile",
                    json_string(node_model(state, member->node)->profiles[part->profile].name));
        if (part->method == METHOD_SHARE) {
                view_set(row, "share", json_real(part->share_milli / 1000.0));
                view_set(row, "memory_mib", json_integer(part->memory_mib));
        }
        return row;
}

static json_t *holders_of(struct live *live, uint32_t node, unsigned device)
{
        const struct state *state = core_state(live->core);
        json_t *holders = json_array();

        for (uint32_t at = state->nodes[node].first_member; at != NONE;
             at = state->members[at].node_next)
                for (uint32_t held = state->members[at].first_part; held != NONE;
                     held = state->parts[held].next)
                        if (state->parts[held].part.device == device)
                                (void)json_array_append_new(
                                        holders, holder_row(live, at, &state->parts[held].part));
        return holders;
}

static json_t *devices_of(struct live *live, uint32_t number, bool who)
{
        const struct state *state = core_state(live->core);
        const struct node *node = &state->nodes[number];
        json_t *list = json_array();

        for (unsigned d = 0; d < node->desc.devices; d++) {
                const struct device *device = &node_devices(state, number)[d];
                uint64_t free_units = device_free_units(node_model(state, number), &device->state);
                json_t *row = json_object();
                view_set(row, "index", json_integer(d));
                view_set(row, "state", json_string(device_word(device)));
                view_set(row, "used", view_devices(device->state.broken ? 0
                                                                   : UNITS_DEVICE - free_units));
                if (who)
                        view_set(row, "holders", holders_of(live, number, d));
                (void)json_array_append_new(list, row);
        }
        return list;
}

#define NODE_WORDS(X)                                                           \
        X(EXPECTED,    "expected")      /* its agent has not spoken yet */      \
        X(DOWN,        "down")                                                  \
        X(DRAINED,     "drained")                                               \
        X(DRAINING,    "draining")                                              \
        X(MAINTENANCE, "maintenance")                                           \
        X(FROZEN,      "frozen")                                                \
        X(UP,          "up")

enum node_word {
#define X(name, word) WORD_##name,
        NODE_WORDS(X)
#undef X
        WORDS_END
};

static const char *const node_words[] = {
#define X(name, word) [WORD_##name] = word,
        NODE_WORDS(X)
#undef X
};

static const char *node_word(const struct node *node)
{
        enum node_word word = WORD_UP;

        if (!node)
                word = WORD_EXPECTED;
        else if (node_is_down(node))
                word = WORD_DOWN;
        else if (node->desc.drained)
                word = node->first_member == NONE ? WORD_DRAINED : WORD_DRAINING;
        else if (node->closed)
                word = WORD_MAINTENANCE;
        else if (node->frozen)
                word = WORD_FROZEN;
        return node_words[word];
}

int view_node_state_check(const char *word, struct err *err)
{
        char near[STR_NEAR_MAX], show[STR_SHOW_MAX];

        for (size_t w = 0; w < WORDS_END; w++)
                if (str_equal(node_words[w], word))
                        return 0;
        return err_set(err, ERR_INPUT, "query 'state': there is no '%s'; %s", str_show(word, show),
                       str_near(node_words, WORDS_END, word, near, sizeof near));
}

static bool is_or_any(const char *wish, const char *text)
{
        return !wish[0] || str_equal(wish, text);
}

bool view_node_is(const struct live *live, const struct node_entry *entry,
                  const struct view_node_wish *wish)
{
        const struct state *state = core_state(live->core);
        uint32_t number = state_node(state, entry->desc.name);
        const struct node *node = number == NONE ? NULL : &state->nodes[number];
        const struct node_desc *desc = node ? &node->desc : &entry->desc;

        return is_or_any(wish->state, node_word(node)) &&
               is_or_any(wish->plane, vocab_text(state->vocab, desc->plane)) &&
               is_or_any(wish->model,
                         desc->devices ? model_get(state->models, desc->model)->name : "");
}

static void add_agent(json_t *json, const struct live *live, const struct node_entry *entry)
{
        json_t *agent = json_object();

        view_set(agent, "simulated", json_boolean(live->simulated != NULL));
        view_set(agent, "connected", json_boolean(entry->connected));
        view_set(agent, "last_seen", view_time(entry->seen_ms));
        view_set(agent, "version", json_string(entry->version));
        view_set(agent, "version_differs",
                 json_boolean(live->version && entry->version[0] &&
                              !str_equal(entry->version, live->version)));
        view_set(agent, "protocol",
                 entry->protocol ? json_integer(entry->protocol) : json_null());
        view_set(agent, "certificate_expires", view_time(entry->enrolment.until_ms));
        view_set(json, "agent", agent);
}

json_t *view_node(struct live *live, const struct node_entry *entry, bool who)
{
        const struct state *state = core_state(live->core);
        uint32_t number = state_node(state, entry->desc.name);
        const struct node *node = number == NONE ? NULL : &state->nodes[number];
        const struct node_desc *desc = node ? &node->desc : &entry->desc;
        json_t *json = json_object();

        view_set(json, "name", json_string(entry->name));
        view_set(json, "state", json_string(node_word(node)));
        view_set(json, "plane", json_string(vocab_text(state->vocab, desc->plane)));
        view_set(json, "rack", json_string(vocab_text(state->vocab, desc->rack)));
        view_set(json, "model",
            desc->devices ? json_string(model_get(state->models, desc->model)->name)
                          : json_null());
        view_set(json, "cpu_milli", json_integer(desc->cpu_milli));
        view_set(json, "cpu_used_milli", json_integer(node ? node->cpu_used : 0));
        view_set(json, "ram_mib", json_integer(desc->ram_mib));
        view_set(json, "ram_used_mib", json_integer(node ? node->ram_used : 0));
        view_set(json, "drain_by", view_time(desc->drained ? desc->drain_by_ms : 0));
        view_set(json, "devices", node ? devices_of(live, number, who) : json_array());
        add_agent(json, live, entry);
        return json;
}
