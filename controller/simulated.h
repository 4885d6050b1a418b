/* simulated.h - nodes without agents: the controller plays their work in real time.
 *
 * Pure apart from the heap; the clock is the caller's. For trying a pool out, and for measuring the
 * controller. Work runs as long as its command says ("sleep 2"), or SIMULATED_MS, and ends well.
 * Told to stop it stays until its notice is over, and then stops.
 */
#pragma once

#include <stdint.h>

struct err;
struct live;
struct workload_doc;

#define SIMULATED_MS INT64_C(2000)

struct simulated;

struct simulated *simulated_new(void);                  /* NULL: out of memory */
void simulated_free(struct simulated *simulated);       /* NULL is fine */

/* How long the document's command runs. */
int64_t simulated_duration_ms(const struct workload_doc *document);

/* Something happens to the run at that time: it ends, or its notice is over. -ERR_NOMEM. */
int simulated_expect(struct simulated *simulated, uint64_t workload, uint64_t epoch, int64_t at_ms);
/* What is due: the engine is told, in acts of up to some hundred, for SIMULATED_SLICE_MS at
 * most: what is left is due next time, so that nobody waits for the play. 0, -ERR_IO ... */
#define SIMULATED_SLICE_MS 10
int simulated_run(struct simulated *simulated, struct live *live, int64_t now_ms,
                  struct err *err);
