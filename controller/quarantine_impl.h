/* quarantine_impl.h - shared by quarantine*.c. */
#pragma once

#include "controller/quarantine.h"

#define QUARANTINE_CRASHES_KEPT 8       /* of one entry */
#define QUARANTINE_STACK_MAX    4096    /* bytes of one crash */

struct quarantine {
        struct core *core;
        struct quarantine_entry list[QUARANTINE_MAX];   /* in the order of their numbers */
        uint32_t count;
        uint64_t last_id;
        uint64_t crashes, refused;
};

/* Its place in the list, or `count`. */
uint32_t quarantine_find(const struct quarantine *quarantine, enum crash_of of,
                         const struct quarantine_marks *marks);
size_t quarantine_crashes_of(const struct quarantine_entry *entry);
int64_t quarantine_crash_ms(const struct quarantine_entry *entry, size_t number);
/* From `about`: the other fields. */
void quarantine_read_about(struct quarantine_entry *entry);
/* For who reads the log. 0, -ERR_FULL, -ERR_NOMEM. */
int quarantine_note(struct act *act, const char *what, const struct quarantine_entry *entry,
                    struct err *err);
/* It leaves the list, and is kept as ended, with the word for why. As quarantine_note(). */
int quarantine_end(struct quarantine *quarantine, struct act *act, uint32_t at, const char *state,
                   struct err *err);
