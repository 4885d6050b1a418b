/* json_out.h - jansson's values as the text of an output.
 *
 * Pure apart from the heap. jansson takes NULL as a failed value and passes the failure on; so do
 * these: it shows at the end, once.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>

struct err;

/* A mean of whole numbers that is one, is written as one; what is no number, as null. */
json_t *json_out_number(double value);

/* Appends `value` and the end of its line to the *text of *size bytes (NULL and 0: there is none
 * yet), which grows and is freed with mem_free(). `value` is taken, after a failure too. `layout`
 * is JSON_COMPACT or JSON_INDENT(n). 0, or -ERR_NOMEM with the text unchanged. */
int json_out_add(json_t *value, size_t layout, char **text, size_t *size, struct err *err);

/* The text of one value, indented for people. `value` is taken; *ret_text is freed with
 * mem_free(). 0 or -ERR_NOMEM. */
int json_out_text(json_t *value, char **ret_text, size_t *ret_size, struct err *err);

/* The same into a file, or with "-" to standard output. `value` is taken. 0, -ERR_IO,
 * -ERR_NOMEM. */
int json_out_file(json_t *value, const char *path, struct err *err);
