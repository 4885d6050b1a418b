/* live_impl.h - shared by live*.c. */
#pragma once

#include "controller/live.h"

void live_watch(struct live *live);
/* The runs there are go on where nodes are simulated. */
void live_resume_simulated(struct live *live);
/* Nodes with a member of it are told, as of record `seq`; also while the core is not there yet. */
void live_touch_members(struct live *live, const struct state *state, uint64_t id, uint64_t seq);
/* How long it runs: that stands in its document. */
int64_t live_duration_ms(struct live *live, struct work *work);
/* -ERR_EXISTS: another revision is there than is wanted (0: whichever). */
int live_check_revision(uint64_t wanted, uint64_t there, const char *what, struct err *err);
/* Puts the document with what stands beside the one in force. */
int live_put_with_beside(struct live *live, struct act *act, enum beside beside,
                         struct document_put *put, struct err *err);
/* The documents in force, from the store. */
int live_load_pool(struct live *live, struct err *err);
