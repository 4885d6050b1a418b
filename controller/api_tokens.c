/* Bearer tokens: made, listed, revoked. */
#include "controller/api_handlers.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/num.h"
#include "base/str.h"
#include "controller/events.h"
#include "controller/live.h"
#include "controller/nodes.h"
#include "controller/tokens.h"
#include "controller/view.h"
#include "proto/when.h"

/* Operators all; tenant-admins those of their tenants. */
static bool may_handle(const struct call *call, const struct token_entry *token)
{
        return access_may(&call->who, ACTION_OPERATE, NULL) ||
               (token->tenant[0] && access_may(&call->who, ACTION_MANAGE, token->tenant));
}

/* ---- what is wanted ---- */

/* A member that is a text, or absent. */
static int take_member(json_t *body, const char *key, char *ret_text, size_t size, struct err *err)
{
        json_t *value = json_object_get(body, key);

        if (!value || json_is_null(value))
                return 0;
        if (!json_is_string(value) || !str_copy(ret_text, size, json_string_value(value)))
                return err_set(err, ERR_INPUT, "field '%s': write a text of up to %zu bytes", key,
                               size - 1);
        return 0;
}

static int check_members(json_t *body, struct err *err)
{
        static const char *const keys[] = {"principal", "role", "tenant", "node", "expires"};
        const char *key;
        json_t *value;

        json_object_foreach(body, key, value) {
                char near[STR_NEAR_MAX], shown[STR_SHOW_MAX];
                bool known = false;
                for (size_t k = 0; k < ARRAY_LEN(keys); k++)
                        known |= str_equal(key, keys[k]);
                if (!known)
                        return err_set(err, ERR_INPUT, "field '%s' is not known: %s",
                                       str_show(key, shown),
                                       str_near(keys, ARRAY_LEN(keys), key, near, sizeof near));
        }
        return 0;
}

/* A time, or so long from now. */
static int take_expiry(const char *text, struct token_entry *wish, struct err *err)
{
        bool joins = wish->role == TOKEN_ROLE_JOIN;
        int64_t now_ms = api_now_ms(), life_ms = joins ? JOIN_LIFE_MS : TOKEN_LIFE_MS,
                life_ms_max = joins ? JOIN_LIFE_MS_MAX : TOKEN_LIFE_MS_MAX;

        if (text[0] == '\0') {
                wish->until_ms = wish->role == TOKEN_ROLE_AGENT ? 0 : now_ms + life_ms;
                return 0;
        }
        if (num_duration_ms(text, 1, INT64_MAX / 4, &life_ms, NULL) == 0)
                wish->until_ms = life_ms <= life_ms_max ? now_ms + life_ms : 0;
        else if (when_parse(text, &wish->until_ms, err) < 0)
                return err_prefix(err, "field 'expires': a time, or a duration like 30d");
        if (wish->until_ms > now_ms && wish->until_ms <= now_ms + life_ms_max)
                return 0;
        return err_set(err, ERR_RANGE, "field 'expires': write a time within the next %" PRId64
                       " days", life_ms_max / 86400000);
}

static bool is_of_node(const struct token_entry *wish)
{
        return wish->role == TOKEN_ROLE_AGENT || wish->role == TOKEN_ROLE_JOIN;
}

static int take_role(const char *word, struct token_entry *wish, struct err *err)
{
        enum token_role role = token_role_of(word);

        if (role == TOKEN_ROLES_END)
                return err_set(err, ERR_INPUT,
                               "field 'role': write viewer, submitter, tenant-admin, auditor, "
                               "operator, agent or join");
        if (role == TOKEN_ROLE_GATEWAY)
                return err_set(err, ERR_INPUT, "role 'gateway' is reserved");
        wish->role = (uint8_t)role;
        if (token_role_is_tenants(role) != (wish->tenant[0] != '\0'))
                return err_set(err, ERR_INPUT, "field 'tenant': role '%s' is of %s", word,
                               wish->tenant[0] ? "no tenant" : "one: name it");
        if (is_of_node(wish) != (wish->node[0] != '\0'))
                return err_set(err, ERR_INPUT, "field 'node': role '%s' is of %s", word,
                               wish->node[0] ? "no node" : "one: name it");
        return 0;
}

static int read_wish(struct call *call, json_t *body, struct token_entry *wish, struct err *err)
{
        char role[16] = "", expires[WHEN_TEXT_MAX] = "";
        int rc;

        if ((rc = check_members(body, err)) < 0 ||
            (rc = take_member(body, "principal", wish->principal, WHO_NAME_MAX, err)) < 0 ||
            (rc = take_member(body, "role", role, sizeof role, err)) < 0 ||
            (rc = take_member(body, "tenant", wish->tenant, sizeof wish->tenant, err)) < 0 ||
            (rc = take_member(body, "node", wish->node, sizeof wish->node, err)) < 0 ||
            (rc = take_member(body, "expires", expires, sizeof expires, err)) < 0 ||
            (rc = take_role(role, wish, err)) < 0 || (rc = take_expiry(expires, wish, err)) < 0)
                return rc;
        if (is_of_node(wish) && !wish->principal[0])
                (void)snprintf(wish->principal, sizeof wish->principal, "node %.58s", wish->node);
        if (!wish->principal[0])
                return err_set(err, ERR_INPUT, "field 'principal' is missing: in whose name?");
        (void)str_copy(wish->made_by, sizeof wish->made_by, call->who.name);
        return 0;
}

/* ---- whether it may be ---- */

/* A tenant-admin speaks for itself, and for those who are of its tenants only: who acts elsewhere
 * too would lend it their user there. */
static bool speaks_for(const struct call *call, const struct who *principal)
{
        if (str_equal(principal->name, call->who.name))
                return true;
        for (unsigned g = 0; g < principal->grants_count; g++)
                if (!access_may(&call->who, ACTION_MANAGE, principal->grants[g].tenant))
                        return false;
        return principal->pool_role == POOL_ROLE_NONE;
}

static int may_make(struct call *call, const struct token_entry *wish, struct err *err)
{
        const struct tenancy *tenancy = core_tenancy(call->live->core);
        bool operates = access_may(&call->who, ACTION_OPERATE, NULL);
        const struct node_entry *node;
        struct who principal;

        if (!token_role_is_tenants(wish->role)) {
                int rc = access_need(&call->who, ACTION_OPERATE, NULL, "the pool", err);
                if (rc || !is_of_node(wish))
                        return rc;
                if (wish->role == TOKEN_ROLE_JOIN && !call->api->authority)
                        return err_set(err, ERR_INPUT,
                                       "this controller has no TLS (--tls-cert), so nodes cannot "
                                       "enrol: their agents show a token of role agent");
                node = nodes_find(call->live->nodes, wish->node);
                return node && node->described
                               ? 0
                               : err_set(err, ERR_NOT_FOUND, "the pool document has no node '%s'",
                                         wish->node);
        }
        int rc = access_need(&call->who, ACTION_MANAGE, wish->tenant, wish->tenant, err);
        if (rc)
                return rc;
        if (!tenancy || tenancy_find(tenancy, wish->tenant) < 0)
                return err_set(err, ERR_NOT_FOUND, "the policy has no tenant '%s'", wish->tenant);
        if (!access_of_principal(wish->principal, tenancy, &principal) ||
            (!operates && !speaks_for(call, &principal)))
                return err_set(err, ERR_NOT_FOUND,
                               "'%s' is no principal for whom you may make tokens: it stands in "
                               "the policy's 'principals', and is of your tenants only",
                               wish->principal);
        if (!access_may(&principal, ACTION_SEE, wish->tenant))
                return err_set(err, ERR_INPUT,
                               "'%s' is not of '%s' in the policy: a token would give nothing",
                               wish->principal, wish->tenant);
        return 0;
}

/* ---- the calls ---- */

static json_t *view_token(const struct token_entry *token, int64_t now_ms)
{
        json_t *row = json_object();

        view_set(row, "id", json_integer((json_int_t)token->id));
        view_set(row, "principal", json_string(token->principal));
        view_set(row, "role", json_string(token_role_word(token->role)));
        view_set(row, "tenant", token->tenant[0] ? json_string(token->tenant) : json_null());
        view_set(row, "node", token->node[0] ? json_string(token->node) : json_null());
        view_set(row, "made", view_time(token->made_ms));
        view_set(row, "made_by", json_string(token->made_by));
        view_set(row, "expires", view_time(token->until_ms));
        view_set(row, "expired", json_boolean(token->until_ms && token->until_ms <= now_ms));
        return row;
}

/* The text stands in the answer, and nowhere else: who repeats the request by its key hears which
 * one was made, not what it is. */
static void make(struct call *call, const struct token_entry *wish)
{
        char text[TOKEN_TEXT_MAX];
        struct act *act = api_act(call);
        struct err err;
        uint64_t id;

        if (!act)
                return;
        if (tokens_make(call->api->tokens, act, wish, text, &id, &err) < 0) {
                core_undo(act);
                core_commit(act, api_ignore, NULL);
                api_fail(call, &err);
                return;
        }
        json_t *json = view_token(tokens_get(call->api->tokens, id), 0);
        view_set(json, "token", json_null());
        char *kept = json_dumps(json, JSON_COMPACT);
        view_set(json, "token", json_string(text));
        token_wipe(text, sizeof text);
        if (!kept) {                    /* then it is told to nobody, and no answer is kept */
                json_decref(json);
                json = NULL;
        }
        api_commit_apart(call, act, 201, json, kept);
        free(kept);
}

void post_token(struct http_exchange *exchange, const struct route_match *match, void *arg)
{
        struct token_entry wish = {0};
        struct call call;
        struct err err;
        json_t *body;

        if (!api_begin(arg, exchange, match, &call))
                return;
        if (!(body = api_body(&call)))
                return;
        int rc = read_wish(&call, body, &wish, &err);
        if (rc == 0)
                rc = may_make(&call, &wish, &err);
        json_decref(body);
        if (rc < 0)
                api_fail(&call, &err);
        else
                make(&call, &wish);
}

void get_tokens(struct http_exchange *exchange, const struct route_match *match, void *arg)
{
        char principal[WHO_NAME_MAX] = "";
        const struct token_entry *token;
        uint32_t cursor = 0;
        struct call call;

        if (!api_begin(arg, exchange, match, &call) ||
            !api_query(&call, "principal", principal, sizeof principal))
                return;
        json_t *json = json_object(), *rows = json_array();
        while ((token = tokens_next(call.api->tokens, &cursor)))
                if (may_handle(&call, token) &&
                    (principal[0] == '\0' || str_equal(principal, token->principal)))
                        (void)json_array_append_new(rows, view_token(token, api_now_ms()));
        view_set(json, "tokens", rows);
        api_reply(&call, 200, json);
}

void delete_token(struct http_exchange *exchange, const struct route_match *match, void *arg)
{
        const struct token_entry *token = NULL;
        uint64_t id = 0;
        struct call call;
        struct err err;
        struct act *act;

        if (!api_begin(arg, exchange, match, &call))
                return;
        const char *text = route_param(match, "id");
        if (num_u64(text, 1, INT64_MAX, &id, NULL) == 0)
                token = tokens_get(call.api->tokens, id);
        if (!token || !may_handle(&call, token)) {
                (void)err_set(&err, ERR_NOT_FOUND, "there is no token '%s' here, or it is not for "
                              "%s to revoke", text, call.who.name);
                api_fail(&call, &err);
                return;
        }
        if (!(act = api_act(&call)))
                return;
        if (tokens_revoke(call.api->tokens, act, id, &err) < 0) {
                core_undo(act);
                core_commit(act, api_ignore, NULL);
                api_fail(&call, &err);
                return;
        }
        events_end_token(call.api->events, id);
        api_commit(&call, act, 200, json_pack("{s:I,s:s}", "id", (json_int_t)id, "state",
                                              "revoked"));
}
