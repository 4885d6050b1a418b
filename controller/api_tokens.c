/* Bearer tokens: made (one, or one for each of several nodes), listed, revoked. */
#include "controller/api_handlers.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/num.h"
#include "base/str.h"
#include "base/text.h"
#include "controller/events.h"
#include "controller/live.h"
#include "controller/nodes.h"
#include "controller/tokens.h"
#include "controller/view.h"
#include "proto/hostlist.h"
#include "proto/when.h"

#define NODES_MAX 2048 /* in one go: their answer is kept with the key of the request */
#define TOLD_MAX  300  /* bytes of names in one sentence */

/* What is to be made: a token, or one for each of these nodes. */
struct wish {
        struct token_entry token;       /* `node` is empty where there is a list */
        char list[HOSTLIST_TEXT_MAX];   /* "gpu-[01-04]"; "": there is none */
        const struct node_entry *nodes[NODES_MAX];
        uint32_t count;                 /* of nodes */
        uint32_t unknown;               /* of the list */
        struct text told;               /* the names of these, as far as they are told */
        const struct nodes *described;
};

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
        static const char *const keys[] = {"principal", "role", "tenant", "node", "nodes",
                                           "expires"};
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
        if (when_ahead(text, now_ms, &wish->until_ms, err) < 0)
                return err_prefix(err, "field 'expires'");
        if (wish->until_ms > now_ms && wish->until_ms <= now_ms + life_ms_max)
                return 0;
        return err_set(err, ERR_RANGE, "field 'expires': write a time within the next %" PRId64
                       " days", life_ms_max / 86400000);
}

static bool is_of_node(const struct token_entry *wish)
{
        return wish->role == TOKEN_ROLE_AGENT || wish->role == TOKEN_ROLE_JOIN;
}

static int take_role(const char *word, bool has_list, struct token_entry *wish, struct err *err)
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
        if (wish->node[0] && has_list)
                return err_set(err, ERR_INPUT, "field 'node' and field 'nodes': write one of them");
        if (is_of_node(wish) != (wish->node[0] || has_list))
                return err_set(err, ERR_INPUT, "field '%s': role '%s' is of %s",
                               has_list ? "nodes" : "node", word,
                               is_of_node(wish) ? "one: name it" : "no node");
        return 0;
}

static int read_wish(struct call *call, json_t *body, struct wish *wish, struct err *err)
{
        char role[16] = "", expires[WHEN_TEXT_MAX] = "";
        struct token_entry *token = &wish->token;
        int rc;

        if ((rc = check_members(body, err)) < 0 ||
            (rc = take_member(body, "principal", token->principal, WHO_NAME_MAX, err)) < 0 ||
            (rc = take_member(body, "role", role, sizeof role, err)) < 0 ||
            (rc = take_member(body, "tenant", token->tenant, sizeof token->tenant, err)) < 0 ||
            (rc = take_member(body, "node", token->node, sizeof token->node, err)) < 0 ||
            (rc = take_member(body, "nodes", wish->list, sizeof wish->list, err)) < 0 ||
            (rc = take_member(body, "expires", expires, sizeof expires, err)) < 0 ||
            (rc = take_role(role, wish->list[0] != '\0', token, err)) < 0 ||
            (rc = take_expiry(expires, token, err)) < 0)
                return rc;
        if (!is_of_node(token) && !token->principal[0])
                return err_set(err, ERR_INPUT, "field 'principal' is missing: in whose name?");
        (void)str_copy(token->made_by, sizeof token->made_by, call->who.name);
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

/* A hostlist_take: goes on after an unknown one, so that all of them are told. */
static int take_node(void *arg, const char *name, struct err *err)
{
        struct wish *wish = arg;
        const struct node_entry *node = nodes_find(wish->described, name);

        if (!node || !node->described) {
                wish->unknown++;
                if (wish->told.size < TOLD_MAX)
                        text_add(&wish->told, "%s'%s'", wish->told.size ? ", " : "", name);
                return 0;
        }
        for (uint32_t n = 0; n < wish->count; n++)
                if (wish->nodes[n] == node)
                        return err_set(err, ERR_INPUT, "node '%s' is named twice", name);
        wish->nodes[wish->count++] = node;
        return 0;
}

/* Where one is unknown nothing is made: what was, for the others, would have to be found again. */
static int take_nodes(struct call *call, struct wish *wish, struct err *err)
{
        char more[32] = "";
        int rc;

        wish->described = call->live->nodes;
        rc = wish->list[0] ? hostlist_expand(wish->list, NODES_MAX, take_node, wish, err)
                           : take_node(wish, wish->token.node, err);
        if (rc < 0 && wish->list[0])
                return err_prefix(err, "field 'nodes'");
        if (rc < 0 || wish->unknown == 0)
                return rc;
        if (wish->told.failed)
                return err_set(err, ERR_NOMEM, "out of memory");
        uint32_t told = 1;
        for (const char *at = wish->told.bytes; *at; at++)
                told += *at == ',';
        if (wish->unknown > told)
                (void)snprintf(more, sizeof more, " and %" PRIu32 " more", wish->unknown - told);
        return err_set(err, ERR_NOT_FOUND, "the pool document has no node %s%s%s",
                       wish->told.bytes, more,
                       wish->list[0] ? "; no token was made, not for the others either" : "");
}

static int may_make_for_pool(struct call *call, struct wish *wish, struct err *err)
{
        int rc = access_need(&call->who, ACTION_OPERATE, NULL, "the pool", err);

        if (rc || !is_of_node(&wish->token))
                return rc;
        if (wish->token.role == TOKEN_ROLE_JOIN && !call->api->authority)
                return err_set(err, ERR_INPUT,
                               "this controller has no TLS (--tls-cert), so nodes cannot "
                               "enrol: their agents show a token of role agent");
        return take_nodes(call, wish, err);
}

static int may_make_for_tenant(struct call *call, const struct token_entry *wish, struct err *err)
{
        const struct tenancy *tenancy = core_tenancy(call->live->core);
        bool operates = access_may(&call->who, ACTION_OPERATE, NULL);
        struct who principal;

        int rc = access_need(&call->who, ACTION_MANAGE, wish->tenant, wish->tenant, err);
        if (rc)
                return rc;
        if (!tenancy || tenancy_find(tenancy, wish->tenant) < 0)
                return err_set(err, ERR_NOT_FOUND, "the policy has no tenant '%s'", wish->tenant);
        if (!access_of_principal(wish->principal, tenancy, &principal) ||
            (!operates && !speaks_for(call, &principal)))
                return err_set(err, ERR_NOT_FOUND,
                               "'%s' is no principal for whom you may make tokens: it has to "
                               "stand in the policy's 'principals', and be of your tenants only",
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

/* One more in `rows`, and without its text in `kept`. */
static int make_one(struct call *call, struct act *act, const struct token_entry *wish,
                    json_t *rows, json_t *kept, struct err *err)
{
        char text[TOKEN_TEXT_MAX];
        uint64_t id;
        int rc = tokens_make(call->api->tokens, act, wish, text, &id, err);

        if (rc < 0)
                return rc;
        json_t *row = view_token(tokens_get(call->api->tokens, id), 0);
        json_t *row_kept = json_copy(row);
        view_set(row_kept, "token", json_null());
        view_set(row, "token", json_string(text));
        token_wipe(text, sizeof text);
        (void)json_array_append_new(kept, row_kept);
        (void)json_array_append_new(rows, row);
        return 0;
}

static int make_all(struct call *call, struct act *act, struct wish *wish, json_t *rows,
                    json_t *kept, struct err *err)
{
        uint32_t count = is_of_node(&wish->token) ? wish->count : 1;
        int rc = 0;

        for (uint32_t n = 0; rc == 0 && n < count; n++) {
                struct token_entry token = wish->token;
                if (is_of_node(&token))
                        (void)str_copy(token.node, sizeof token.node, wish->nodes[n]->name);
                if (!token.principal[0])
                        (void)snprintf(token.principal, sizeof token.principal, "node %.58s",
                                       token.node);
                rc = make_one(call, act, &token, rows, kept, err);
        }
        return rc;
}

/* The answer to one wish is its token, to a list all of them. NULL: out of memory. */
static json_t *answer_of(const struct wish *wish, json_t *rows)
{
        if (wish->list[0])
                return json_pack("{s:o}", "tokens", rows);
        json_t *one = json_incref(json_array_get(rows, 0));
        json_decref(rows);
        return one;
}

/* The text stands in the answer, and nowhere else: who repeats the request by its key hears which
 * one was made, not what it is. */
static void make(struct call *call, struct wish *wish)
{
        struct act *act = api_act(call);
        json_t *rows = json_array(), *kept = json_array();
        struct err err;

        if (!act || make_all(call, act, wish, rows, kept, &err) < 0) {
                json_decref(rows);
                json_decref(kept);
                if (!act)
                        return;
                core_undo(act);
                core_commit(act, api_ignore, NULL);
                api_fail(call, &err);
                return;
        }
        json_t *json = answer_of(wish, rows), *json_kept = answer_of(wish, kept);
        char *text = json_kept ? json_dumps(json_kept, JSON_COMPACT) : NULL;
        json_decref(json_kept);
        if (!text) {                    /* then it is told to nobody, and no answer is kept */
                json_decref(json);
                json = NULL;
        }
        api_commit_apart(call, act, 201, json, text);
        free(text);
}

void post_token(struct http_exchange *exchange, const struct route_match *match, void *arg)
{
        struct wish *wish;
        struct call call;
        struct err err;
        json_t *body;

        if (!api_begin(arg, exchange, match, &call))
                return;
        if (!(body = api_body(&call)))
                return;
        wish = mem_new(1, sizeof *wish);
        int rc = wish ? read_wish(&call, body, wish, &err)
                      : err_set(&err, ERR_NOMEM, "out of memory");
        if (rc == 0)
                rc = token_role_is_tenants(wish->token.role)
                             ? may_make_for_tenant(&call, &wish->token, &err)
                             : may_make_for_pool(&call, wish, &err);
        json_decref(body);
        if (rc < 0)
                api_fail(&call, &err);
        else
                make(&call, wish);
        if (wish)
                text_done(&wish->told);
        mem_free(wish);
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
