/* token.h - bearer tokens.
 *
 * Not pure: chance of the system (libsodium). Thread safe.
 *
 * A token is 256 random bits, written "berth_" + 43 digits + 6 digits of checksum, base64url. The
 * prefix lets secret scanners find it, the checksum tells a mistyped token from an unknown one (and
 * any single wrong character is seen) without asking anybody. Who keeps tokens keeps their hash:
 * what is random needs no salt and no slow hash.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct err;

#define TOKEN_BYTES      32
#define TOKEN_HASH_BYTES 32
#define TOKEN_TEXT_MAX   56 /* "berth_", 49 digits, NUL */
#define TOKEN_PREFIX     "berth_"

struct token {
        uint8_t bytes[TOKEN_BYTES]; /* secret: token_wipe() when done */
};

void token_make(struct token *ret_token);
void token_wipe(void *secret, unsigned long size);

void token_text(const struct token *token, char ret_text[TOKEN_TEXT_MAX]);
/* -ERR_INPUT: no token of ours, or mistyped. The sentence does not repeat the text. */
int token_parse(const char *text, struct token *ret_token, struct err *err);

/* The value of the header Authorization: "Bearer berth_...". -ERR_NOT_FOUND: no header (NULL);
 * -ERR_INPUT: another scheme, or no token of ours. */
int token_from_header(const char *value, struct token *ret_token, struct err *err);

/* BLAKE2b-256 of the token's bytes: what is stored and looked for. */
void token_hash(const struct token *token, uint8_t ret_hash[TOKEN_HASH_BYTES]);
/* In a time that does not depend on where they differ. */
bool token_hash_equal(const uint8_t a[TOKEN_HASH_BYTES], const uint8_t b[TOKEN_HASH_BYTES]);

/* A hash as text, of hex digits, and back (false: it is none; NULL too). */
#define TOKEN_HASH_TEXT_MAX (2 * TOKEN_HASH_BYTES + 1)
void token_hash_text(const uint8_t hash[TOKEN_HASH_BYTES], char ret_text[TOKEN_HASH_TEXT_MAX]);
bool token_hash_parse(const char *text, uint8_t ret_hash[TOKEN_HASH_BYTES]);
