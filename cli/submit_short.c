#include "cli/submit_short.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/str.h"
#include "base/time.h"
#include "cli/command.h"
#include "cli/talk.h"
#include "proto/when.h"

#define DEVICES_MAX   16
#define WORKDIR_MAX   4096
#define WORK_NAME_MAX 64

/* ---- a name ---- */

static const char *base_of(const char *path)
{
        const char *slash = strrchr(path, '/');

        return slash ? slash + 1 : path;
}

/* What starts something else: python3.11, bash, torchrun. */
static bool is_starter(const char *program)
{
        static const char *const names[] = {"python*", "bash", "sh",     "torchrun", "accelerate",
                                            "uv",      "node", "julia*", "mpirun",   "env"};

        for (size_t i = 0; i < ARRAY_LEN(names); i++)
                if (str_glob(names[i], program))
                        return true;
        return false;
}

const char *submit_short_name(char *const *command, size_t count, char *buf, size_t size)
{
        const char *word = count > 0 ? base_of(command[0]) : "work";
        size_t used = 0;

        if (count > 1 && is_starter(word) && command[1][0] != '-' && base_of(command[1])[0])
                word = base_of(command[1]);
        size_t length = strlen(word);
        const char *dot = strrchr(word, '.');
        if (dot && dot > word)
                length = (size_t)(dot - word);
        for (size_t i = 0; i < length && used + 1 < size; i++) {
                char c = word[i];
                bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                                (c >= '0' && c <= '9') || strchr("-_.", c);
                buf[used++] = is_plain ? c : '-';
        }
        buf[used] = '\0';
        return buf;
}

/* ---- the document ---- */

/* A member that failed for lack of memory shows at the end, once: jansson refuses NULL values. */
static bool set_text(json_t *object, const char *key, const char *text)
{
        return !text || json_object_set_new(object, key, json_string(text)) == 0;
}

static int set_number(json_t *object, const struct command_call *call, const char *option,
                      uint64_t max, struct err *err)
{
        const char *text = command_value(call, option);
        uint64_t value;

        if (!text)
                return 0;
        if (num_u64(text, 0, max, &value, err) < 0)
                return err_prefix(err, "--%s", option);
        if (json_object_set_new(object, option, json_integer((json_int_t)value)) < 0)
                return err_set(err, ERR_NOMEM, "out of memory");
        return 0;
}

static int no_utf8(const char *what, struct err *err)
{
        return err_set(err, ERR_INPUT, "%s is no UTF-8, or memory ran out", what);
}

/* --env K=V, or --env K: as it is here. */
static int add_variable(json_t *env, const char *given, struct err *err)
{
        char name[256], show[STR_SHOW_MAX];
        size_t length = strcspn(given, "=");

        if (length == 0 || length >= sizeof name)
                return err_set(err, ERR_INPUT, "--env '%s' names no variable; write NAME=VALUE",
                               str_show(given, show));
        memcpy(name, given, length);
        name[length] = '\0';
        const char *value = given[length] ? given + length + 1 : getenv(name);
        if (!value)
                return err_set(err, ERR_INPUT, "--env %s: is not set here; write %s=VALUE",
                               str_show(name, show), show);
        if (json_object_get(env, name))
                return err_set(err, ERR_INPUT, "--env %s is given twice", str_show(name, show));
        return set_text(env, name, value) ? 0 : no_utf8("--env", err);
}

static int make_run(const struct command_call *call, json_t *run, struct err *err)
{
        json_t *command = json_array(), *env = json_object();
        const char *workdir = command_value(call, "workdir");
        char here[WORKDIR_MAX];
        size_t cursor = 0;
        int rc = json_object_set_new(run, "command", command) < 0 ||
                                 json_object_set_new(run, "env", env) < 0
                         ? err_set(err, ERR_NOMEM, "out of memory")
                         : 0;

        for (size_t i = 0; rc == 0 && i < call->tail_count; i++)
                if (json_array_append_new(command, json_string(call->tail[i])) < 0)
                        rc = no_utf8("the command", err);
        for (const char *given; rc == 0 && (given = command_each(call, "env", &cursor));)
                rc = add_variable(env, given, err);
        if (rc < 0)
                return rc;
        if (json_object_size(env) == 0)
                json_object_del(run, "env");
        if (!workdir && !(workdir = getcwd(here, sizeof here)))
                return err_set(err, ERR_INPUT, "the folder we are in: %s; name one by --workdir",
                               strerror(errno));
        return set_text(run, "workdir", workdir) ? 0 : no_utf8("--workdir", err);
}

static int make_each(const struct command_call *call, json_t *each, struct err *err)
{
        static const char *const texts[] = {"model", "profile", "memory", "ram"};
        const char *share = command_value(call, "share"), *cpu = command_value(call, "cpu");
        int rc = set_number(each, call, "devices", DEVICES_MAX, err);

        for (size_t i = 0; rc == 0 && i < ARRAY_LEN(texts); i++)
                if (!set_text(each, texts[i], command_value(call, texts[i])))
                        rc = no_utf8(texts[i], err);
        if (rc < 0)
                return rc;
        /* Amounts are decimals: jansson writes them with so many digits that they read the same. */
        uint64_t milli;
        if (share && num_milli(share, 1, 1000, &milli, err) < 0)
                return err_prefix(err, "--share");
        if (share && json_object_set_new(each, "share", json_real((double)milli / 1000)) < 0)
                return err_set(err, ERR_NOMEM, "out of memory");
        if (!set_text(each, "cpu", cpu))
                return no_utf8("--cpu", err);
        /* `berth submit -- python train.py` is for a device; work without one says what it
         * needs. */
        bool says_model_only = command_value(call, "model") && json_object_size(each) == 1;
        if ((json_object_size(each) == 0 || says_model_only) &&
            json_object_set_new(each, "devices", json_integer(1)) < 0)
                return err_set(err, ERR_NOMEM, "out of memory");
        return 0;
}

/* As the document wants it; "2h" is counted from here. */
static int set_start(json_t *document, const char *start, struct err *err)
{
        char when[WHEN_TEXT_MAX];
        int64_t at_ms;

        if (!start)
                return 0;
        if (when_ahead(start, time_wall_ms(), &at_ms, err) < 0)
                return err_prefix(err, "--start");
        return set_text(document, "start", when_text(at_ms, when))
                       ? 0
                       : err_set(err, ERR_NOMEM, "out of memory");
}

static int make_head(const struct command_call *call, const char *tenant, json_t *document,
                     struct err *err)
{
        const char *name = command_value(call, "name"), *given = command_value(call, "tenant");
        char made[WORK_NAME_MAX];

        if (given)
                tenant = given;
        if (!name)
                name = submit_short_name(call->tail, call->tail_count, made, sizeof made);
        if (!set_text(document, "kind", "Workload") || !set_text(document, "name", name) ||
            !set_text(document, "tenant", tenant[0] ? tenant : NULL) ||
            !set_text(document, "class", command_value(call, "class")) ||
            !set_text(document, "time_limit", command_value(call, "time-limit")))
                return no_utf8("an option", err);
        if (command_value(call, "hold") && json_object_set_new(document, "hold", json_true()) < 0)
                return err_set(err, ERR_NOMEM, "out of memory");
        int rc = set_number(document, call, "members", TALK_MEMBERS_MAX, err);
        return rc < 0 ? rc : set_start(document, command_value(call, "start"), err);
}

int submit_short(const struct command_call *call, const char *tenant, json_t **ret_document,
                 struct err *err)
{
        json_t *document = json_object(), *each = json_object(), *run = json_object();
        int rc = 0;

        if (json_object_set_new(document, "each", each) < 0 ||
            json_object_set_new(document, "run", run) < 0)
                rc = err_set(err, ERR_NOMEM, "out of memory");
        if (rc == 0)
                rc = make_head(call, tenant, document, err);
        if (rc == 0)
                rc = make_each(call, each, err);
        if (rc == 0)
                rc = make_run(call, run, err);
        if (rc < 0)
                json_decref(document);
        else
                *ret_document = document;
        return rc;
}
