/* metrics_impl.h - shared by metrics*.c. */
#pragma once

#include "controller/metrics.h"
#include "engine/explain.h"
#include "engine/fact.h"
#include "engine/tenancy.h"

#define STATUS_MAX 600

/* Classes by their numbers in the policy in force; the last one: no policy. */
#define QUEUE_CLASSES (CLASSES_MAX + 1)

struct metrics {
        struct live *live;
        const struct events *events;
        const struct quarantine *quarantine;
        const struct http_server *http;
        uint64_t facts[FACTS_END];
        uint64_t ended[RELEASE_CAUSES_END], stopped[RELEASE_CAUSES_END];        /* runs, by cause */
        uint64_t lost_device_ms[RELEASE_CAUSES_END];
        uint64_t noticed[NOTICE_CAUSES_END], planned[PLAN_CAUSES_END];
        uint64_t (*requests)[STATUS_MAX];       /* by route, the last one: none */
        /* Of buckets, as they were last looked at; with the policy's and the table's changes all
         * are looked at again. */
        uint8_t *verdicts;
        uint32_t verdicts_count, next_bucket;
        uint64_t policy_version;
        uint64_t queue[QUEUE_CLASSES][VERDICTS_END];    /* scratch */
};

/* metrics_count.c */
void metrics_watch(struct metrics *metrics);
/* Fills `queue`. */
void metrics_count_queue(struct metrics *metrics, int64_t now_ms);
