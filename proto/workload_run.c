/* How a workload is run: time, checkpoints, dependencies, arrays, command, service. */
#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/arena.h"
#include "base/doc.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/str.h"
#include "proto/when.h"
#include "proto/workload_impl.h"

#define SECOND_MS  INT64_C(1000)
#define MINUTE_MS  (60 * SECOND_MS)
#define YEAR_MS    (366 * 24 * 60 * MINUTE_MS)
#define TOKENS_MAX 1000000000u

/* ---- checkpoint: {every: 30m, within: 90s, signal: USR1} ---- */

static int read_checkpoint(const struct doc_node *map, struct workload_doc *workload,
                           struct err *err)
{
        static const char *const keys[] = {"every", "within", "signal"};
        static const char *const signals[] = {"TERM", "INT", "HUP", "USR1", "USR2"};
        struct workload_checkpoint *checkpoint = &workload->checkpoint;
        const struct doc_node *signal = doc_get(map, "signal"), *within = doc_get(map, "within");
        unsigned index = 0;
        int rc;

        if (!map)
                return 0;
        if ((rc = doc_check_keys(map, keys, ARRAY_LEN(keys), err)) < 0 ||
            (rc = doc_duration_ms(doc_get(map, "every"), SECOND_MS, YEAR_MS, &checkpoint->every_ms,
                                  err)) < 0 ||
            (rc = doc_duration_ms(within, 0, 60 * MINUTE_MS, &checkpoint->within_ms, err)) < 0 ||
            (rc = doc_choice(signal, signals, ARRAY_LEN(signals), &index, err)) < 0)
                return rc;
        if (signal && !within)
                return doc_fail(map, err,
                                "field 'within' is missing: in what time after the "
                                "signal is the checkpoint durable? write for example 90s");
        if (within && !signal)
                return doc_fail(map, err,
                                "field 'signal' is missing: what asks for a checkpoint? "
                                "write for example USR1");
        if (!signal && checkpoint->every_ms == 0)
                return doc_fail(map, err,
                                "says not when one is made; write every: 30m, or signal "
                                "and within");
        if (signal)
                (void)str_copy(checkpoint->signal, sizeof checkpoint->signal, signals[index]);
        workload->has_checkpoint = true;
        return 0;
}

/* ---- after: [prepare-data]; array: 1-100%10 ---- */

static int read_after(const struct doc_node *list, struct workload_doc *workload, struct err *err)
{
        int rc;

        if ((rc = doc_check_list(list, 1, WORKLOAD_AFTER_MAX, err)) < 0)
                return rc;
        DOC_EACH(node, list) {
                char *name = workload->after[workload->after_count];
                if ((rc = doc_copy(node, name, WORKLOAD_NAME_MAX, err)) < 0)
                        return rc;
                if (str_equal(name, workload->name))
                        return doc_fail(node, err,
                                        "is this workload itself; it would wait for "
                                        "ever");
                for (uint32_t i = 0; i < workload->after_count; i++)
                        if (str_equal(workload->after[i], name))
                                return doc_fail(node, err, "stands twice; name it once");
                workload->after_count++;
        }
        return 0;
}

static int parse_index(const char *text, size_t length, uint64_t max, uint32_t *ret_index,
                       struct err *err)
{
        char number[16];
        uint64_t value = 0;
        size_t kept = length < sizeof number ? length : sizeof number - 1;

        memcpy(number, text, kept);
        number[kept] = '\0';
        int rc = num_u64(number, 0, max, &value, err);
        if (rc == 0)
                *ret_index = (uint32_t)value;
        return rc;
}

static int read_array(const struct doc_node *node, struct workload_doc *workload, struct err *err)
{
        const char *text = NULL;
        int rc = doc_text(node, 1, 64, &text, err);

        if (rc < 0 || !text)
                return rc;
        size_t length = strcspn(text, "%"), first = strcspn(text, "-%");
        const char *last = text[first] == '-' ? text + first + 1 : NULL;
        if (!last)
                return doc_fail(node, err,
                                "is no range; write for example 1-100, or 1-100%%10 for "
                                "10 at once");
        rc = parse_index(text, first, 1000000000, &workload->array_first, err);
        if (rc == 0)
                rc = parse_index(last, length - first - 1, 1000000000, &workload->array_last, err);
        if (rc == 0 && text[length] == '%')
                rc = parse_index(text + length + 1, strlen(text + length + 1), WORKLOAD_ARRAY_MAX,
                                 &workload->array_at_once, err);
        if (rc < 0)
                return doc_blame(node, err);
        if (text[length] == '%' && workload->array_at_once == 0)
                return doc_fail(node, err, "lets 0 run at once; write at least 1");
        if (workload->array_last < workload->array_first || workload->array_last == 0)
                return doc_fail(node, err,
                                "has no task: the range falls or ends at 0; write for "
                                "example 1-100");
        if (workload->array_last - workload->array_first >= WORKLOAD_ARRAY_MAX)
                return doc_fail(node, err, "has more than %d tasks; write several arrays",
                                WORKLOAD_ARRAY_MAX);
        return 0;
}

/* ---- run: {command: [...], env: {...}, secrets: [...], workdir: /home/ana} ---- */

static int keep_text(struct workload_doc *workload, const struct doc_node *node, const char *text,
                     const char **ret_text, struct err *err)
{
        *ret_text = arena_text(workload->arena, text, strlen(text));
        if (*ret_text)
                return 0;
        return doc_fail(node, err, "with this, 'run' holds more text than fits; write less");
}

static int new_list(struct workload_doc *workload, const struct doc_node *node,
                    const char ***ret_list, struct err *err)
{
        *ret_list = arena_array(workload->arena, doc_length(node) + 1, sizeof **ret_list);
        if (*ret_list)
                return 0;
        return doc_fail(node, err, "with this, 'run' holds more text than fits; write less");
}

static int read_words(struct workload_doc *workload, const struct doc_node *list, size_t min_bytes,
                      const char ***ret_words, uint32_t *ret_count, struct err *err)
{
        int rc;

        if (!list)
                return 0;
        if ((rc = doc_check_list(list, 1, WORKLOAD_WORDS_MAX, err)) < 0 ||
            (rc = new_list(workload, list, ret_words, err)) < 0)
                return rc;
        DOC_EACH(node, list) {
                const char *text = NULL;
                if ((rc = doc_text(node, min_bytes, WORKLOAD_TEXT_MAX, &text, err)) < 0 ||
                    (rc = keep_text(workload, node, text, &(*ret_words)[*ret_count], err)) < 0)
                        return rc;
                (*ret_count)++;
        }
        return 0;
}

bool workload_is_secret(const char *name)
{
        static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789_-."
                                      "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
        size_t length = strlen(name);

        return length > 0 && length <= WORKLOAD_SECRET_MAX && name[0] != '.' &&
               strspn(name, allowed) == length;
}

static int check_secrets(const struct doc_node *list, struct err *err)
{
        if (!list)
                return 0;
        DOC_EACH(node, list) {
                const char *name = NULL;
                int rc = doc_text(node, 1, WORKLOAD_TEXT_MAX, &name, err);
                if (rc < 0)
                        return rc;
                if (!workload_is_secret(name))
                        return doc_fail(node, err,
                                        "is no name of a secret; write up to %d letters, digits, "
                                        "'_', '-' and '.', which is not the first",
                                        WORKLOAD_SECRET_MAX);
        }
        return 0;
}

static bool is_variable(const char *name)
{
        bool fits = *name && !(*name >= '0' && *name <= '9');

        for (const char *at = name; fits && *at; at++)
                fits = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') ||
                       (*at >= '0' && *at <= '9') || *at == '_';
        return fits;
}

static int read_env(struct workload_doc *workload, const struct doc_node *map, struct err *err)
{
        struct workload_run *run = &workload->run;
        int rc;

        if (!map)
                return 0;
        if ((rc = doc_check_map(map, err)) < 0)
                return rc;
        if (doc_length(map) > WORKLOAD_WORDS_MAX)
                return doc_fail(map, err, "has %zu variables; at most %d are possible",
                                doc_length(map), WORKLOAD_WORDS_MAX);
        if ((rc = new_list(workload, map, &run->env_names, err)) < 0 ||
            (rc = new_list(workload, map, &run->env_values, err)) < 0)
                return rc;
        DOC_EACH(node, map) {
                const char *text = NULL;
                if (!is_variable(doc_key(node)))
                        return doc_fail(node, err,
                                        "is no name of a variable; write letters, "
                                        "digits and '_'");
                if (strncmp(doc_key(node), "BERTH_", 6) == 0)
                        return doc_fail(node, err,
                                        "begins with BERTH_, which the agent sets; "
                                        "choose another name");
                if ((rc = doc_text(node, 0, WORKLOAD_TEXT_MAX, &text, err)) < 0 ||
                    (rc = keep_text(workload, node, doc_key(node), &run->env_names[run->env_count],
                                    err)) < 0 ||
                    (rc = keep_text(workload, node, text, &run->env_values[run->env_count], err)) <
                            0)
                        return rc;
                run->env_count++;
        }
        return 0;
}

static int read_run(struct workload_doc *workload, const struct doc_node *map, struct err *err)
{
        static const char *const keys[] = {"command", "env", "secrets", "workdir", "image"};
        struct workload_run *run = &workload->run;
        const struct doc_node *workdir = doc_get(map, "workdir"), *image = doc_get(map, "image");
        const char *text = NULL, *image_text = NULL;
        int rc;

        if (!map)
                return 0;
        if ((rc = doc_check_keys(map, keys, ARRAY_LEN(keys), err)) < 0 ||
            (rc = read_words(workload, doc_get(map, "command"), 0, &run->command,
                             &run->command_count, err)) < 0 ||
            (rc = read_env(workload, doc_get(map, "env"), err)) < 0 ||
            (rc = read_words(workload, doc_get(map, "secrets"), 1, &run->secrets,
                             &run->secrets_count, err)) < 0 ||
            (rc = doc_text(workdir, 1, 4095, &text, err)) < 0 ||
            (rc = doc_text(image, 1, 4095, &image_text, err)) < 0)
                return rc;
        if (run->command_count > 0 && !run->command[0][0])
                return doc_fail(doc_get(map, "command"), err,
                                "begins with an empty word; write a "
                                "program");
        if (text && text[0] != '/')
                return doc_fail(workdir, err, "does not start with '/'; write the whole path");
        if (text && (rc = keep_text(workload, workdir, text, &run->workdir, err)) < 0)
                return rc;
        return image_text ? keep_text(workload, image, image_text, &run->image, err) : 0;
}

/* ---- service: {replicas: 2, port: 8000, ready: /health} ---- */

static int read_service(struct workload_doc *workload, const struct doc_node *map, struct err *err)
{
        static const char *const keys[] = {"replicas", "port", "ready"};
        struct workload_service *service = &workload->service;
        const struct doc_node *ready = doc_get(map, "ready"), *port_node;
        uint32_t port = 0;
        int rc;

        if (!map)
                return 0;
        workload->is_service = true;
        service->replicas = 1;
        if ((rc = doc_check_keys(map, keys, ARRAY_LEN(keys), err)) < 0 ||
            (rc = doc_u32(doc_get(map, "replicas"), 1, MEMBERS_MAX, &service->replicas, err)) < 0 ||
            (rc = doc_need(map, "port", &port_node, err)) < 0 ||
            (rc = doc_u32(port_node, 1, 65535, &port, err)) < 0 ||
            (rc = doc_copy(ready, service->ready, sizeof service->ready, err)) < 0)
                return rc;
        service->port = (uint16_t)port;
        if (ready && service->ready[0] != '/')
                return doc_fail(ready, err, "does not start with '/'; write for example /health");
        return 0;
}

/* What a service does not do: it never ends by itself. */
static int check_service(const struct workload_doc *workload, const struct doc_node *root,
                         struct err *err)
{
        static const char *const jobs_only[] = {"time_limit", "array", "retries", "checkpoint"};
        static const char *const served_only[] = {"context", "active_tokens"};

        for (size_t i = 0; workload->is_service && i < ARRAY_LEN(jobs_only); i++)
                if (doc_get(root, jobs_only[i]))
                        return doc_fail(doc_get(root, jobs_only[i]), err,
                                        "goes with a job, which ends; a service stays. Leave it "
                                        "out or leave out 'service'");
        for (size_t i = 0; !workload->is_service && i < ARRAY_LEN(served_only); i++)
                if (doc_get(root, served_only[i]))
                        return doc_fail(doc_get(root, served_only[i]), err,
                                        "goes with a service; add service: {port: 8000} or leave "
                                        "it out");
        if (workload->method == METHOD_SERVE && !workload->is_service)
                return doc_fail(root, err,
                                "method 'serve' is for a service; add service: {port: "
                                "8000}");
        if (workload->method == METHOD_SERVE && !workload->artifact[0])
                return doc_fail(root, err,
                                "field 'artifact' is missing: which model is served? "
                                "write for example llama-8b@sha256:...");
        return 0;
}

int workload_read_run(struct workload_reader *reader, const struct doc_node *root, struct err *err)
{
        struct workload_doc *workload = reader->workload;
        const struct doc_node *run = doc_get(root, "run");
        int rc;

        if ((rc = doc_duration_ms(doc_get(root, "time_limit"), SECOND_MS, YEAR_MS,
                                  &workload->time_limit_ms, err)) < 0 ||
            (rc = when_read(doc_get(root, "start"), &workload->start_ms, err)) < 0 ||
            (rc = read_checkpoint(doc_get(root, "checkpoint"), workload, err)) < 0 ||
            (rc = read_after(doc_get(root, "after"), workload, err)) < 0 ||
            (rc = read_array(doc_get(root, "array"), workload, err)) < 0 ||
            (rc = doc_u32(doc_get(root, "retries"), 0, WORKLOAD_RETRIES_MAX, &workload->retries,
                          err)) < 0 ||
            (rc = read_run(workload, run, err)) < 0 ||
            (reader->tenancy && run && (rc = check_secrets(doc_get(run, "secrets"), err)) < 0) ||
            (rc = read_service(workload, doc_get(root, "service"), err)) < 0 ||
            (rc = doc_copy(doc_get(root, "artifact"), workload->artifact, sizeof workload->artifact,
                           err)) < 0 ||
            (rc = doc_u32(doc_get(root, "context"), 1, TOKENS_MAX, &workload->context_tokens,
                          err)) < 0 ||
            (rc = doc_u32(doc_get(root, "active_tokens"), 1, TOKENS_MAX, &workload->active_tokens,
                          err)) < 0)
                return rc;
        return check_service(workload, root, err);
}
