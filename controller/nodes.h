/* nodes.h - nodes beside the engine: what the Pool document says of them, and their agents.
 *
 * Pure apart from the heap. One thread. A node is described by the Pool document, is down at first,
 * and joins the pool when its agent first speaks; a node that fell silent joins again only when its
 * agent runs nothing that it should not (it is fenced until then).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "controller/enrolment.h"
#include "engine/fact.h"

struct err;
struct pool_doc;
struct vocab;

#define AGENT_TEXT_MAX 64

struct node_entry {
        char name[128];
        struct node_desc desc;          /* as the document says; its words are the state's */
        bool described;                 /* the document still has it */
        bool awaited;                   /* it never was in the pool: nothing of it can run */
        /* Its agent: */
        bool connected;                 /* spoke within its lease */
        int64_t seen_ms;                /* when it last did */
        int64_t leased_ms;              /* the same on live_steady_ms(): begins its lease */
        bool reported;                  /* ... since the controller started */
        bool has_clock;                 /* of this boot: */
        int64_t clock_ms;               /* live_steady_ms() less its machine's steady clock, as the
                                           quickest reports showed it */
        uint16_t broken;                /* devices that it said are, beside the document's */
        uint64_t seen;                  /* the generation that it had seen then */
        uint64_t fence;                 /* down: it joins when it has seen that; 0: none yet */
        uint64_t generation;            /* of what it should run: grows */
        uint64_t changed_seq;           /* record that last changed that */
        bool has_given;                 /* what it was given was taken since the controller
                                           started: nobody else gives it more */
        bool is_ahead;                  /* ... by what this log does not know */
        bool has_started;               /* and it has said what it started then */
        bool is_refused;                /* the newest of what it was given was */
        char version[AGENT_TEXT_MAX], boot[AGENT_TEXT_MAX];
        uint32_t protocol;              /* of the exchange, as agreed; 0: it has not spoken */
        struct enrolment enrolment;     /* whose certificates are taken; id 0: nobody's */
        void *waiting;                  /* the exchange that waits for a change; the API's */
        uint64_t waiting_seen;
        int64_t waiting_until_ms;
};

struct nodes;

struct nodes *nodes_new(void);                          /* NULL: out of memory */
void nodes_free(struct nodes *nodes);                   /* NULL is fine */

struct node_entry *nodes_find(const struct nodes *nodes, const char *name);
/* Walks all in the order of the document; start with 0. NULL: the end. Pointers live until the
 * next nodes_describe(). */
struct node_entry *nodes_next(const struct nodes *nodes, uint32_t *cursor);

/* Takes over what the document says (NULL: there is none): new ones are added, those it no longer
 * has are marked. The drain of a node is not the document's: it stays. 0 or -ERR_NOMEM. */
int nodes_describe(struct nodes *nodes, const struct pool_doc *pool, const struct vocab *vocab,
                   struct err *err);
