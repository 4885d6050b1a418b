/* What an agent says it was given, against what this log can have given. */
#include "controller/exchange.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "controller/alerts.h"
#include "controller/live.h"
#include "controller/nodes.h"
#include "controller/numbers.h"

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
                       "the store is older than what node %s was given last (up to workload %" PRIu64
                       "): it comes from a backup, or its disk went back. What runs there of then "
                       "is ended; submit it again", node->name, given->workload);
        (void)alerts_raise(live->alerts, ALERT_STORE_BEHIND, node->name, "", text, now_ms);
}

int exchange_given(struct live *live, struct node_entry *node, const json_t *report,
                   int64_t now_ms, struct err *err)
{
        const json_t *map = json_object_get(report, "given");
        struct given given = {0};
        int rc;

        if (!map)
                return 0;
        if ((rc = read_given(map, &given, err)) < 0 || (rc = check(live, node, &given, err)) < 0)
                return rc;
        look_behind(live, node, &given, now_ms);
        core_pass(live->core, given.epoch, given.workload);
        node->has_given = true;
        return 0;
}
