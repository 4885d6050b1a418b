/* problem.h - refusals as documents (RFC 9457, application/problem+json).
 *
 * Pure apart from the heap, but for problem_answer. The sentence of a `struct err` reaches the user
 * as it is, in "detail":
 *
 *     {"type": "/problems/quota_exceeded", "title": "quota exceeded", "status": 403,
 *      "detail": "tenant 'nlp' holds 8 of 8 devices and asked for 2 more", ...}
 *
 * "type" names the code of base/err.h, or the status where that says more ("/problems/http-405").
 */
#pragma once

#include <stddef.h>

#include <jansson.h>

struct err;
struct http_exchange;
struct text;

#define PROBLEM_TYPE "application/problem+json"

/* The status that fits a code (either sign): 400 for invalid_input, 404 for not_found, ... */
unsigned problem_status(int code);

/* "Not Found"; "" for a status that has no name here. */
const char *problem_status_title(unsigned status);

/* Adds the document to `text`. `status` 0: problem_status(err->code). The members of `extra` (an
 * object, borrowed, may be NULL) follow; a name of RFC 9457 in it is a mistake of ours.
 * Out of memory fails the text. */
void problem_write(struct text *text, unsigned status, const struct err *err, const json_t *extra);

/* Answers an exchange with the document (or, out of memory, with the bare status). */
void problem_answer(struct http_exchange *exchange, unsigned status, const struct err *err,
                    const json_t *extra);
