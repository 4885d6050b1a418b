/* enrolment.h - which node an agent is: by the certificate that the pool's authority signed.
 *
 * Not pure: the store. One thread: that of the loop. A node has one enrolment, or none; it stands
 * in the store as an object of kind `node`, whose number its certificates carry (net/identity.h).
 * It begins with a join token, which is used up in the same commit, and ends when the node leaves
 * the pool, is enrolled anew, or an operator ends it: from then on no certificate of it is taken. A
 * renewal only notes until when the newest certificate is good; those before stay good to their
 * end, for nobody knows whether the answer arrived.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "net/authority.h"
#include "net/token.h"

struct act;
struct err;
struct live;
struct node_entry;

/* A join token is one key's: an answer that was lost is given again for so long. */
#define ENROLMENT_AGAIN_MS     INT64_C(600000)
#define CERTIFICATE_LIFE_MS    INT64_C(604800000)       /* 7 days */
#define CERTIFICATE_LIFE_MS_MIN INT64_C(5000)
#define CERTIFICATE_LIFE_MS_MAX INT64_C(31536000000)    /* a year */
#define CERTIFICATE_EARLY_MS   INT64_C(300000)  /* clocks differ: valid from before now; at most
                                                   a tenth of the life */

struct enrolment {
        uint64_t id;                    /* 0: the node is not enrolled */
        int64_t made_ms, until_ms;      /* the newest certificate ends then */
        uint8_t token[TOKEN_HASH_BYTES];        /* the join token it began with */
        uint8_t key[AUTHORITY_KEY_HASH_BYTES];  /* and the key that came with that */
};

/* The enrolments of the store go to their nodes (node_entry.enrolment). 0, -ERR_IO, -ERR_NOMEM:
 * then no node has one, and nobody is let in for it, until the next time. */
int enrolments_load(struct live *live, struct err *err);

/* With the act. A new one, of which `id` and `made_ms` are given here; the one before ends. `by`:
 * who let it join. 0, -ERR_FULL, -ERR_NOMEM. */
int enrolment_make(struct live *live, struct act *act, struct node_entry *node, const char *by,
                   const struct enrolment *wish, struct err *err);
/* Another certificate of it was signed. */
int enrolment_renew(struct live *live, struct act *act, struct node_entry *node, int64_t until_ms,
                    struct err *err);
/* `why`: "removed", "replaced", "revoked". Nothing where there is none. */
int enrolment_end(struct live *live, struct act *act, struct node_entry *node, const char *why,
                  struct err *err);
