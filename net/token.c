#include "net/token.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include <sodium.h>

#include "base/err.h"
#include "base/str.h"

#define PREFIX_LENGTH (sizeof TOKEN_PREFIX - 1)
#define SECRET_DIGITS 43
#define SUM_DIGITS    6
#define TEXT_LENGTH   (PREFIX_LENGTH + SECRET_DIGITS + SUM_DIGITS)
#define BASE64        sodium_base64_VARIANT_URLSAFE_NO_PADDING

_Static_assert(TEXT_LENGTH + 1 == TOKEN_TEXT_MAX, "room for the text and its NUL");
_Static_assert(SECRET_DIGITS == (TOKEN_BYTES * 8 + 5) / 6, "base64 of the secret");

static void need_sodium(void)
{
        int rc = sodium_init(); /* thread safe, and nothing the second time */

        assert(rc >= 0);
}

/* CRC-32: sees every burst of up to 32 wrong bits, so each single wrong digit for certain. */
static uint32_t checksum(const char *text, size_t size)
{
        uint32_t crc = 0xffffffff;

        for (size_t i = 0; i < size; i++) {
                crc ^= (unsigned char)text[i];
                for (int bit = 0; bit < 8; bit++)
                        crc = crc >> 1 ^ (0xedb88320u & (0u - (crc & 1)));
        }
        return ~crc;
}

void token_make(struct token *ret_token)
{
        need_sodium();
        randombytes_buf(ret_token->bytes, sizeof ret_token->bytes);
}

void token_wipe(void *secret, unsigned long size)
{
        sodium_memzero(secret, size);
}

void token_text(const struct token *token, char ret_text[TOKEN_TEXT_MAX])
{
        memcpy(ret_text, TOKEN_PREFIX, PREFIX_LENGTH);
        sodium_bin2base64(ret_text + PREFIX_LENGTH, SECRET_DIGITS + 1, token->bytes, TOKEN_BYTES,
                          BASE64);
        uint32_t sum = checksum(ret_text, PREFIX_LENGTH + SECRET_DIGITS);
        uint8_t bytes[4] = {(uint8_t)(sum >> 24), (uint8_t)(sum >> 16), (uint8_t)(sum >> 8),
                            (uint8_t)sum};
        sodium_bin2base64(ret_text + PREFIX_LENGTH + SECRET_DIGITS, SUM_DIGITS + 1, bytes,
                          sizeof bytes, BASE64);
}

int token_parse(const char *text, struct token *ret_token, struct err *err)
{
        struct token token;
        char again[TOKEN_TEXT_MAX];
        size_t size = 0;

        if (strncmp(text, TOKEN_PREFIX, PREFIX_LENGTH) != 0 || strlen(text) != TEXT_LENGTH)
                return err_set(err, ERR_INPUT, "a token is '" TOKEN_PREFIX "' and %d characters",
                               SECRET_DIGITS + SUM_DIGITS);
        need_sodium();
        int rc = sodium_base642bin(token.bytes, sizeof token.bytes, text + PREFIX_LENGTH,
                                   SECRET_DIGITS, NULL, &size, NULL, BASE64);
        /* Written again it must be the same text: that is the checksum, and the one way to write
         * it. */
        if (rc == 0 && size == sizeof token.bytes)
                token_text(&token, again);
        if (rc < 0 || size != sizeof token.bytes || sodium_memcmp(again, text, TEXT_LENGTH) != 0)
                rc = err_set(err, ERR_INPUT, "the token is mistyped: its checksum is wrong");
        else
                *ret_token = token;
        sodium_memzero(&token, sizeof token);
        sodium_memzero(again, sizeof again);
        return rc;
}

int token_from_header(const char *value, struct token *ret_token, struct err *err)
{
        if (!value)
                return err_set(err, ERR_NOT_FOUND, "no header 'Authorization: Bearer ...'");
        char scheme[8] = "";
        size_t length = strcspn(value, " ");
        if (length < sizeof scheme)
                memcpy(scheme, value, length);
        if (!str_equal_nocase(scheme, "bearer") || !value[length])
                return err_set(err, ERR_INPUT, "Authorization must be 'Bearer' and a token");
        value += length;
        return token_parse(value + strspn(value, " "), ret_token, err);
}

void token_hash(const struct token *token, uint8_t ret_hash[TOKEN_HASH_BYTES])
{
        need_sodium();
        crypto_generichash(ret_hash, TOKEN_HASH_BYTES, token->bytes, sizeof token->bytes, NULL, 0);
}

bool token_hash_equal(const uint8_t a[TOKEN_HASH_BYTES], const uint8_t b[TOKEN_HASH_BYTES])
{
        return sodium_memcmp(a, b, TOKEN_HASH_BYTES) == 0;
}

void token_hash_text(const uint8_t hash[TOKEN_HASH_BYTES], char ret_text[TOKEN_HASH_TEXT_MAX])
{
        (void)sodium_bin2hex(ret_text, TOKEN_HASH_TEXT_MAX, hash, TOKEN_HASH_BYTES);
}

bool token_hash_parse(const char *text, uint8_t ret_hash[TOKEN_HASH_BYTES])
{
        size_t size = 0;

        return text && strlen(text) == TOKEN_HASH_TEXT_MAX - 1 &&
               sodium_hex2bin(ret_hash, TOKEN_HASH_BYTES, text, strlen(text), NULL, &size, NULL) ==
                       0 &&
               size == TOKEN_HASH_BYTES;
}
