#include "cli/act.h"

#include "base/err.h"
#include "base/text.h"
#include "cli/status.h"
#include "cli/talk.h"
#include "net/client.h"

static const struct command_option options[] = {
        {"tenant", 't', "PATH", "whose work the names mean"},
        {"reason", 'r', "TEXT", "why; it is kept with who did it, and shown"},
        COMMAND_LIVE_OPTIONS,
        {0},
};

static int act_on(struct talk *talk, const char *name, const char *method, const char *verb,
                  struct err *err)
{
        struct client_answer answer = {0};
        struct text path = {0};
        json_t *value = NULL;

        text_add(&path, "/v1/workloads");
        talk_path_segment(&path, name);
        text_add(&path, "%s", verb);
        talk_path_option(&path, talk->call, "tenant");
        const struct talk_change change = {
                .method = method,
                .path = path.bytes,
                .reason = command_value(talk->call, "reason"),
        };
        int rc = path.failed ? err_set(err, ERR_RANGE, "a name is too long")
                             : talk_send(talk, &change, &answer, err);
        if (rc == 0 && talk_is_json(talk))
                talk_put(&answer, stdout);
        else if (rc == 0 && answer.size > 0)
                rc = talk_parse(talk, &answer, &value, err);
        if (rc == 0 && value)
                rc = status_print_line(value, talk, stdout, err);
        json_decref(value);
        client_answer_done(&answer);
        text_done(&path);
        return rc;
}

/* One after the other; what fails is said, and the others are done all the same. */
static int act(const struct command_call *call, const char *method, const char *verb)
{
        enum exit_code code = EXIT_FINE;
        struct err err = {0};
        struct talk talk;
        int rc = talk_open(call, &talk, &err);

        for (size_t i = 0; rc == 0 && i < call->arguments_count; i++) {
                talk.code = EXIT_FINE;
                rc = act_on(&talk, call->arguments[i], method, verb, &err);
                bool is_refused = rc < 0 && talk.code != EXIT_FINE && talk.code != EXIT_NO_ANSWER;
                if (rc < 0 && code == EXIT_FINE)
                        code = talk.code;
                if (!is_refused || i + 1 == call->arguments_count)
                        continue;
                fprintf(stderr, "berth %s: %s\n", call->command->name, err.text);
                rc = 0;
        }
        if (code != EXIT_FINE)
                talk.code = code;
        return talk_close(&talk, rc, &err);
}

static int run_cancel(const struct command_call *call)
{
        return act(call, "DELETE", "");
}

static int run_hold(const struct command_call *call)
{
        return act(call, "POST", "/hold");
}

static int run_release(const struct command_call *call)
{
        return act(call, "POST", "/release");
}

static int run_restart(const struct command_call *call)
{
        return act(call, "POST", "/restart");
}

static int run_preempt(const struct command_call *call)
{
        if (command_value(call, "reason"))
                return act(call, "POST", "/preempt");
        fputs("berth preempt: say why: --reason TEXT; the owner reads it\n", stderr);
        return EXIT_BAD_INPUT;
}

#define ACT(field, group_of, words, more) \
        const struct command field##_command = { \
                .name = #field, \
                .group = group_of, \
                .is_live = true, \
                .arguments = "ID|NAME ...", \
                .arguments_min = 1, \
                .arguments_max = COMMAND_ARGUMENTS_MAX, \
                .summary = words, \
                .details = more, \
                .options = options, \
                .run = run_##field, \
        }

ACT(cancel, GROUP_WORK, "end work, or take it out of the queue",
    "Running work is told to stop, and has ended when its processes have. Of several that are\n"
    "named, each is tried.\n"
    "\n"
    "examples:\n"
    "  berth cancel 17\n"
    "  berth cancel 17 18 19 --reason 'wrong data'\n"
    "  berth cancel llama-sft --tenant research/nlp\n");

ACT(hold, GROUP_WORK, "let queued work wait until it is released",
    "It keeps its place by arrival; running work is not held.\n"
    "\n"
    "examples:\n"
    "  berth hold 17\n");

ACT(release, GROUP_WORK, "let held work go on",
    "examples:\n"
    "  berth release 17\n");

ACT(restart, GROUP_WORK, "stop work and queue it again",
    "It starts again from its last checkpoint, where its program looks for one.\n"
    "\n"
    "examples:\n"
    "  berth restart 17 --reason 'new code'\n");

ACT(preempt, GROUP_OPERATE, "stop running work with notice, and queue it again",
    "For operators. The work gets the notice of its class, then it is stopped and waits in its\n"
    "old place. The reason is needed.\n"
    "\n"
    "examples:\n"
    "  berth preempt 17 --reason 'node gpu-04 is to be repaired'\n");
