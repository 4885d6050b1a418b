/* place.h - which pool a command speaks to, and as whom.
 *
 * Not pure: the environment, and the file of contexts. In this order:
 *
 *     --context NAME        of the file of contexts
 *     BERTH_URL             with BERTH_TOKEN_FILE, BERTH_CA_FILE, BERTH_PIN
 *     BERTH_CONTEXT         a name, as above
 *     `berth context use`   the current one of the file
 *     unix:/run/berth/berthd.sock
 *
 * BERTH_TOKEN_FILE and BERTH_TENANT go before what a context says. The file is BERTH_CONTEXTS, or
 * berth/contexts.yaml in XDG_CONFIG_HOME (~/.config):
 *
 *     current: lab
 *     contexts:
 *       lab: {url: "https://pool.lab:7070", token_file: /home/ana/token, tenant: research/nlp}
 *
 * It holds no secrets: tokens stand in files of their own.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct err;

#define PLACE_CONTEXTS_MAX 64
#define PLACE_TEXT_MAX     1024 /* bytes of a value, with its NUL */
#define PLACE_NAME_MAX     64
#define PLACE_DEFAULT_URL  "unix:/run/berth/berthd.sock"

/* field, option of `berth context set`, what it is */
#define PLACE_FIELDS(X)                                                                         \
        X(url, "url", "URL", "set: where: https://host:port, or unix:/path of a socket")        \
        X(token_file, "token-file", "FILE", "set: holds the bearer token; yours alone to read") \
        X(ca_file, "ca-file", "FILE", "set: whom to believe: the authority's certificate")      \
        X(pin, "pin", "PIN", "set: ... or the server's public key: sha256//BASE64")             \
        X(certificate, "certificate", "FILE", "set: shown to the server; needs --key")          \
        X(key, "key", "FILE", "set: its private key")                                           \
        X(tenant, "tenant", "PATH", "set: whose work this is, where nothing else is said")

struct place {
        char name[PLACE_NAME_MAX]; /* of the context; "" where none was chosen */
#define X(field, option, value, help) char field[PLACE_TEXT_MAX]; /* "": not given */
        PLACE_FIELDS(X)
#undef X
};

struct places {
        char current[PLACE_NAME_MAX]; /* "": none */
        size_t count;
        struct place list[PLACE_CONTEXTS_MAX];
};

/* The path of the file. -ERR_NOT_FOUND: there is no home; -ERR_RANGE. */
int places_path(char *ret_path, size_t size, struct err *err);
/* *ret_places is freed with mem_free(); without a file it is empty. -ERR_INPUT with file:line,
 * -ERR_IO, -ERR_NOMEM, and those of places_path(). */
int places_load(struct places **ret_places, struct err *err);
/* Writes the file whole or not at all; makes its folder. -ERR_IO, -ERR_NOMEM. */
int places_save(const struct places *places, struct err *err);

/* NULL: there is none; `err` lists near ones. */
struct place *places_find(struct places *places, const char *name, struct err *err);

/* `context` is the option's value, or NULL. -ERR_NOT_FOUND, and those of places_load(). */
int place_choose(const char *context, struct place *ret_place, struct err *err);

/* The token of the file, blanks around it cut off. -ERR_NOT_FOUND, -ERR_IO; -ERR_INPUT: it holds
 * no token. Wipe it with token_wipe() (net/token.h) when done. */
int place_token(const char *file, char *ret_token, size_t size, struct err *err);
