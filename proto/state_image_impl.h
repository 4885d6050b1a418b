/* state_image_impl.h - the inside of state_image.h, for proto/state_image*.c only.
 *
 * state_image.c has the pool's tables, state_image_accounts.c what a policy keeps, and
 * state_image_check.c holds what was read against what the engine relies on.
 */
#pragma once

#include "proto/image.h"

struct accounts;
struct state;
struct tenancy;

/* -ERR_INPUT with "snapshot: what". */
int state_image_differs(const char *what, struct err *err);
/* As image_read_numbers() and image_read_rows(), of exactly so many. */
int state_image_numbers(struct image_in *in, const char *name, enum field_kind kind,
                        void *numbers, size_t count, struct err *err);
int state_image_rows(struct image_in *in, const char *name, const struct fields *fields, void *rows,
                     size_t count, size_t stride, struct err *err);

/* `accounts`: NULL when no policy is in force. */
void state_image_write_accounts(const struct accounts *accounts, struct text *out);
/* Accounts for the tenancy, with what the image keeps of them; NULL, and 0, when there is no
 * policy. -ERR_INPUT: the image was made under another one. */
int state_image_read_accounts(struct image_in *in, const struct tenancy *tenancy,
                              struct accounts **ret_accounts, struct err *err);

/* Whether the rows can be followed: every link leads to a row in use, every list holds each of its
 * rows once and has the length that is told, numbers that name something are below its end. Changes
 * nothing, costs O(rows). 0, -ERR_INPUT with the table, the row and what is wrong with it, or
 * -ERR_NOMEM. What sums come to is not looked at: state_check() of tests does. */
int state_image_check(const struct state *state, struct err *err);
/* ... and when every key has been entered, that none stands twice. */
int state_image_check_keys(const struct state *state, struct err *err);
