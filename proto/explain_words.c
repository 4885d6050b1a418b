/* Pieces of sentences: requests, gates, groups, changes. */
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "engine/rights.h"
#include "engine/units.h"
#include "proto/explain_text.h"
#include "proto/policy_doc.h"
#include "proto/when.h"

/* ---- writing into a bounded text ---- */

struct text {
        char *at;
        size_t used;
};

static void put(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put(struct text *text, const char *format, ...)
{
        va_list args;

        va_start(args, format);
        int length = vsnprintf(text->at + text->used, EXPLAIN_TEXT_MAX - text->used, format, args);
        va_end(args);
        if (length > 0)
                text->used += (size_t)length;
        if (text->used > EXPLAIN_TEXT_MAX - 1)
                text->used = EXPLAIN_TEXT_MAX - 1;
}

static struct text open_text(char buf[EXPLAIN_TEXT_MAX])
{
        buf[0] = '\0';
        return (struct text){buf, 0};
}

static const struct tenancy *tenancy_of(const struct explain_names *names)
{
        return names->state->accounts ? names->state->accounts->tenancy : NULL;
}

static const char *tenant_name(const struct explain_names *names, uint16_t tenant)
{
        const struct tenancy *tenancy = tenancy_of(names);

        return tenancy && tenant < tenancy->tenants_count ? tenancy->tenants[tenant].path
                                                          : "the pool";
}

/* ---- requests ---- */

static void put_models(struct text *text, uint64_t models, const struct explain_names *names)
{
        const struct model_table *table = names->state->models;
        uint64_t all = model_count(table) == 64 ? UINT64_MAX : (1ull << model_count(table)) - 1;
        bool first = true;

        if ((models & all) == all)
                return;
        for (unsigned m = 0; m < model_count(table); m++) {
                if (!(models >> m & 1))
                        continue;
                put(text, "%s%s", first ? " of " : " or ", model_get(table, m)->name);
                first = false;
        }
}

static void put_part(struct text *text, const struct need *need, const struct explain_names *names)
{
        unsigned n = need->devices;

        switch ((enum ask)need->ask) {
        case ASK_NOTHING:
                put(text, "%u.%03u cores", need->cpu_milli / 1000, need->cpu_milli % 1000);
                return;
        case ASK_WHOLE:
                put(text, "%u device%s", n, n == 1 ? "" : "s");
                break;
        case ASK_PROFILE:
                put(text, "%u slice%s %s", n, n == 1 ? "" : "s",
                    vocab_text(names->state->vocab, need->profile));
                break;
        case ASK_MEMORY:
                put(text, "%u x %u MiB of device memory", n, need->memory_mib);
                break;
        case ASK_SHARE:
                put(text, "%u x %u.%u %% of a device", n, need->share_milli / 10,
                    need->share_milli % 10);
                if (need->memory_mib)
                        put(text, " with %u MiB", need->memory_mib);
                break;
        }
        put_models(text, need->models, names);
}

const char *explain_request_text(const struct request *request, const struct explain_names *names,
                                 char buf[EXPLAIN_TEXT_MAX])
{
        static const char *const spreads[] = {"", "each on another node", "each in another rack"};
        struct text text = open_text(buf);
        const struct form *form = &request->form;

        if (form->members > 1)
                put(&text, "%" PRIu32 " x ", form->members);
        put_part(&text, &request->need, names);
        if (form->near != NEAR_NONE)
                put(&text, form->near_required ? ", within one %s" : ", rather within one %s",
                    near_level_name((enum near_level)form->near));
        if (form->spread != SPREAD_NONE)
                put(&text, ", %s", spreads[form->spread]);
        if (request->need.plane)
                put(&text, ", plane %s", vocab_text(names->state->vocab, request->need.plane));
        if (request->need.where)
                put(&text, ", on nodes with certain labels");
        if (request->spare)
                put(&text, ", as spare work");
        return buf;
}

/* ---- gates ---- */

static void put_amount(struct text *text, enum gate gate, unsigned dimension, uint64_t amount)
{
        char buf[POLICY_TEXT_MAX];

        if (gate == GATE_BUDGET && amount_is_number(amount))
                put(text, "%" PRIu64, amount / 3600000);
        else
                put(text, "%s", policy_amount_text(dimension, amount, buf));
}

const char *explain_gate_text(const struct explained_gate *gate, enum gate number,
                              const struct explain_names *names, char buf[EXPLAIN_TEXT_MAX])
{
        struct text text = open_text(buf);
        char of[POLICY_TEXT_MAX];

        if (gate->right != RIGHT_ALL)
                put(&text, "%s", right_text((enum right)gate->right));
        if (gate->dimension == DIMENSIONS_END)
                return buf;
        if (gate->hidden) {
                if (gate->tenant == TENANT_NONE)
                        put(&text, "what is promised to others");
                else
                        put(&text, "a limit of %s, which is shared with others",
                            tenant_name(names, gate->tenant));
                return buf;
        }
        policy_dimension_text(tenancy_of(names), names->state->models, gate->dimension, of);
        put_amount(&text, number, gate->dimension, gate->used);
        put(&text, " of ");
        put_amount(&text, number, gate->dimension, gate->limit);
        if (number == GATE_BUDGET)
                put(&text, " device-hours (%s) of %s", of, tenant_name(names, gate->tenant));
        else
                put(&text, " (%s) %s %s", of, gate->tenant == TENANT_NONE ? "of" : "in",
                    tenant_name(names, gate->tenant));
        if (gate->after != gate->used) {
                put(&text, ", ");
                put_amount(&text, number, gate->dimension, gate->after);
                put(&text, " with this");
        }
        return buf;
}

/* ---- groups ---- */

const char *explain_group_text(const struct explained_group *group,
                               const struct explain_names *names, char buf[EXPLAIN_TEXT_MAX])
{
        struct text text = open_text(buf);
        const struct vocab *vocab = names->state->vocab;

        put(&text, "%s",
            group->model == EXPLAIN_NO_MODEL ? "no devices"
                                             : model_get(names->state->models, group->model)->name);
        if (group->plane)
                put(&text, ", plane %s", vocab_text(vocab, group->plane));
        if (group->rack)
                put(&text, ", rack %s", vocab_text(vocab, group->rack));
        return buf;
}

/* ---- what would let it start ---- */

static void put_workload(struct text *text, uint64_t id, const struct explain_names *names)
{
        const char *name = names->workload ? names->workload(names->arg, id) : NULL;

        if (name)
                put(text, "%s", name);
        else
                put(text, "workload %" PRIu64, id);
}

static void put_time(struct text *text, int64_t ms, const struct explain_names *names)
{
        char when[WHEN_TEXT_MAX];

        if (names->clock)
                put(text, "%s", when_text(ms / 1000 * 1000, when));
        else
                put(text, "%" PRId64 " s", ms / 1000);
}

static void put_raises(struct text *text, const struct explained_unblock *unblock,
                       const struct explain_names *names)
{
        char of[POLICY_TEXT_MAX], amount[POLICY_TEXT_MAX];

        for (uint32_t r = 0; r < unblock->raises_count; r++) {
                const struct limit_raise *raise = &unblock->raises[r];
                put(text, "%s%s's limit for %s is raised", r ? " and " : "",
                    tenant_name(names, raise->tenant),
                    policy_dimension_text(tenancy_of(names), names->state->models, raise->dimension,
                                          of));
                if (raise->to > 0)
                        put(text, " to %s",
                            policy_amount_text(raise->dimension, raise->to, amount));
        }
}

const char *explain_unblock_text(const struct explained_unblock *unblock,
                                 const struct explain_names *names, char buf[EXPLAIN_TEXT_MAX])
{
        struct text text = open_text(buf);
        char request[EXPLAIN_TEXT_MAX];

        switch (unblock->kind) {
        case UNBLOCK_LET_GO:
                put(&text, "you release it");
                break;
        case UNBLOCK_TIME:
                put(&text, "its start time comes, at ");
                put_time(&text, unblock->at_ms, names);
                break;
        case UNBLOCK_PLAN:
                put(&text, "the work that was told to stop is gone, at ");
                put_time(&text, unblock->at_ms, names);
                put(&text, " at the latest");
                break;
        case UNBLOCK_REQUEST:
                put(&text, "you accept %s",
                    explain_request_text(&unblock->request, names, request));
                break;
        case UNBLOCK_QUOTA:
                put_raises(&text, unblock, names);
                break;
        case UNBLOCK_OWN_END:
                put_workload(&text, unblock->workload, names);
                put(&text, " of the same tenant ends, expected at ");
                put_time(&text, unblock->at_ms, names);
                break;
        case UNBLOCKS_END:
                break;
        }
        return buf;
}

/* ---- the line to copy ---- */

/* Of a node's cores and memories, those that change: with fewer devices they do, too. */
static void put_node_change(struct text *text, const struct need *before, const struct need *after)
{
        if (after->cpu_milli != before->cpu_milli)
                put(text, " each.cpu=%" PRIu32 "m", after->cpu_milli);
        if (after->ram_mib != before->ram_mib)
                put(text, " each.ram=%" PRIu32 "Mi", after->ram_mib);
        if (after->disk_mib != before->disk_mib)
                put(text, " each.disk=%" PRIu32 "Mi", after->disk_mib);
        if (after->network_mbit != before->network_mbit)
                put(text, " each.network=%" PRIu32 "Mb", after->network_mbit);
}

/* Split over more nodes it need not lie near itself any more. */
static void put_near_change(struct text *text, const struct form *before, const struct form *after)
{
        if (after->near == before->near && after->near_required == before->near_required)
                return;
        if (after->near == NEAR_NONE)
                put(text, " near=");
        else
                put(text, " near='{%s: %s}'", after->near_required ? "require" : "prefer",
                    near_level_name((enum near_level)after->near));
}

static void put_change(struct text *text, const struct request *before,
                       const struct explained_unblock *unblock, const struct explain_names *names)
{
        const struct request *request = &unblock->request;
        unsigned changes = unblock->changes;

        if (changes & CHANGE_MEMBERS)
                put(text, " members=%" PRIu32, request->form.members);
        if (changes & CHANGE_DEVICES)
                put(text, " each.devices=%u", request->need.devices);
        if (changes & CHANGE_MODELS)
                put(text, " each.model='*'");
        if (changes & CHANGE_PROFILE)
                put(text, " each.profile=%s",
                    vocab_text(names->state->vocab, request->need.profile));
        if (changes & CHANGE_MEMORY)
                put(text, " each.memory=%uMi", request->need.memory_mib);
        if (changes & CHANGE_SHARE)
                put(text, " each.share=%u.%03u", request->need.share_milli / 1000,
                    request->need.share_milli % 1000);
        put_node_change(text, &before->need, &request->need);
        put_near_change(text, &before->form, &request->form);
        if (changes & CHANGE_SPREAD)
                put(text, " spread=none");
        if (changes & CHANGE_WHERE)
                put(text, " where={}");
        if (changes & CHANGE_SPARE)
                put(text, " standing=spare");
}

const char *explain_line(const struct explanation *explanation, const struct explain_names *names,
                         char buf[EXPLAIN_TEXT_MAX])
{
        struct text text = open_text(buf);

        if (state_workload(names->state, explanation->workload) == NONE)
                return buf;             /* only asked about: there is nothing to change */
        for (uint32_t n = 0; n < explanation->nearest_count; n++) {
                const struct explained_unblock *unblock = &explanation->nearest[n];
                if (unblock->kind == UNBLOCK_LET_GO) {
                        put(&text, "berth release %" PRIu64, explanation->workload);
                        return buf;
                }
                if (unblock->kind != UNBLOCK_REQUEST)
                        continue;
                put(&text, "berth change %" PRIu64, explanation->workload);
                put_change(&text, &explanation->request, unblock, names);
                return buf;
        }
        return buf;
}
