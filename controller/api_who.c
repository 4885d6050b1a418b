/* Who asks: by the socket, a token, or a certificate; and whether they ask too often. */
#include "controller/api_handlers.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "controller/crash.h"
#include "controller/live.h"
#include "controller/nodes.h"
#include "controller/persons.h"
#include "controller/tokens.h"
#include "net/identity.h"
#include "net/problem.h"

/* The same for whatever is wrong with it. */
static const struct err bad_token = {
        ERR_DENIED, "this token is not valid here: ask an operator, or a tenant-admin, "
                    "for a new one"};

static void be_node(struct call *call, const char *node, enum node_proof proof)
{
        (void)snprintf(call->who.name, sizeof call->who.name, "node %.58s", node);
        (void)str_copy(call->who.node, sizeof call->who.node, node);
        call->who.proof = (uint8_t)proof;
}

/* A join token that was used up is known to the enrolment it began: its answer may be lost. */
static bool by_used_token(struct call *call, const char *header)
{
        const struct node_entry *node;
        uint8_t hash[TOKEN_HASH_BYTES];
        struct token token;

        if (!str_equal(call->match->route->operation, "postCertificate") ||
            token_from_header(header, &token, NULL) < 0)
                return false;
        token_hash(&token, hash);
        token_wipe(&token, sizeof token);
        node = nodes_find(call->live->nodes, route_param(call->match, "node"));
        if (!node || node->enrolment.id == 0 || !token_hash_equal(hash, node->enrolment.token))
                return false;
        be_node(call, node->name, NODE_BY_JOIN_TOKEN);
        call->token_is_used = true;
        return true;
}

static int by_token(struct call *call, const char *header, struct err *err)
{
        const struct token_entry *token = tokens_find(call->api->tokens, header, api_now_ms());

        if (!token && by_used_token(call, header))
                return 0;
        if (!token) {
                *err = bad_token;
                return 401;
        }
        token_who(token, core_tenancy(call->live->core), &call->who);
        call->token = token->id;
        call->token_until_ms = token->until_ms;
        return 0;
}

static int by_uid(struct call *call, uint32_t uid, struct err *err)
{
        access_of_uid(uid, call->api->own_uid, core_tenancy(call->live->core), &call->who);
        if (call->who.pool_role != POOL_ROLE_NONE || call->who.grants_count > 0)
                return 0;
        char number[32] = "";
        if (strncmp(call->who.name, "uid ", 4) != 0)    /* who has no name here is called so */
                (void)snprintf(number, sizeof number, " (uid %u)", uid);
        (void)err_set(err, ERR_DENIED,
                      "%s%s is no principal of this pool: ask an operator to add "
                      "'principals: [{name: ..., uid: %u, tenants: ...}]' to the policy",
                      call->who.name, number, uid);
        return 403;
}

/* "CN=ana,O=berth": the one name in it, of letters that need no escapes. */
static bool common_name(const char *subject, char ret_name[WHO_NAME_MAX])
{
        static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                      "0123456789._-";
        const char *at = strstr(subject, "CN=");
        size_t length = at ? strspn(at + 3, letters) : 0;

        if (!at || (at != subject && at[-1] != ',') || strstr(at + 3, "CN=") ||
            (at[3 + length] != '\0' && at[3 + length] != ',') || length == 0 ||
            length >= WHO_NAME_MAX)
                return false;
        memcpy(ret_name, at + 3, length);
        ret_name[length] = '\0';
        return true;
}

/* A connection may outlive what it began with, so all of it is looked at each time. */
static int by_node(struct call *call, const struct http_certificate *certificate, struct err *err)
{
        const struct node_entry *node;
        struct identity identity;

        if (!identity_of_uri(certificate->uri, &identity)) {
                (void)err_set(err, ERR_DENIED, "this certificate is of no node of this pool");
                return 401;
        }
        node = nodes_find(call->live->nodes, identity.node);
        if (!node || !node->described || node->enrolment.id != identity.enrolment)
                (void)err_set(err, ERR_DENIED,
                              "this certificate of node '%s' counts no longer: the node left the "
                              "pool, was enrolled anew, or its certificate was revoked; 'berth "
                              "token make --join --node %s' lets it enrol",
                              identity.node, identity.node);
        else if (api_now_ms() >= certificate->until_ms)
                (void)err_set(err, ERR_DENIED,
                              "this certificate of node '%s' has expired: 'berth token make --join "
                              "--node %s' lets it enrol anew",
                              identity.node, identity.node);
        else {
                be_node(call, node->name, NODE_BY_CERTIFICATE);
                return 0;
        }
        return 401;
}

static int by_certificate(struct call *call, const struct http_certificate *certificate,
                          struct err *err)
{
        char name[WHO_NAME_MAX];

        if (common_name(certificate->subject, name) &&
            access_of_principal(name, core_tenancy(call->live->core), &call->who))
                return 0;
        (void)err_set(err, ERR_DENIED, "this certificate is of no principal of this pool");
        return 401;
}

static int who_asks(struct call *call, struct err *err)
{
        const struct http_peer *peer = http_peer(call->exchange);
        const char *header = http_header(call->exchange, "Authorization");

        if (header)
                return by_token(call, header, err);
        if (peer->kind == HTTP_PEER_UNIX)
                return by_uid(call, peer->uid, err);
        if (peer->certificate && peer->certificate->is_own)
                return by_node(call, peer->certificate, err);
        if (peer->certificate)
                return by_certificate(call, peer->certificate, err);
        (void)err_set(err, ERR_DENIED, "a token or a client certificate is needed here");
        return 401;
}

/* What an agent sends, for its own node, by what it has shown. */
static bool is_own_node(const struct call *call)
{
        static const struct {
                const char *operation;
                bool by[NODE_BY_JOIN_TOKEN + 1];
        } rows[] = {
                {"postExchange", {[NODE_BY_TOKEN] = true, [NODE_BY_CERTIFICATE] = true}},
                {"postAnswer", {[NODE_BY_TOKEN] = true, [NODE_BY_CERTIFICATE] = true}},
                {"getAttachInput", {[NODE_BY_TOKEN] = true, [NODE_BY_CERTIFICATE] = true}},
                {"postAttachOutput", {[NODE_BY_TOKEN] = true, [NODE_BY_CERTIFICATE] = true}},
                {"postCertificate", {[NODE_BY_CERTIFICATE] = true, [NODE_BY_JOIN_TOKEN] = true}},
        };

        for (size_t r = 0; r < ARRAY_LEN(rows); r++)
                if (str_equal(call->match->route->operation, rows[r].operation))
                        return rows[r].by[call->who.proof] &&
                               str_equal(route_param(call->match, "node"), call->who.node);
        return false;
}

/* Before anything is looked at: who may nothing at all gets no further. */
static int may_ask(struct call *call, struct err *err)
{
        if (call->who.node[0] ? is_own_node(call)
                              : call->who.pool_role != POOL_ROLE_NONE || call->who.grants_count > 0)
                return 0;
        (void)err_set(err, ERR_DENIED, "%s may not do this", call->who.name);
        return 403;
}

static void refuse(struct call *call, int status, const struct err *err)
{
        if (status == 401)
                (void)http_answer_header(call->exchange, "WWW-Authenticate", "Bearer");
        problem_answer(call->exchange, (unsigned)status, err, NULL);
}

bool api_begin(struct api *api, struct http_exchange *exchange, const struct route_match *match,
               struct call *ret_call)
{
        struct err err = {0};
        int status;

        *ret_call = (struct call){.api = api, .live = api->live, .exchange = exchange,
                                  .match = match};
        status = who_asks(ret_call, &err);
        crash_asked_by(ret_call->who.name);
        if (status == 0)
                status = may_ask(ret_call, &err);
        if (status) {
                refuse(ret_call, status, &err);
                return false;
        }
        return api_not_too_often(ret_call) && !api_answered_before(ret_call);
}

int api_need_node(struct call *call, struct err *err)
{
        return call->who.node[0] ? 0 : access_need(&call->who, ACTION_OPERATE, NULL, "nodes", err);
}
