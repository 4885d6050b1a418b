/* exchange.h - what an agent reports, and what it is told: the JSON of one exchange.
 *
 * Not pure: documents are read from the store. docs/api.md, "Agents", is the contract.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct act;
struct err;
struct live;
struct node_entry;

/* What the agent says it was given ("given"), against this log (numbers.h): before anything else of
 * its report is taken. What is beyond the log is passed: whatever is given from now on is above. An
 * agent that was given what this log does not know works for an older copy now, and somebody is
 * told. 0; -ERR_EXISTS: it works for another log, or for two controllers at once; -ERR_INPUT: it
 * cannot be so, or cannot be read. Older agents say nothing, and are taken. */
int exchange_given(struct live *live, struct node_entry *node, const json_t *report,
                   int64_t now_ms, struct err *err);
/* Such an agent is asked what it started ("started"). Work of this log that has run there, as this
 * log does not know, does again what it did: a note says so, which is an event. 0, -ERR_FULL,
 * -ERR_NOMEM. */
bool exchange_wants_started(const struct node_entry *node);
int exchange_apply_started(struct live *live, struct act *act, struct node_entry *node,
                           const json_t *report, struct err *err);

/* Takes over what the agent says of itself, and renews its lease; `steady_ms`: live_steady_ms(). 0,
 * or -ERR_INPUT: a report that cannot be read, or of an agent with which no protocol is common
 * (proto/protocol.h). */
int exchange_read(struct node_entry *node, const json_t *report, int64_t now_ms,
                  int64_t steady_ms, uint64_t *ret_seen, struct err *err);

/* What its runs mean for the pool: phases of members, ends, devices that broke. The node joins,
 * where it has not yet, once it runs nothing that it should not; one that was lost must also have
 * seen a desired state from after that (exchange_fence()). 0, -ERR_IO ... */
int exchange_apply(struct live *live, struct act *act, struct node_entry *node,
                   const json_t *report, struct err *err);
/* After each report: a node that is down gets a desired state that it must have seen before it
 * joins again; and one that has seen a later generation than there is gets one above that. */
void exchange_fence(struct live *live, struct node_entry *node);
/* Whether it has anything for an act at all: most exchanges do not. */
bool exchange_has_news(struct live *live, const struct node_entry *node, const json_t *report);

/* All that may run on the node. NULL: out of memory, or the store cannot be read. */
json_t *exchange_answer(struct live *live, const struct node_entry *node);
