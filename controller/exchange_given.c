/* What an agent says it was given, against what this log can have given. */
#include "controller/exchange.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controller/alerts.h"
#include "controller/live.h"
#include "controller/nodes.h"
#include "controller/numbers.h"
#include "controller/view.h"
#include "controller/works.h"
#include "proto/protocol.h"

struct given {
        uint64_t log;                   /* 0: none was said to it yet */
        uint64_t epoch, workload;       /* the newest, and the highest; 0: none */
};

static bool read_number(const json_t *map, const char *key, uint64_t *ret_number)
{
        const json_t *it = json_object_get(map, key);

        if (!json_is_integer(it) || json_integer_value(it) < 0)
                return false;
        *ret_number = (uint64_t)json_integer_value(it);
        return true;
}

static int read_given(const json_t *map, struct given *ret_given, struct err *err)
{
        const json_t *log = json_object_get(map, "log");

        if (!json_is_object(map) || !read_number(map, "epoch", &ret_given->epoch) ||
            !read_number(map, "workload", &ret_given->workload) ||
            (log && !numbers_log_parse(json_string_value(log), &ret_given->log)))
                return err_set(err, ERR_INPUT,
                               "field 'given': write {\"log\": \"16 hex digits\", \"epoch\": E, "
                               "\"workload\": W}");
        return 0;
}

/* The way out of each is the operator's. */
static int check(const struct live *live, const struct node_entry *node, const struct given *given,
                 struct err *err)
{
        const struct numbers *numbers = core_numbers(live->core);
        uint64_t next = core_take_ids(live->core, 0);
        char theirs[NUMBERS_LOG_TEXT_MAX], ours[NUMBERS_LOG_TEXT_MAX];

        if (given->log && numbers->log && given->log != numbers->log)
                return err_set(err, ERR_EXISTS,
                               "node '%s' works for the pool of log %s, and this is the pool of "
                               "log %s: start berthd on its store, or, where the node is to change "
                               "pools, stop its agent and remove the file 'log' from its state",
                               node->name, numbers_log_text(given->log, theirs),
                               numbers_log_text(numbers->log, ours));
        if (!core_is_beyond(live->core, given->epoch, given->workload))
                return 0;
        if (given->epoch >= NUMBERS_EPOCH_MAX || given->workload >= NUMBERS_WORKLOAD_MAX ||
            (given->workload > next && given->workload - next > NUMBERS_WORKLOADS_AHEAD_MAX))
                return err_set(err, ERR_INPUT,
                               "node '%s' says it was given workload %" PRIu64 " and epoch %" PRIu64
                               ", and the next ones here are %" PRIu64
                               " and what the clock says: its file 'epochs' is damaged",
                               node->name, given->workload, given->epoch, next);
        if (node->has_given)
                return err_set(err, ERR_EXISTS,
                               "node '%s' was given epoch %" PRIu64
                               " by another controller since it first spoke with this one: two "
                               "run on copies of one store; stop the one that is not meant",
                               node->name, given->epoch);
        return 0;
}

/* Who was given nothing is behind nobody. */
static void look_behind(struct live *live, struct node_entry *node, const struct given *given,
                        int64_t now_ms)
{
        char text[ALERT_TEXT_MAX];

        if (node->is_ahead || given->epoch == 0 ||
            core_knows(live->core, given->epoch, given->workload))
                return;
        node->is_ahead = true;
        (void)snprintf(text, sizeof text,
                       "the store is older than what node %s was given last (up to workload "
                       "%" PRIu64 "): it comes from a backup, or its disk went back. What runs "
                       "there of then is ended; submit it again", node->name, given->workload);
        if (live->said)
                live->said("store behind:", text);
        (void)alerts_raise(live->alerts, ALERT_STORE_BEHIND, node->name, "", text, now_ms);
}

bool exchange_wants_started(const struct node_entry *node)
{
        return node->is_ahead && !node->has_started;
}

/* {"ran_before":{...}}: an event is made of it (events_log.c), so it says whose work that is. */
static int note_ran(struct live *live, struct act *act, const struct node_entry *node,
                    const struct work *work, uint64_t epoch, struct err *err)
{
        json_t *note = json_pack("{s:{s:o,s:I,s:s,s:s,s:s,s:s,s:I}}", "ran_before", "at",
                                 view_time(core_now_ms(live->core)), "workload",
                                 (json_int_t)work->id, "name", work->name, "tenant", work->tenant,
                                 "user", work->user, "node", node->name, "epoch",
                                 (json_int_t)epoch);
        char *text = note ? json_dumps(note, JSON_COMPACT) : NULL;
        int rc = text ? core_note(act, text, err) : err_set(err, ERR_NOMEM, "out of memory");

        free(text);
        json_decref(note);
        return rc;
}

/* A number that was not given by this log when that epoch was names other work by now. */
int exchange_apply_started(struct live *live, struct act *act, struct node_entry *node,
                           const json_t *report, struct err *err)
{
        const json_t *started = json_object_get(report, "started"), *it;
        size_t i;
        int rc = 0;

        if (!exchange_wants_started(node) || !json_is_array(started))
                return 0;
        json_array_foreach(started, i, it) {
                uint64_t workload = 0, epoch = 0;
                if (rc || i == PROTOCOL_STARTED_MAX || !read_number(it, "workload", &workload) ||
                    !read_number(it, "epoch", &epoch))
                        break;
                const struct work *work = works_find(core_works(live->core), workload);
                if (work && core_is_older(live->core, workload) &&
                    !core_knows(live->core, epoch, workload))
                        rc = note_ran(live, act, node, work, epoch, err);
        }
        node->has_started = rc == 0;
        return rc;
}

int exchange_given(struct live *live, struct node_entry *node, const json_t *report,
                   int64_t now_ms, struct err *err)
{
        const json_t *map = json_object_get(report, "given");
        struct given given = {0};
        int rc;

        if (!map)
                return 0;
        rc = read_given(map, &given, err);
        rc = rc ? rc : check(live, node, &given, err);
        if (rc && !node->is_refused && live->said)
                live->said("report refused:", err->text);
        node->is_refused = rc != 0;
        if (rc)
                return rc;
        look_behind(live, node, &given, now_ms);
        core_pass(live->core, given.epoch, given.workload);
        node->has_given = true;
        return 0;
}
