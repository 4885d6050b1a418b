/* history_out.h - the figures of a replayed history as tables and as JSON.
 *
 * What is made depends on scenario and result alone. `is_whole` is false when the run was stopped:
 * then only finished seeds are in the result, and the output says so.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct err;
struct history_result;
struct history_row;
struct scenario;

/* "consolidate", or as placement_text(). `buf` of PLACEMENT_TEXT_MAX bytes. */
const char *history_placement_text(const struct history_row *row, char *buf);

/* Tables for people, no wider than `width` where that can be helped. 0 or -ERR_NOMEM. */
int history_table(const struct scenario *scenario, const struct history_result *result,
                  bool is_whole, size_t width, FILE *file, struct err *err);

/* What has to be known of the history before a figure is believed: a line for each file, none where
 * there is nothing. `who` stands in front. */
void history_notes(const struct scenario *scenario, const struct history_result *result,
                   const char *who, FILE *out);

/* One object a line, for each policy and placement. *ret_text is freed with mem_free(). 0 or
 * -ERR_NOMEM. */
int history_json(const struct scenario *scenario, const struct history_result *result,
                 bool is_whole, char **ret_text, size_t *ret_size, struct err *err);
