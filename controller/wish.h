/* wish.h - what the owner of running work wants, as a note in the log.
 *
 * Pure apart from the heap. It is carried out when the work's processes are gone; until then it
 * must outlive the controller. A note's body is {"wish":"cancel","workload":17}.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/works.h"

struct text;

/* The body of the note; `out` is failed where memory runs out. */
void wish_note_write(uint64_t workload, enum work_wish wish, struct text *out);
/* False: the note is about something else. */
bool wish_note_read(const void *body, size_t size, uint64_t *ret_workload,
                    enum work_wish *ret_wish);
