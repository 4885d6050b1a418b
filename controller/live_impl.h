/* live_impl.h - shared by live*.c. */
#pragma once

#include "controller/live.h"

void live_watch(struct live *live);
/* The runs there are go on where nodes are simulated. */
void live_resume_simulated(struct live *live);
/* How long it runs: that stands in its document. */
int64_t live_duration_ms(struct live *live, struct work *work);
/* The documents in force, from the store. */
int live_load_pool(struct live *live, struct err *err);
