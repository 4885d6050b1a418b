/* Certificates of nodes: the first one for a join token, the next ones for the one before. */
#include "controller/api_handlers.h"

#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "controller/enrolment.h"
#include "controller/live.h"
#include "controller/nodes.h"
#include "controller/tokens.h"
#include "controller/view.h"
#include "net/authority.h"

/* What is to be signed. */
struct wish {
        struct node_entry *node;
        json_t *body;                   /* owned */
        const char *request;            /* the PKCS #10 in it */
        struct enrolment enrolment;
        char certificate[IDENTITY_PEM_MAX];
};

/* ---- whether it may be ---- */

static int find_node(struct call *call, struct wish *wish, struct err *err)
{
        const char *name = route_param(call->match, "node");

        wish->node = nodes_find(call->live->nodes, name);
        if (wish->node && wish->node->described && !call->live->simulated)
                return 0;
        return err_set(err, ERR_NOT_FOUND, "the pool document has no node '%s' that has an agent",
                       name);
}

/* For people who made a token, and then wonder. */
static int check_repetition(const struct call *call, const struct wish *wish, struct err *err)
{
        const struct enrolment *there = &wish->node->enrolment;
        char when[VIEW_TIME_MAX];

        if (call->who.proof != NODE_BY_JOIN_TOKEN || !call->token_is_used)
                return 0;
        if (memcmp(there->key, wish->enrolment.key, sizeof there->key) == 0 &&
            api_now_ms() < there->made_ms + ENROLMENT_AGAIN_MS)
                return 0;
        return err_set(err, ERR_EXISTS,
                       "this join token was used at %s, and is good for one key: 'berth token make "
                       "--join --node %s' makes another one",
                       view_time_text(there->made_ms, when), wish->node->name);
}

static int read_wish(struct call *call, struct wish *wish, struct err *err)
{
        int rc = find_node(call, wish, err);

        if (rc)
                return rc;
        if (!call->api->authority)
                return err_set(err, ERR_INPUT,
                               "this controller has no TLS (--tls-cert) to show a certificate in: "
                               "agents show a token ('berth token make --role agent')");
        wish->request = json_string_value(json_object_get(wish->body, "request"));
        if (!wish->request)
                return err_set(err, ERR_INPUT,
                               "field 'request' is missing: a certificate request (PKCS #10, PEM)");
        rc = authority_read(wish->request, strlen(wish->request), wish->enrolment.key, err);
        return rc ? rc : check_repetition(call, wish, err);
}

/* ---- the act ---- */

/* The join token is used up with it, so that both are durable before the certificate goes out. */
static int enrol(struct call *call, struct act *act, struct wish *wish, struct err *err)
{
        const struct token_entry *token = tokens_get(call->api->tokens, call->token);

        memcpy(wish->enrolment.token, token->hash, sizeof token->hash);
        int rc = enrolment_make(call->live, act, wish->node, token->made_by, &wish->enrolment, err);
        return rc ? rc : tokens_use_up(call->api->tokens, act, token->id, err);
}

static int sign(struct call *call, struct wish *wish, struct err *err)
{
        int64_t life_ms = call->api->certificate_ms, now_ms = core_now_ms(call->live->core);
        int64_t early_ms = life_ms / 10;

        if (early_ms > CERTIFICATE_EARLY_MS)
                early_ms = CERTIFICATE_EARLY_MS;
        struct identity identity = {.enrolment = wish->node->enrolment.id,
                                    .from_ms = now_ms - early_ms,
                                    .until_ms = wish->enrolment.until_ms};

        if (!str_copy(identity.node, sizeof identity.node, wish->node->name))
                return err_set(err, ERR_INPUT, "the node's name is too long for a certificate");
        return authority_sign(call->api->authority, wish->request, strlen(wish->request), &identity,
                              wish->certificate, err);
}

static int take_wish(struct call *call, struct act *act, struct wish *wish, struct err *err)
{
        bool is_new = call->who.proof == NODE_BY_JOIN_TOKEN && !call->token_is_used;
        int rc;

        /* Whole seconds, as a certificate has them. */
        wish->enrolment.until_ms =
                (core_now_ms(call->live->core) + call->api->certificate_ms) / 1000 * 1000;
        rc = is_new ? enrol(call, act, wish, err)
                    : enrolment_renew(call->live, act, wish->node, wish->enrolment.until_ms, err);
        return rc ? rc : sign(call, wish, err);
}

static json_t *answer_of(const struct call *call, const struct wish *wish)
{
        json_t *json = json_object();

        view_set(json, "node", json_string(wish->node->name));
        view_set(json, "enrolment", json_integer((json_int_t)wish->node->enrolment.id));
        view_set(json, "certificate", json_string(wish->certificate));
        view_set(json, "authority", json_string(authority_certificate(call->api->authority)));
        view_set(json, "not_after", view_time(wish->enrolment.until_ms));
        view_set(json, "now", view_time(api_now_ms()));
        return json;
}

static void undo(struct call *call, struct act *act, const struct err *err)
{
        core_undo(act);
        core_commit(act, api_ignore, NULL);
        api_fail(call, err);
}

void post_certificate(struct http_exchange *exchange, const struct route_match *match, void *arg)
{
        struct wish wish = {0};
        struct call call;
        struct act *act;
        struct err err;

        if (!api_begin(arg, exchange, match, &call))
                return;
        /* An operator is no node, whatever else it may. */
        if (!call.who.node[0]) {
                (void)err_set(&err, ERR_DENIED,
                              "only the node itself gets its certificate: 'berth token make --join "
                              "--node %s' lets it",
                              route_param(match, "node"));
                api_fail(&call, &err);
                return;
        }
        if (!(wish.body = api_body(&call)))
                return;
        if (read_wish(&call, &wish, &err) < 0)
                api_fail(&call, &err);
        else if ((act = api_act(&call))) {
                if (take_wish(&call, act, &wish, &err) < 0)
                        undo(&call, act, &err);
                else
                        api_commit(&call, act, 200, answer_of(&call, &wish));
        }
        json_decref(wish.body);
}

/* ---- the end of one ---- */

void delete_certificate(struct http_exchange *exchange, const struct route_match *match, void *arg)
{
        const char *name = route_param(match, "node");
        struct node_entry *node;
        struct call call;
        struct act *act;
        struct err err;

        if (!api_begin(arg, exchange, match, &call))
                return;
        int rc = access_need(&call.who, ACTION_OPERATE, NULL, "nodes", &err);
        node = nodes_find(call.live->nodes, name);
        if (rc == 0 && (!node || node->enrolment.id == 0))
                rc = err_set(&err, ERR_NOT_FOUND, "node '%s' is not enrolled", name);
        if (rc < 0) {
                api_fail(&call, &err);
                return;
        }
        if (!(act = api_act(&call)))
                return;
        uint64_t id = node->enrolment.id;
        if (enrolment_end(call.live, act, node, "revoked", &err) < 0) {
                undo(&call, act, &err);
                return;
        }
        api_end_wait(node);
        api_commit(&call, act, 200, json_pack("{s:s,s:I,s:s}", "node", name, "enrolment",
                                              (json_int_t)id, "state", "revoked"));
}
