/* replay_out.h - a replay's result as tables, JSON and a curve.
 *
 * What is made depends on scenario and result alone. `is_whole` is false when the
 * run was stopped: then only finished runs are in the result, and the output says so.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct err;
struct policy;
struct replay_result;
struct scenario;

/* "auto", "random:7" (the seed only where it is not the default). Returns buf. */
#define PLACEMENT_TEXT_MAX 48
const char *placement_text(const struct policy *policy, char buf[PLACEMENT_TEXT_MAX]);

/* Tables for people, no wider than `width` where that can be helped. 0 or -ERR_NOMEM. */
int replay_table(const struct scenario *scenario, const struct replay_result *result,
                 bool is_whole, size_t width, FILE *file, struct err *err);

/* *ret_text is freed with mem_free(). 0 or -ERR_NOMEM. */
int replay_json(const struct scenario *scenario, const struct replay_result *result, bool is_whole,
                char **ret_text, size_t *ret_size, struct err *err);
int replay_svg(const struct scenario *scenario, const struct replay_result *result, bool is_whole,
               char **ret_text, size_t *ret_size, struct err *err);

/* Whether there is a curve to draw; else the sentence says why not. */
bool replay_has_curve(const struct scenario *scenario, struct err *err);
