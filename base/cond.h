/* cond.h - conditions of threads that are waited for until a time; whoever sets the time of day.
 *
 * Not pure. The rest is as pthread_cond_*() has it.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

void cond_init(pthread_cond_t *cond);

/* With the mutex held. False: time_monotonic_ms() has reached `until_ms`. True: signalled, or for
 * no reason. */
bool cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *mutex, int64_t until_ms);
