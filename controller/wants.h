/* wants.h - what the API wants of agents: pieces of what work wrote.
 *
 * Pure apart from the heap. A want goes out with the node's next exchange and comes back as an
 * answer of its own; whoever asked waits for it, but not for ever. At most WANTS_MAX at a time.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct http_exchange;
struct node_entry;

#define WANTS_MAX        4096
#define WANT_WAIT_MS     INT64_C(15000)
#define WANT_BYTES_MAX   (1u << 20)

struct want {
        uint64_t id;                    /* 0: a free slot */
        const struct node_entry *node;
        struct http_exchange *asker;    /* who waits for it */
        uint64_t workload, epoch;
        uint64_t run;                   /* which of the workload's, counted from 1 */
        bool has_ended;                 /* that run: nothing more is written */
        uint32_t member;
        bool is_stderr;
        int64_t offset;                 /* negative: from the end */
        uint32_t bytes;
        int64_t until_ms;
};

struct wants;

struct wants *wants_new(void);                          /* NULL: out of memory */
void wants_free(struct wants *wants);                   /* NULL is fine */

/* Its number; 0: as many as there may be are open. */
uint64_t wants_add(struct wants *wants, const struct want *want);
/* Takes it out; false: it is not open (any more), or another node's. */
bool wants_take(struct wants *wants, uint64_t id, const struct node_entry *node,
                struct want *ret_want);
/* Takes one out whose time is over. */
bool wants_take_late(struct wants *wants, int64_t now_ms, struct want *ret_want);
/* Those of the node as the exchange has them. */
json_t *wants_of(const struct wants *wants, const struct node_entry *node);
