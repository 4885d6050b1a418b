#include "controller/tokens.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/core.h"

struct tokens {
        struct core *core;
        struct token_entry *list;       /* in the order of their numbers */
        uint32_t count, room;
        struct map by_hash;             /* its first 8 bytes: index */
        uint64_t last_id;
};

/* ---- roles ---- */

static const char *const role_words[TOKEN_ROLES_END] = {
#define X(name, word) word,
        TOKEN_ROLES(X)
#undef X
};

const char *token_role_word(enum token_role role)
{
        return role_words[role];
}

enum token_role token_role_of(const char *word)
{
        unsigned role = 0;

        if (str_equal(word, TENANT_ADMIN_BEFORE))
                return TOKEN_ROLE_TENANT_ADMIN;
        while (role < TOKEN_ROLES_END && !str_equal(role_words[role], word))
                role++;
        return (enum token_role)role;
}

/* ---- the list ---- */

static uint64_t key_of(const uint8_t hash[TOKEN_HASH_BYTES])
{
        uint64_t key;

        memcpy(&key, hash, sizeof key);
        return key;
}

static int add(struct tokens *tokens, const struct token_entry *entry, struct err *err)
{
        if (tokens->count == TOKENS_MAX)
                return err_set(err, ERR_FULL, "there are %u tokens, the most there may be: revoke "
                                              "some", TOKENS_MAX);
        struct token_entry *grown = mem_grow(tokens->list, tokens->count, &tokens->room, 64,
                                             sizeof *grown);
        if (!grown)
                return err_set(err, ERR_NOMEM, "out of memory");
        tokens->list = grown;
        if (map_set(&tokens->by_hash, key_of(entry->hash), tokens->count) < 0)
                return err_set(err, ERR_NOMEM, "out of memory");
        tokens->list[tokens->count++] = *entry;
        return 0;
}

static void drop(struct tokens *tokens, uint32_t at)
{
        (void)map_remove(&tokens->by_hash, key_of(tokens->list[at].hash));
        tokens->count--;
        for (; at < tokens->count; at++) {
                tokens->list[at] = tokens->list[at + 1];
                /* Replaces: there is room. */
                (void)map_set(&tokens->by_hash, key_of(tokens->list[at].hash), at);
        }
}

const struct token_entry *tokens_next(const struct tokens *tokens, uint32_t *cursor)
{
        return *cursor < tokens->count ? &tokens->list[(*cursor)++] : NULL;
}

const struct token_entry *tokens_get(const struct tokens *tokens, uint64_t id)
{
        uint32_t low = 0, high = tokens->count;

        while (low < high) {
                uint32_t middle = low + (high - low) / 2;
                if (tokens->list[middle].id < id)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low < tokens->count && tokens->list[low].id == id ? &tokens->list[low] : NULL;
}

const struct token_entry *tokens_find(const struct tokens *tokens, const char *header,
                                      int64_t now_ms)
{
        uint8_t hash[TOKEN_HASH_BYTES];
        struct token token;

        if (token_from_header(header, &token, NULL) < 0)
                return NULL;
        token_hash(&token, hash);
        token_wipe(&token, sizeof token);
        uint32_t at = map_get(&tokens->by_hash, key_of(hash));
        if (at == MAP_NONE || !token_hash_equal(tokens->list[at].hash, hash))
                return NULL;
        const struct token_entry *entry = &tokens->list[at];
        return entry->until_ms == 0 || now_ms < entry->until_ms ? entry : NULL;
}

/* ---- what it gives ---- */

/* What both give: the narrower tenant, and the lesser role. */
static void take_grants(const struct token_entry *token, const struct who *principal,
                        struct who *who)
{
        uint8_t role = (uint8_t)(ROLE_VIEWER + (token->role - TOKEN_ROLE_VIEWER));

        for (unsigned g = 0; g < principal->grants_count; g++) {
                const char *theirs = principal->grants[g].tenant;
                const char *both = tenant_is_below(token->tenant, theirs)   ? token->tenant
                                   : tenant_is_below(theirs, token->tenant) ? theirs
                                                                            : NULL;
                if (!both)
                        continue;
                (void)str_copy(who->grants[who->grants_count].tenant,
                               sizeof who->grants[0].tenant, both);
                who->grants[who->grants_count++].role =
                        role < principal->grants[g].role ? role : principal->grants[g].role;
        }
}

void token_who(const struct token_entry *token, const struct tenancy *tenancy, struct who *ret_who)
{
        struct who who = {0}, principal;
        bool is_known = access_of_principal(token->principal, tenancy, &principal);
        uint8_t pool_role = token->role == TOKEN_ROLE_OPERATOR  ? POOL_ROLE_OPERATOR
                            : token->role == TOKEN_ROLE_AUDITOR ? POOL_ROLE_AUDITOR
                                                                : POOL_ROLE_NONE;

        (void)str_copy(who.name, sizeof who.name, token->principal);
        if (token->role == TOKEN_ROLE_AGENT || token->role == TOKEN_ROLE_JOIN) {
                who.proof = token->role == TOKEN_ROLE_JOIN ? NODE_BY_JOIN_TOKEN : NODE_BY_TOKEN;
                (void)snprintf(who.name, sizeof who.name, "node %.58s", token->node);
                (void)str_copy(who.node, sizeof who.node, token->node);
        } else if (token_role_is_tenants(token->role)) {
                if (is_known && principal.pool_role != POOL_ROLE_OPERATOR)
                        take_grants(token, &principal, &who);
                else if (is_known) {
                        (void)str_copy(who.grants[0].tenant, sizeof who.grants[0].tenant,
                                       token->tenant);
                        who.grants[0].role = token->role;
                        who.grants_count = 1;
                }
        } else if (!is_known || principal.pool_role >= pool_role) {
                who.pool_role = pool_role;
        }
        if (is_known)
                (void)str_copy(who.run_as, sizeof who.run_as, principal.run_as);
        *ret_who = who;
}
_Static_assert((int)TOKEN_ROLE_VIEWER == (int)ROLE_VIEWER &&
                       (int)TOKEN_ROLE_TENANT_ADMIN == (int)ROLE_TENANT_ADMIN,
               "roles of tenants have the numbers of the policy's");

/* ---- the store ---- */

static bool take_text(const char *text, char *ret_text, size_t size)
{
        return !text || str_copy(ret_text, size, text);
}

static int see_token(void *arg, const struct object *object, struct err *err)
{
        struct tokens *tokens = arg;
        json_t *detail = json_loads(object->detail, 0, NULL);
        struct token_entry entry = {
                .id = object->id,
                .role = (uint8_t)token_role_of(object->class),
                .made_ms = object->created_ms,
                .until_ms = json_integer_value(json_object_get(detail, "until_ms"))};
        bool ok = entry.role < TOKEN_ROLES_END &&
                  token_hash_parse(json_string_value(json_object_get(detail, "hash")),
                                   entry.hash) &&
                  take_text(object->name, entry.principal, sizeof entry.principal) &&
                  take_text(object->tenant, entry.tenant, sizeof entry.tenant) &&
                  take_text(object->owner, entry.made_by, sizeof entry.made_by) &&
                  take_text(json_string_value(json_object_get(detail, "node")), entry.node,
                            sizeof entry.node);

        json_decref(detail);
        /* One that cannot be read lets nobody in, and nobody else is kept out for it. */
        return ok ? add(tokens, &entry, err) : 0;
}

static int load(struct tokens *tokens, struct err *err)
{
        const struct object_filter filter = {.kind = OBJECT_TOKEN, .live = true,
                                             .oldest_first = true};
        struct store *store = core_view(tokens->core);
        int rc;

        tokens->count = 0;
        map_clear(&tokens->by_hash);
        rc = objects_list(store, &filter, see_token, tokens, err);
        return rc ? rc : objects_last(store, OBJECT_TOKEN, &tokens->last_id, err);
}

/* Where it cannot be read nobody has a token until the next time. */
static void on_renewed(void *arg)
{
        struct tokens *tokens = arg;

        if (load(tokens, NULL) < 0) {
                tokens->count = 0;
                map_clear(&tokens->by_hash);
        }
}

static int put(struct tokens *tokens, struct act *act, const struct token_entry *entry,
               struct err *err)
{
        char hex[TOKEN_HASH_TEXT_MAX];
        struct object object = {.kind = OBJECT_TOKEN,
                                .id = entry->id,
                                .tenant = entry->tenant,
                                .name = entry->principal,
                                .class = token_role_word(entry->role),
                                .owner = entry->made_by,
                                .state = "live",
                                .created_ms = entry->made_ms,
                                .updated_ms = entry->made_ms};
        json_t *detail;
        char *text;
        int rc;

        (void)tokens;
        token_hash_text(entry->hash, hex);
        detail = json_pack("{s:s,s:I,s:s}", "hash", hex, "until_ms", (json_int_t)entry->until_ms,
                           "node", entry->node);
        text = detail ? json_dumps(detail, JSON_COMPACT) : NULL;
        json_decref(detail);
        if (!text)
                return err_set(err, ERR_NOMEM, "out of memory");
        object.detail = text;
        rc = core_put(act, &object, err);
        free(text);
        return rc;
}

/* For who reads the log. */
static int note(struct act *act, const char *what, const struct token_entry *entry,
                struct err *err)
{
        json_t *json = json_pack("{s:{s:I,s:s,s:s,s:s,s:s}}", what, "id", (json_int_t)entry->id,
                                 "principal", entry->principal, "role",
                                 token_role_word(entry->role), "tenant", entry->tenant, "node",
                                 entry->node);
        char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
        int rc = text ? core_note(act, text, err) : err_set(err, ERR_NOMEM, "out of memory");

        free(text);
        json_decref(json);
        return rc;
}

int tokens_make(struct tokens *tokens, struct act *act, const struct token_entry *wish,
                char ret_text[TOKEN_TEXT_MAX], uint64_t *ret_id, struct err *err)
{
        struct token_entry entry = *wish;
        struct token token;
        int rc;

        entry.id = tokens->last_id + 1;
        entry.made_ms = core_now_ms(tokens->core);
        do {
                token_make(&token);
                token_hash(&token, entry.hash);
        } while (map_get(&tokens->by_hash, key_of(entry.hash)) != MAP_NONE);
        rc = note(act, "token_made", &entry, err);
        if (rc == 0)
                rc = put(tokens, act, &entry, err);
        if (rc == 0)
                rc = add(tokens, &entry, err);
        if (rc == 0) {
                token_text(&token, ret_text);
                *ret_id = tokens->last_id = entry.id;
        }
        token_wipe(&token, sizeof token);
        return rc;
}

static int end(struct tokens *tokens, struct act *act, uint64_t id, const char *state,
               const char *event, struct err *err)
{
        int64_t now_ms = core_now_ms(tokens->core);
        const struct object_change change = {.kind = OBJECT_TOKEN, .id = id, .state = state,
                                             .updated_ms = now_ms, .ended_ms = now_ms};
        uint32_t at = 0;
        int rc;

        while (at < tokens->count && tokens->list[at].id != id)
                at++;
        if (at == tokens->count)
                return err_set(err, ERR_NOT_FOUND, "there is no token %" PRIu64, id);
        rc = note(act, event, &tokens->list[at], err);
        if (rc == 0)
                rc = core_set(act, &change, err);
        if (rc == 0)
                drop(tokens, at);
        return rc;
}

int tokens_revoke(struct tokens *tokens, struct act *act, uint64_t id, struct err *err)
{
        return end(tokens, act, id, "revoked", "token_revoked", err);
}

int tokens_use_up(struct tokens *tokens, struct act *act, uint64_t id, struct err *err)
{
        return end(tokens, act, id, "used", "token_used", err);
}

/* ---- life ---- */

int tokens_open(struct core *core, struct tokens **ret_tokens, struct err *err)
{
        struct tokens *tokens = mem_new(1, sizeof *tokens);
        int rc;

        if (!tokens)
                return err_set(err, ERR_NOMEM, "out of memory");
        tokens->core = core;
        map_init(&tokens->by_hash, TOKENS_MAX);
        rc = load(tokens, err);
        if (rc) {
                tokens_free(tokens);
                return rc;
        }
        core_watch(core, &(struct core_watch){.arg = tokens, .renewed = on_renewed});
        *ret_tokens = tokens;
        return 0;
}

void tokens_free(struct tokens *tokens)
{
        if (!tokens)
                return;
        map_done(&tokens->by_hash);
        mem_free(tokens->list);
        mem_free(tokens);
}
