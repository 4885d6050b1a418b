/* tokens.h - bearer tokens: who holds one, and what it lets them do.
 *
 * Not pure: the store, and chance for new ones. One thread: that of the loop. Only hashes are kept
 * (net/token.h); the text is told once, to who makes it.
 *
 * A token is a role, of one tenant, of the pool, or of one node, in the name of a principal. It
 * never gives more than the policy in force gives that principal: who leaves the policy, or loses a
 * tenant there, loses it with every token. Tokens of the pool's roles may also be of names that the
 * policy does not have (a scraper of metrics). An agent's token lets through what its node's agent
 * sends, and nothing else. A join token lets its node have its first certificate, once
 * (enrolment.h).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "controller/access.h"
#include "net/token.h"

struct act;
struct core;
struct err;

#define TOKENS_MAX        65536u        /* live ones */
#define TOKEN_LIFE_MS     INT64_C(7776000000)   /* 90 days, where nothing is said; agents': ever */
#define TOKEN_LIFE_MS_MAX INT64_C(31622400000)  /* 366 days */
#define JOIN_LIFE_MS      INT64_C(3600000)      /* a join token's, where nothing is said */
#define JOIN_LIFE_MS_MAX  INT64_C(604800000)    /* 7 days */

/* X(name, word): roles of a tenant, of the pool, of a node. */
#define TOKEN_ROLES(X)                          \
        X(VIEWER,    "viewer")                  \
        X(SUBMITTER, "submitter")               \
        X(TENANT_ADMIN, "tenant-admin")         \
        X(AUDITOR,   "auditor")                 \
        X(OPERATOR,  "operator")                \
        X(AGENT,     "agent")                   \
        X(JOIN,      "join")            /* of a node that enrols; once */ \
        X(GATEWAY,   "gateway")         /* reserved: none is made yet */

enum token_role {
#define X(name, word) TOKEN_ROLE_##name,
        TOKEN_ROLES(X)
#undef X
        TOKEN_ROLES_END
};

const char *token_role_word(enum token_role role);
/* TOKEN_ROLES_END: it is none. */
enum token_role token_role_of(const char *word);
static inline bool token_role_is_tenants(enum token_role role)
{
        return role <= TOKEN_ROLE_TENANT_ADMIN;
}

struct token_entry {
        uint64_t id;
        uint8_t hash[TOKEN_HASH_BYTES];
        uint8_t role;                   /* enum token_role */
        char principal[WHO_NAME_MAX];
        char tenant[TENANT_PATH_MAX];   /* "": of the pool, or of a node */
        char node[128];                 /* AGENT, JOIN */
        char made_by[WHO_NAME_MAX];
        int64_t made_ms, until_ms;      /* until 0: it does not expire */
};

struct tokens;

/* Those of the store; read anew whenever the core's state is. 0, -ERR_IO, -ERR_NOMEM. */
int tokens_open(struct core *core, struct tokens **ret_tokens, struct err *err);
void tokens_free(struct tokens *tokens);                /* NULL is fine */

/* The token of the header Authorization. NULL: it is unknown, expired, revoked, mistyped or no
 * token of ours; which of these is for nobody to know. */
const struct token_entry *tokens_find(const struct tokens *tokens, const char *header,
                                      int64_t now_ms);
/* What it lets its holder do under that policy (NULL: none is in force). May be nothing. */
void token_who(const struct token_entry *token, const struct tenancy *tenancy,
               struct who *ret_who);

/* Walks all, the oldest first; start with 0. Those that have expired too. NULL: the end. Pointers
 * live until the next one is made or revoked. */
const struct token_entry *tokens_next(const struct tokens *tokens, uint32_t *cursor);
const struct token_entry *tokens_get(const struct tokens *tokens, uint64_t id);

/* A new one, of which id, hash and made_ms are given here. 0, -ERR_FULL, -ERR_NOMEM, -ERR_INPUT. */
int tokens_make(struct tokens *tokens, struct act *act, const struct token_entry *wish,
                char ret_text[TOKEN_TEXT_MAX], uint64_t *ret_id, struct err *err);
/* It is refused from now on. 0, -ERR_FULL, -ERR_NOMEM. */
int tokens_revoke(struct tokens *tokens, struct act *act, uint64_t id, struct err *err);
/* The same, for a join token has done what it is for. */
int tokens_use_up(struct tokens *tokens, struct act *act, uint64_t id, struct err *err);
