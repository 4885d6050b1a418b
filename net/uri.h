/* uri.h - percent-encoding and query strings, strictly.
 *
 * Pure. A name may hold any UTF-8 but control bytes; "%2F" is a slash inside a name and divides
 * nothing. Refused: a '%' without two hex digits, bytes that come out as control bytes or no
 * UTF-8, more bytes than there is room for.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct err;

#define URI_VALUE_MAX   1024 /* bytes of one decoded value, with its NUL */
#define QUERY_PAIRS_MAX 32

/* Decodes `length` bytes into ret_text of `size` bytes, terminated. With `plus_is_space` as queries
 * have it. 0 or -ERR_INPUT, and then ret_text is "". */
int uri_decode(const char *bytes, size_t length, bool plus_is_space, char *ret_text, size_t size,
               struct err *err);

/* Writes `text` so that uri_decode() gives it back, as one path segment or query value. False: no
 * room, and then ret_text is "". */
bool uri_encode(const char *text, char *ret_text, size_t size);

/* The value of `name` in "a=1&b=two". 1: found; 0: absent, and ret_value is untouched (so a default
 * is what stood there); -ERR_INPUT: malformed, or the name comes twice. */
int query_get(const char *query, const char *name, char *ret_value, size_t size, struct err *err);

/* Whether every name in the query is one of `names`, at most once, and all of it is well formed:
 * 0 or -ERR_INPUT with near names. */
int query_check(const char *query, const char *const *names, size_t count, struct err *err);
