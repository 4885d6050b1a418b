/* json_in.h - reading what a server answered, without trusting it.
 *
 * Pure. What is absent, null or of another type reads as "" or 0: a newer server may say more, an
 * older one less, and a table is printed all the same. Texts belong to the value.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define JSON_IN_MAX 256

const char *json_in_text(const json_t *object, const char *key);
int64_t json_in_number(const json_t *object, const char *key);
bool json_in_flag(const json_t *object, const char *key);
/* Of a decimal in a text, "12.5"; 0 where there is none. */
double json_in_decimal(const json_t *object, const char *key);
bool json_in_has(const json_t *object, const char *key); /* there, and not null */

/* Texts that follow are made fit for a terminal: base/str.h says what becomes '?'. */

/* The member as one reads it: a text as it is, "17", "yes", {"a": 1, "b": 2} as "a 1, b 2", a list
 * as "a, b"; of an object, what is empty is left out. Cut between letters at JSON_IN_MAX. "" for
 * null. Returns `buf`. */
const char *json_in_words(const json_t *object, const char *key, char buf[JSON_IN_MAX]);
/* The same of a whole value, not cut. */
void json_in_put_words(const json_t *value, FILE *file);
/* A text; cut. Returns `buf`. */
const char *json_in_clean(const json_t *object, const char *key, char buf[JSON_IN_MAX]);
/* Prints it whole. */
void json_in_put(const json_t *object, const char *key, FILE *file);
/* "3.4 h" of a number of milliseconds; "" when it is absent. Returns `buf`. */
const char *json_in_span(const json_t *object, const char *key, char buf[JSON_IN_MAX]);
