/* scenario.h - reading scenarios from text, and what comes out of it or is refused. */
#pragma once

#include "base/doc.h"
#include "base/mem.h"
#include "proto/scenario.h"
#include "tests/unit/models.h"

static struct scenario scenario; /* of the test that runs; too large for a stack frame */

/* The head of a document: with a recorded pool, its pods too, and with equal nodes. */
#define TRACE "kind: Replay\npool: {openb_nodes: n.csv}\n"
#define OPENB TRACE "workload: {openb_pods: p.csv}\n"
#define POOL  "kind: Replay\npool: {nodes: 1, devices_per_node: 2, model: A100-40}\n"

static inline int decode(const char *text, struct err *err)
{
        struct doc *doc;
        int rc = doc_read_yaml("runs/s.yaml", text, strlen(text), &doc, err);

        if (rc < 0)
                return rc;
        rc = scenario_decode_doc("runs/s.yaml", doc, models, &scenario, err);
        doc_free(doc);
        return rc;
}

static inline void decode_fine(const char *text)
{
        struct err err = {0};

        memset(&scenario, 0xee, sizeof scenario);
        if (decode(text, &err) < 0)
                fail_msg("%s", err.text);
}

struct refusal {
        const char *text, *sentence;
};

/* Refused with the place, and nothing is written. */
static inline void check_refused(const struct refusal *rows, size_t count)
{
        for (size_t i = 0; i < count; i++) {
                struct err err = {0};
                memset(&scenario, 0xee, sizeof scenario);
                int rc = decode(rows[i].text, &err);
                if (rc != -ERR_INPUT && rc != -ERR_RANGE && rc != -ERR_NOT_FOUND)
                        fail_msg("'%s' was not refused: %d", rows[i].text, rc);
                check_has(err.text, "runs/s.yaml:");
                check_has(err.text, rows[i].sentence);
                assert_int_equal(scenario.placements_count, 0xeeeeeeee);
        }
}
