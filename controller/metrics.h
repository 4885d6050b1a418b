/* metrics.h - GET /metrics: how the pool and the controller are, as Prometheus reads it.
 *
 * Not pure: the process's memory is read. One thread: that of the loop. Names and labels are
 * documented in docs/metrics.md, which a test holds against what is written.
 *
 * Counters begin with the process. What a scrape costs is bounded: verdicts of the queue are worked
 * out for one workload of each bucket, METRICS_VERDICTS_MS of them a scrape, and kept for the next;
 * buckets whose turn has not come are of verdict UNKNOWN.
 */
#pragma once

#include <stdint.h>

struct events;
struct http_server;
struct live;
struct metrics;
struct quarantine;
struct text;

#define METRICS_TYPE        "text/plain; version=0.0.4; charset=utf-8"
#define METRICS_VERDICTS_MS 20

/* From here on facts are counted; all is borrowed. NULL: out of memory. */
struct metrics *metrics_new(struct live *live, const struct events *events,
                            const struct quarantine *quarantine);
void metrics_free(struct metrics *metrics);             /* NULL is fine */
/* The server whose connections are counted; NULL: none. */
void metrics_serve(struct metrics *metrics, const struct http_server *http);

/* An http_answered. */
void metrics_answered(void *metrics, const char *operation, unsigned status);

/* Out of memory fails the text. */
void metrics_write(struct metrics *metrics, int64_t now_ms, struct text *text);
