/* timeline.h - what will happen, soonest first. Equal times: by kind, then as they were added. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event {
        int64_t at_ms;
        uint64_t number;                /* given by timeline_add */
        uint32_t kind;
        uint32_t what;                  /* the caller's */
        uint32_t run;                   /* the caller's: to tell an event that has become void */
};

struct timeline {
        struct event *events;           /* a heap */
        size_t count;
        uint32_t room;
        uint64_t added;
};

void timeline_done(struct timeline *timeline);          /* a zeroed one is fine */
bool timeline_add(struct timeline *timeline, struct event event);       /* false: out of memory */
/* The soonest one; NULL: none is left. */
const struct event *timeline_first(const struct timeline *timeline);
void timeline_pop(struct timeline *timeline);
