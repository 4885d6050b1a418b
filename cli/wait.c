#include "cli/wait.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/time.h"
#include "cli/json_in.h"
#include "cli/stop.h"
#include "cli/talk.h"
#include "net/client.h"

#define PAUSE_MS_LEAST 200
#define PAUSE_MS_MOST  2000
#define SILENCE_NS_MAX (INT64_C(600) * 1000000000)

/* One workload that is followed. */
struct waiting {
        struct talk *talk;
        int64_t id;
        char state[JSON_IN_MAX];
        bool is_terminal;        /* standard error: one line is rewritten */
        bool is_dirty;           /* such a line stands there */
        struct wait_patience patience;
};

bool wait_has_ended(const char *state)
{
        static const char *const states[] = {"succeeded", "failed", "cancelled",
                                             "timed_out", "lost",   "refused",
                                             "stopped"};

        for (size_t i = 0; i < ARRAY_LEN(states); i++)
                if (str_equal(states[i], state))
                        return true;
        return false;
}

static void say(struct waiting *waiting, const json_t *workload)
{
        char name[JSON_IN_MAX], summary[JSON_IN_MAX];
        const char *state = json_in_text(workload, "state");
        bool is_new = !str_equal(state, waiting->state);

        if (!is_new && !waiting->is_terminal)
                return;
        if (waiting->is_dirty)
                fputs(is_new ? "\n" : "\r\033[K", stderr);
        fprintf(stderr, "%" PRId64 " %s: %s", waiting->id, json_in_clean(workload, "name", name),
                state);
        if (json_in_clean(workload, "summary", summary)[0] ||
            json_in_clean(workload, "reason", summary)[0])
                fprintf(stderr, ". %s", summary);
        else if (str_equal(state, "failed") && json_in_number(workload, "signal") > 0)
                fprintf(stderr, " by signal %" PRId64, json_in_number(workload, "signal"));
        else if (str_equal(state, "failed") && json_in_has(workload, "exit_code"))
                fprintf(stderr, " with exit code %" PRId64,
                        json_in_number(workload, "exit_code"));
        waiting->is_dirty = waiting->is_terminal;
        if (!waiting->is_terminal)
                fputc('\n', stderr);
        fflush(stderr);
        (void)str_copy(waiting->state, sizeof waiting->state, state);
}

static void end_line(struct waiting *waiting)
{
        if (waiting->is_dirty)
                fputc('\n', stderr);
        waiting->is_dirty = false;
}

bool wait_is_patient(struct talk *talk, struct wait_patience *patience, const struct err *err)
{
        int64_t now_ns = time_monotonic_ns();

        if (talk->code != EXIT_NO_ANSWER || stop_asked())
                return false;
        if (patience->silent_since_ns == 0) {
                patience->silent_since_ns = now_ns;
                fprintf(stderr, "berth: %s; trying again\n", err->text);
        }
        if (now_ns - patience->silent_since_ns > SILENCE_NS_MAX)
                return false;
        talk->code = EXIT_FINE;
        return true;
}

/* Asks until it has ended. *ret_workload is what was answered last. */
static int follow(struct waiting *waiting, struct client_answer *ret_answer, struct err *err)
{
        char path[64];
        int64_t pause_ms = PAUSE_MS_LEAST;

        snprintf(path, sizeof path, "/v1/workloads/%" PRId64, waiting->id);
        for (;;) {
                struct client_answer answer = {0};
                json_t *workload = NULL;
                int rc = talk_get(waiting->talk, path, &answer, err);
                if (rc == 0)
                        rc = talk_parse(waiting->talk, &answer, &workload, err);
                if (rc < 0)
                        end_line(waiting);
                if (rc < 0 && !wait_is_patient(waiting->talk, &waiting->patience, err)) {
                        client_answer_done(&answer);
                        return rc;
                }
                if (rc == 0)
                        say(waiting, workload);
                if (rc == 0)
                        waiting->patience = (struct wait_patience){0};
                bool has_ended = rc == 0 && wait_has_ended(json_in_text(workload, "state"));
                json_decref(workload);
                if (has_ended) {
                        *ret_answer = answer;
                        return 0;
                }
                client_answer_done(&answer);
                stop_pause_ms(pause_ms);
                if (stop_asked())
                        return err_set(err, ERR_CANCELLED, "stopped");
                pause_ms = 2 * pause_ms < PAUSE_MS_MOST ? 2 * pause_ms : PAUSE_MS_MOST;
        }
}

/* The exit code of the work; without one, whether it went well. */
static enum exit_code code_of_work(const json_t *workload)
{
        int64_t code = json_in_number(workload, "exit_code");

        if (str_equal(json_in_text(workload, "state"), "succeeded"))
                return EXIT_FINE;
        if (!json_in_has(workload, "exit_code") || code <= 0 || code > 255)
                return EXIT_UNDONE;
        return (enum exit_code)code;
}

static int wait_for_one(struct talk *talk, const json_t *submitted, struct err *err)
{
        struct waiting waiting = {.talk = talk,
                                  .id = json_in_number(submitted, "id"),
                                  .is_terminal = isatty(STDERR_FILENO) != 0};
        struct client_answer answer = {0};
        json_t *workload = NULL;
        int rc = follow(&waiting, &answer, err);

        end_line(&waiting);
        if (stop_asked()) {
                fprintf(stderr,
                        "berth: no longer waiting; the work goes on. `berth status %" PRId64
                        "` shows it, `berth cancel %" PRId64 "` ends it\n",
                        waiting.id, waiting.id);
                talk->code = EXIT_STOPPED;
        }
        if (rc == 0)
                rc = talk_parse(talk, &answer, &workload, err);
        if (rc == 0 && talk_is_json(talk))
                talk_put(&answer, stdout);
        if (rc == 0 && talk->code == EXIT_FINE)
                talk->code = code_of_work(workload);
        json_decref(workload);
        client_answer_done(&answer);
        return rc;
}

int wait_for(struct talk *talk, const json_t *answer, struct err *err)
{
        const json_t *list = json_object_get(answer, "workloads");
        enum exit_code code = EXIT_FINE;
        int rc = 0;

        stop_catch(talk->client);
        if (!list)
                rc = wait_for_one(talk, answer, err);
        for (size_t i = 0; rc == 0 && i < json_array_size(list); i++) {
                rc = wait_for_one(talk, json_array_get(list, i), err);
                code = code == EXIT_FINE ? talk->code : code;
                if (rc == 0)
                        talk->code = EXIT_FINE;
        }
        if (rc == 0 && list)
                talk->code = code;
        return rc;
}
