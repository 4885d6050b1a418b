#include "proto/explain_json.h"

#include <jansson.h>
#include <string.h>

#include "base/err.h"
#include "engine/rights.h"
#include "engine/units.h"
#include "proto/policy_doc.h"
#include "proto/when.h"

/* jansson takes NULL as a failed value and passes the failure on: it shows at the end, once. */

static json_t *number(uint64_t value)
{
        return json_integer((json_int_t)value);
}

static json_t *time_of(int64_t ms, const struct explain_names *names)
{
        char when[WHEN_TEXT_MAX];

        return names->clock ? json_string(when_text(ms / 1000 * 1000, when)) : json_integer(ms);
}

static const struct tenancy *tenancy_of(const struct explain_names *names)
{
        return names->state->accounts ? names->state->accounts->tenancy : NULL;
}

static json_t *tenant_name(uint16_t tenant, const struct explain_names *names)
{
        const struct tenancy *tenancy = tenancy_of(names);

        return tenancy && tenant < tenancy->tenants_count
                       ? json_string(tenancy->tenants[tenant].path)
                       : json_null();
}

static json_t *class_name(uint16_t class, const struct explain_names *names)
{
        const struct tenancy *tenancy = tenancy_of(names);

        return tenancy && class < tenancy->classes_count ? json_string(tenancy->classes[class].name)
                                                         : json_null();
}

static json_t *word(unsigned id, const struct explain_names *names)
{
        return id ? json_string(vocab_text(names->state->vocab, id)) : json_null();
}

static json_t *workload_name(uint64_t id, const struct explain_names *names)
{
        const char *name = names->workload ? names->workload(names->arg, id) : NULL;

        return name ? json_string(name) : number(id);
}

/* ---- gates ---- */

/* Words of amounts ("none") as words; units as devices where they are whole ones. */
static json_t *amount(unsigned gate, unsigned dimension, uint64_t value)
{
        char text[POLICY_TEXT_MAX];

        if (gate == GATE_BUDGET)
                return json_real((double)value / 3600000.0);
        if (!amount_is_number(value))
                return json_string(policy_amount_text(dimension, value, text));
        if (dimension <= DIM_ANY)
                return value % UNITS_DEVICE == 0 ? number(value / UNITS_DEVICE)
                                                 : json_real((double)value / UNITS_DEVICE);
        return number(value);
}

static json_t *gates(const struct explanation *it, const struct explain_names *names)
{
        json_t *list = json_array();

        for (unsigned g = 0; list && g < EXPLAIN_GATES; g++) {
                const struct explained_gate *gate = &it->gates[g];
                char text[POLICY_TEXT_MAX];
                json_t *entry = json_pack("{s:s, s:b}", "gate", gate_name((enum gate)g), "passed",
                                          gate->passed);
                int rc = 0;
                if (entry && gate->right != RIGHT_ALL)
                        rc = json_object_set_new(entry, "because",
                                                 json_string(right_text((enum right)gate->right)));
                else if (entry && gate->hidden)
                        rc = json_object_set_new(entry, "shared_limit_of",
                                                 tenant_name(gate->tenant, names));
                else if (entry && gate->dimension != DIMENSIONS_END)
                        rc = json_object_update_new(
                                entry, json_pack("{s:o, s:s, s:o, s:o, s:o}", "of",
                                                 tenant_name(gate->tenant, names), "counted",
                                                 policy_dimension_key(tenancy_of(names),
                                                                       names->state->models,
                                                                       gate->dimension, text),
                                                 "used", amount(g, gate->dimension, gate->used),
                                                 "limit", amount(g, gate->dimension, gate->limit),
                                                 "after", amount(g, gate->dimension, gate->after)));
                if (rc < 0 || json_array_append_new(list, entry) < 0) {
                        json_decref(list);
                        return NULL;
                }
        }
        return list;
}

/* ---- groups ---- */

static json_t *others(const struct explained_other *list, uint32_t count,
                      const struct explain_names *names)
{
        json_t *array = json_array();

        for (uint32_t i = 0; array && i < count; i++) {
                const struct explained_other *other = &list[i];
                bool runs = other->standing < STANDINGS_END;
                json_t *entry = json_pack(
                        "{s:o, s:o, s:o, s:o, s:s?, s:b, s:o}", "workload",
                        workload_name(other->workload, names), "tenant",
                        tenant_name(other->tenant, names), "class", class_name(other->class, names),
                        "devices", number(other->devices), "standing",
                        runs ? standing_name((enum standing)other->standing) : NULL,
                        "may_be_stopped", other->may_be_stopped, "expected_end",
                        other->end_ms ? time_of(other->end_ms, names) : json_null());
                if (json_array_append_new(array, entry) < 0) {
                        json_decref(array);
                        return NULL;
                }
        }
        return array;
}

static json_t *codes(const struct explained_group *group)
{
        json_t *map = json_object();

        for (unsigned c = 0; map && c < CODES_END; c++)
                if (group->nodes_of[c] > 0 &&
                    json_object_set_new(map, node_code_name(c), number(group->nodes_of[c])) < 0) {
                        json_decref(map);
                        return NULL;
                }
        return map;
}

static json_t *group_json(const struct explained_group *group, const struct explain_names *names,
                          bool is_sum)
{
        json_t *model = is_sum || group->model == EXPLAIN_NO_MODEL
                                ? json_null()
                                : json_string(model_get(names->state->models, group->model)->name);

        return json_pack("{s:o, s:o, s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:b, s:o, s:o}", "model",
                         model, "plane", word(group->plane, names), "rack",
                         word(group->rack, names), "code",
                         node_code_name((enum node_code)group->code), "nodes", number(group->nodes),
                         "nodes_of", codes(group), "devices", number(group->devices), "free",
                         number(group->free_devices), "largest_free", number(group->largest_free),
                         "rounded", group->rounded, "members", number(group->members), "there",
                         others(group->blockers, group->blockers_count, names));
}

static json_t *groups(const struct explanation *it, const struct explain_names *names)
{
        json_t *list = json_array();

        for (uint32_t g = 0; list && g < it->groups_count; g++)
                if (json_array_append_new(list, group_json(&it->groups[g], names, false)) < 0) {
                        json_decref(list);
                        return NULL;
                }
        return list;
}

/* ---- position and nearest ---- */

static json_t *position(const struct explanation *it, const struct explain_names *names)
{
        const struct explained_position *place = &it->position;

        if (!place->known)
                return json_null();
        json_t *map = json_pack(
                "{s:o, s:o, s:s, s:s, s:o}", "in_tenant", number(place->in_tenant), "of_tenant",
                number(place->of_tenant), "ahead", ahead_text(place->ahead), "ahead_device_hours",
                place->device_hours == AHEAD_NEXT ? "0" : ahead_text(place->device_hours), "first",
                others(place->first, place->first_count, names));
        if (map && place->ahead_exact > 0 &&
            json_object_update_new(map, json_pack("{s:o, s:o}", "ahead_exact",
                                                  number(place->ahead_exact), "ahead_device_ms",
                                                  number(place->ahead_device_ms))) < 0) {
                json_decref(map);
                return NULL;
        }
        return map;
}

static json_t *nearest(const struct explanation *it, const struct explain_names *names)
{
        json_t *list = json_array();

        for (uint32_t n = 0; list && n < it->nearest_count; n++) {
                const struct explained_unblock *unblock = &it->nearest[n];
                char text[EXPLAIN_TEXT_MAX];
                json_t *entry = json_pack(
                        "{s:s, s:s, s:s?, s:o}", "unblock", unblock_name(unblock->kind), "when",
                        explain_unblock_text(unblock, names, text), "standing",
                        unblock->standing < STANDINGS_END ? standing_name(unblock->standing) : NULL,
                        "at", unblock->at_ms ? time_of(unblock->at_ms, names) : json_null());
                if (json_array_append_new(list, entry) < 0) {
                        json_decref(list);
                        return NULL;
                }
        }
        return list;
}

static json_t *eta(const struct explanation *it, const struct explain_names *names)
{
        if (!it->eta_known)
                return json_null();
        return json_pack("{s:o, s:o, s:o, s:o}", "p50", time_of(it->eta_p50_ms, names), "p90",
                         time_of(it->eta_p90_ms, names), "covered_pct",
                         number(it->eta_coverage_pct), "foretold", time_of(it->eta_at_ms, names));
}

/* ---- whole ---- */

static int dump(json_t *root, char **ret_text, struct err *err)
{
        char *text = root ? json_dumps(root, JSON_COMPACT) : NULL;

        json_decref(root);
        if (!text)
                return err_set(err, ERR_NOMEM, "out of memory");
        *ret_text = text;
        return 0;
}

int explain_json(const struct explanation *it, const struct explain_names *names, char **ret_text,
                 struct err *err)
{
        char asks[EXPLAIN_TEXT_MAX], summary[EXPLAIN_TEXT_MAX], line[EXPLAIN_TEXT_MAX],
                possible[EXPLAIN_TEXT_MAX];
        json_t *root =
                json_pack("{s:i, s:o, s:o, s:o, s:s, s:s, s:s, s:s?, s:o, s:o, s:o, s:o}", "v", 1,
                          "workload", workload_name(it->workload, names), "tenant",
                          tenant_name(it->request.tenant, names), "class",
                          class_name(it->request.class, names), "verdict",
                          verdict_name(it->verdict), "summary", explain_summary(it, names, summary),
                          "asks_for", explain_request_text(&it->request, names, asks), "standing",
                          it->standing < STANDINGS_END ? standing_name(it->standing) : NULL,
                          "as_of", time_of(it->as_of_ms, names), "snapshot", number(it->snapshot),
                          "policy_revision", number(it->policy_revision), "until",
                          it->until_ms ? time_of(it->until_ms, names) : json_null());
        int rc = root ? json_object_update_new(
                                root,
                                json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:s, s:s?, s:s}", "gates",
                                          gates(it, names), "groups", groups(it, names), "all",
                                          group_json(&it->all, names, true), "position",
                                          position(it, names), "nearest", nearest(it, names), "eta",
                                          eta(it, names), "possible",
                                          it->has_possible ? explain_request_text(&it->possible,
                                                                                  names, possible)
                                                           : "",
                                          "last_stop", names->last_stop,
                                          "try", explain_line(it, names, line)))
                      : 0;

        if (rc < 0) {
                json_decref(root);
                root = NULL;
        }
        return dump(root, ret_text, err);
}

int explain_idle_json(const struct explained_idle *idle, const struct explain_names *names,
                      char **ret_text, struct err *err)
{
        json_t *list = json_array();

        for (uint32_t m = 0; list && m < idle->models_count; m++) {
                json_t *why = json_object();
                for (unsigned c = 0; c < IDLES_END; c++)
                        if (idle->models[m].of[c] > 0)
                                (void)json_object_set_new(why, idle_code_name(c),
                                                          number(idle->models[m].of[c]));
                json_t *entry =
                        json_pack("{s:s, s:o, s:o, s:o}", "model",
                                  model_get(names->state->models, idle->models[m].model)->name,
                                  "devices", number(idle->models[m].devices), "idle",
                                  number(idle->models[m].idle), "why", why);
                (void)json_array_append_new(list, entry);
        }
        json_t *json = json_pack("{s:i, s:o, s:o}", "v", 1, "idle", number(idle->idle), "models",
                                 list);
        if (json && idle->snapshot > 0) {
                (void)json_object_set_new(json, "as_of", time_of(idle->as_of_ms, names));
                (void)json_object_set_new(json, "snapshot", number(idle->snapshot));
                (void)json_object_set_new(json, "policy_revision", number(idle->policy_revision));
        }
        return dump(json, ret_text, err);
}

int explain_fits_json(const struct explained_fits *fits, const struct explain_names *names,
                      char **ret_text, struct err *err)
{
        json_t *list = json_array();

        for (uint32_t i = 0; list && i < fits->count; i++) {
                const struct fit_line *line = &fits->lines[i];
                char text[EXPLAIN_TEXT_MAX];
                bool starts = line->standing < STANDINGS_END;
                json_t *entry =
                        json_pack("{s:s, s:s?, s:s?}", "model",
                                  model_get(names->state->models, line->model)->name, "request",
                                  starts ? explain_request_text(&line->request, names, text) : NULL,
                                  "standing", starts ? standing_name(line->standing) : NULL);
                (void)json_array_append_new(list, entry);
        }
        return dump(json_pack("{s:i, s:o}", "v", 1, "fits", list), ret_text, err);
}
