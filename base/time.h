/* time.h - clocks and memory use of this process.
 *
 * Not pure: nothing the engine does may depend on these.
 */
#pragma once

#include <stdint.h>

int64_t time_wall_ms(void); /* Unix time; it may be set, also back */
/* These never go back; their zero means nothing. The clock of leases counts sleep, too. */
int64_t time_monotonic_ns(void);
int64_t time_monotonic_ms(void);
int64_t time_lease_ms(void);

int64_t time_cpu_ns(void);              /* processor time this process used, all threads */
uint64_t time_peak_rss_mib(void);       /* most memory this process ever held, rounded up */
