/* What crashed earlier runs of the daemon, and the watch over this one (crash.h, quarantine.h). */
#include "controller/daemon_impl.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/err.h"
#include "controller/alerts.h"
#include "controller/crash.h"
#include "controller/quarantine.h"

/* A person is to look at it. */
static void raise_held(struct daemon *daemon, const struct quarantine_entry *entry)
{
        char subject[24], text[600];

        (void)snprintf(subject, sizeof subject, "%" PRIu64, entry->id);
        (void)snprintf(text, sizeof text,
                       "this has crashed the controller ('berth quarantine list --json' shows "
                       "where), and is not tried again until 'berth quarantine release %" PRIu64
                       "': %s%s%s%s%s", entry->id, entry->kind, entry->what[0] ? " " : "",
                       entry->what, entry->by[0] ? ", asked by " : "", entry->by);
        (void)alerts_raise(daemon->live.alerts, ALERT_QUARANTINED, subject, "", text, api_now_ms());
}

/* What crashed earlier runs, and whether it may be tried again. A failure keeps nobody from
 * starting: the crashes count when the file is read again. */
static void take_crashes(struct daemon *daemon)
{
        const struct quarantine_entry *entry;
        uint32_t cursor = 0;
        unsigned crashes, held = 0;
        struct err err;

        if (quarantine_take(daemon->api.quarantine, daemon->crash_file, api_now_ms(), &crashes,
                            &err) < 0)
                daemon_say("crash records not taken:", "%s", err.text);
        if (crashes > 0)
                daemon_say("has crashed", "times=%u", crashes);
        while ((entry = quarantine_next(daemon->api.quarantine, &cursor))) {
                held += entry->is_held;
                if (entry->is_new && entry->is_held)
                        raise_held(daemon, entry);
                if (entry->is_new)
                        daemon_say(entry->is_held ? "in quarantine:" : "suspected:",
                                   "id=%" PRIu64 " of=%s kind=\"%s\" what=\"%s\" by=\"%s\"",
                                   entry->id, crash_of_name((enum crash_of)entry->of), entry->kind,
                                   entry->what, entry->by);
        }
        if (held > 0)
                daemon_say("quarantine", "held=%u", held);
}

int daemon_watch_crashes(struct daemon *daemon, struct err *err)
{
        const struct daemon_options *options = daemon->options;
        int rc = quarantine_open(daemon->live.core, &daemon->api.quarantine, err);

        if (rc == 0 && snprintf(daemon->crash_file, sizeof daemon->crash_file, "%s.crash",
                                options->store) >= (int)sizeof daemon->crash_file)
                rc = err_set(err, ERR_INPUT, "%s: the path is too long", options->store);
        if (rc == 0)
                rc = crash_watch(daemon->crash_file, options->version, options->decide_ms_max, err);
        if (rc == 0)
                take_crashes(daemon);
        return rc;
}
