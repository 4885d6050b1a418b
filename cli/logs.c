#include "cli/logs.h"

#include <inttypes.h>

#include "base/err.h"
#include "base/num.h"
#include "base/text.h"
#include "cli/json_in.h"
#include "cli/stop.h"
#include "cli/talk.h"
#include "cli/wait.h"
#include "net/client.h"

#define PAUSE_MS_LEAST 200
#define PAUSE_MS_MOST  2000
#define LINE_BYTES     256     /* a guess at a line's length, for --tail */
#define PIECE_BYTES    1048576 /* the most that is asked for at once */
#define TAIL_MAX       100000

static const struct command_option options[] = {
        {"follow", 'f', NULL, "go on with what it writes, until it has ended; Ctrl-C ends this"},
        {"tail", 'n', "LINES", "the last so many lines only (of its last MiB); not with --follow"},
        {"run", 0, "N", "of its run N, counted from 1 (the newest); -1: of the one before that"},
        {"previous", 'p', NULL, "the same as --run -1"},
        {"member", 0, "N", "of this member (0)"},
        {"stderr", 0, NULL, "its standard error instead of its standard output"},
        {"tenant", 't', "PATH", "whose work the name means"},
        {"context", 0, "NAME", "which pool, of those that `berth context list` shows"},
        {0},
};

static const char details[] =
        "Prints the bytes as they were written. Work that is stopped, moved or tried again has\n"
        "several runs; `berth status ID` lists them. What a run wrote is kept on its node, for\n"
        "some days after its end. With --follow a pool that does not answer for a while is waited\n"
        "for, and the next run is followed when one has ended.\n"
        "\n"
        "examples:\n"
        "  berth logs 17\n"
        "  berth logs 17 -f --stderr\n"
        "  berth logs llama-sft --previous --tail 50\n"
        "  berth logs llama-sft --member 1 --tail 50\n";

/* From where it is read; moves on. */
struct reading {
        struct talk *talk;
        const char *name;
        int64_t run;            /* 0: the newest; from the first answer on its number */
        int64_t offset;
};

static int make_path(const struct reading *reading, const char *more, struct text *path,
                     struct err *err)
{
        text_add(path, "/v1/workloads");
        talk_path_segment(path, reading->name);
        text_add(path, "%s", more);
        talk_path_option(path, reading->talk->call, "tenant");
        return path->failed ? err_set(err, ERR_RANGE, "the name is too long") : 0;
}

/* All that is read is of one run, though another may begin meanwhile. A controller that is older
 * than this does not say which it is. */
static void stay_with_run(struct reading *reading)
{
        uint64_t number;

        if (client_header_u64(reading->talk->client, "Berth-Run", &number) && number <= INT64_MAX)
                reading->run = (int64_t)number;
}

static int read_on(struct reading *reading, struct client_answer *ret_answer, struct err *err)
{
        const struct command_call *call = reading->talk->call;
        struct text path = {0};
        char run[32], offset[32], bytes[32];
        int rc = make_path(reading, "/logs", &path, err);

        snprintf(run, sizeof run, "%" PRId64, reading->run);
        snprintf(offset, sizeof offset, "%" PRId64, reading->offset);
        snprintf(bytes, sizeof bytes, "%" PRId64,
                 reading->offset < 0 ? -reading->offset : PIECE_BYTES);
        talk_path_option(&path, call, "member");
        talk_path_query(&path, "run", reading->run ? run : NULL);
        talk_path_query(&path, "stream", command_value(call, "stderr") ? "stderr" : "stdout");
        talk_path_query(&path, "offset", offset);
        talk_path_query(&path, "bytes", bytes);
        if (rc == 0)
                rc = talk_get(reading->talk, path.bytes, ret_answer, err);
        text_done(&path);
        if (rc == 0)
                stay_with_run(reading);
        return rc;
}

/* 1: it has ended; 0: not yet. *ret_newest: its newest run; 0: none, or not known. */
static int has_ended(struct reading *reading, int64_t *ret_newest, struct err *err)
{
        struct text path = {0};
        json_t *workload = NULL;
        int rc = make_path(reading, "", &path, err);

        if (rc == 0)
                rc = talk_get_json(reading->talk, path.bytes, &workload, err);
        const json_t *runs = json_object_get(workload, "runs");
        size_t count = json_array_size(runs);
        *ret_newest = count > 0 ? json_in_number(json_array_get(runs, count - 1), "run") : 0;
        if (rc == 0)
                rc = wait_has_ended(json_in_text(workload, "state"));
        json_decref(workload);
        text_done(&path);
        return rc;
}

static int put(const struct reading *reading, const char *bytes, size_t size, struct err *err)
{
        if (fwrite(bytes, 1, size, stdout) == size && fflush(stdout) == 0)
                return 0;
        reading->talk->code = EXIT_TROUBLE;
        return err_set(err, ERR_IO, "standard output is closed");
}

/* Piece after piece until there is none. *ret_any: whether there was one. */
static int read_rest(struct reading *reading, bool *ret_any, struct err *err)
{
        *ret_any = false;
        for (;;) {
                struct client_answer answer = {0};
                int rc = read_on(reading, &answer, err);
                size_t size = rc == 0 ? answer.size : 0;
                if (size > 0)
                        rc = put(reading, answer.body, size, err);
                client_answer_done(&answer);
                if (rc < 0 || size == 0)
                        return rc;
                reading->offset += (int64_t)size;
                *ret_any = true;
        }
}

/* True: the run that was read has ended, and all of it was read, or never will be (`rc`). */
static bool go_to_next_run(struct reading *reading, int64_t newest, int rc, const struct err *err)
{
        if (reading->run < 1 || newest <= reading->run || stop_asked())
                return false;
        if (rc < 0) {
                fprintf(stderr, "berth: the rest of run %" PRId64 " is left out: %s\n",
                        reading->run, err->text);
                reading->talk->code = EXIT_FINE;
        }
        reading->run++;
        reading->offset = 0;
        fprintf(stderr, "berth: run %" PRId64 "\n", reading->run);
        return true;
}

static int follow(struct reading *reading, struct err *err)
{
        struct wait_patience patience = {0};
        int64_t pause_ms = PAUSE_MS_LEAST;

        while (!stop_asked()) {
                bool any = false;
                int64_t newest;
                /* Asked before: what it wrote at last is read after its end. */
                int ended = has_ended(reading, &newest, err);
                int rc = ended < 0 ? ended : read_rest(reading, &any, err);
                if (ended >= 0 && go_to_next_run(reading, newest, rc, err))
                        continue;
                if (rc < 0 && !wait_is_patient(reading->talk, &patience, err))
                        return rc;
                if (rc == 0 && ended == 1)
                        return 0;
                if (rc == 0)
                        patience = (struct wait_patience){0};
                pause_ms = any ? PAUSE_MS_LEAST : 2 * pause_ms;
                stop_pause_ms(pause_ms < PAUSE_MS_MOST ? pause_ms : PAUSE_MS_MOST);
                pause_ms = pause_ms < PAUSE_MS_MOST ? pause_ms : PAUSE_MS_MOST;
        }
        return err_set(err, ERR_CANCELLED, "stopped");
}

/* The last `lines` lines of the bytes; NULL: there are fewer. */
static const char *last_lines(const char *bytes, size_t size, uint64_t lines)
{
        const char *at = bytes + size;

        if (size > 0 && at[-1] == '\n')
                at--;
        for (; at > bytes; at--)
                if (at[-1] == '\n' && --lines == 0)
                        return at;
        return NULL;
}

/* Reads from the end, further back until there are so many lines; at most one piece. */
static int put_tail(struct reading *reading, uint64_t lines, struct err *err)
{
        for (int64_t back = (int64_t)lines * LINE_BYTES;; back *= 4) {
                struct client_answer answer = {0};
                back = back < PIECE_BYTES ? back : PIECE_BYTES;
                reading->offset = -back;
                int rc = read_on(reading, &answer, err);
                if (rc < 0)
                        return rc;
                const char *start = last_lines(answer.body, answer.size, lines);
                bool is_whole = (int64_t)answer.size < back || back == PIECE_BYTES;
                if (start || is_whole) {
                        start = start ? start : answer.body;
                        rc = put(reading, start, answer.size - (size_t)(start - answer.body), err);
                }
                client_answer_done(&answer);
                if (start || rc < 0)
                        return rc;
        }
}

/* Which run is asked for; 0: the newest. */
static int find_run(const struct command_call *call, int64_t *ret_run, struct err *err)
{
        const char *run = command_value(call, "run");
        bool is_previous = command_value(call, "previous") != NULL;

        *ret_run = is_previous ? -1 : 0;
        if (!run && !is_previous)
                return 0;
        if (run && is_previous)
                return err_set(err, ERR_INPUT, "--run and --previous do not go together");
        if (command_value(call, "follow"))
                return err_set(err, ERR_INPUT, "--follow goes on with the newest run; not with %s",
                               run ? "--run" : "--previous");
        if (run && (num_i64(run, INT32_MIN, INT32_MAX, ret_run, NULL) < 0 || *ret_run == 0))
                return err_set(err, ERR_INPUT,
                               "--run: runs are numbered from 1, and -1 is the one before the "
                               "newest; `berth status %s` lists them",
                               call->arguments[0]);
        return 0;
}

static int print_logs(struct talk *talk, struct err *err)
{
        const char *tail = command_value(talk->call, "tail");
        struct reading reading = {.talk = talk, .name = talk->call->arguments[0]};
        bool follows = command_value(talk->call, "follow") != NULL, any;
        uint64_t lines = 0;
        int rc = find_run(talk->call, &reading.run, err);

        if (rc < 0)
                return rc;
        if (tail && (rc = num_u64(tail, 1, TAIL_MAX, &lines, err)) < 0)
                return err_prefix(err, "--tail");
        if (tail && follows)
                return err_set(err, ERR_INPUT, "--tail and --follow do not go together");
        if (tail)
                return put_tail(&reading, lines, err);
        return follows ? follow(&reading, err) : read_rest(&reading, &any, err);
}

static int run(const struct command_call *call)
{
        return talk_with_member(call, print_logs);
}

const struct command logs_command = {
        .name = "logs",
        .group = GROUP_WORK,
        .is_live = true,
        .arguments = "ID|NAME",
        .arguments_min = 1,
        .arguments_max = 1,
        .summary = "what a workload wrote",
        .details = details,
        .options = options,
        .run = run,
};
