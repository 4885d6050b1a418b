/* watchers.h - what watchers of events cost who submits: p99 of the same load with and without.
 *
 * 1,000 watchers, in a process of their own that reads and forgets; it comes back with the last id
 * when a stream ends. Without and with them take turns, so that what else the machine does is in
 * both; the figure is the median of the rounds' ratios.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

/* 20 watchers of each tenant, one connection that submits 500 jobs a second. *number: of the next
 * job. */
void bench_watchers(pid_t daemon, uint64_t *number);

/* bench-controller --watchers all|tenant [PACE [ROUNDS]]: who sees everything, or each its tenant;
 * 64 connections, so many jobs a second at most (10,000). With a daemon of its own. */
void bench_watchers_apart(int argc, char **argv);
