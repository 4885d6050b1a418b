/* An answer of the controller, from JSON. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "agent/exchange.h"
#include "base/arena.h"
#include "base/doc.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "proto/protocol.h"
#include "proto/when.h"

#define LEASE_MS_MIN  1000
#define LEASE_MS_MAX  (24 * 3600 * 1000)
#define TIME_TEXT_MAX 40

/* The arena of an answer also has to outlive its document, whose texts it copies. */
struct reading {
        struct arena *arena;
        struct err *err;
};

static int no_memory(struct reading *reading)
{
        return err_set(reading->err, ERR_NOMEM, "out of memory");
}

/* A field that may be absent or null. */
static const struct doc_node *field(const struct doc_node *map, const char *key)
{
        const struct doc_node *node = doc_get(map, key);
        return node && doc_kind(node) == DOC_NULL ? NULL : node;
}

static int need(struct reading *reading, const struct doc_node *map, const char *key,
                const struct doc_node **ret_node)
{
        return doc_need(map, key, ret_node, reading->err);
}

/* A copy of a string; an absent one leaves *ret_text. */
static int read_text(struct reading *reading, const struct doc_node *node, size_t min, size_t max,
                     const char **ret_text)
{
        const char *text = NULL;

        if (!node)
                return 0;
        if (doc_kind(node) == DOC_SCALAR && !doc_is_quoted(node))
                return doc_fail(node, reading->err, "is no string");
        int rc = doc_text(node, min, max, &text, reading->err);
        if (rc < 0)
                return rc;
        char *copy = arena_text(reading->arena, text, strlen(text));
        if (!copy)
                return no_memory(reading);
        *ret_text = copy;
        return 0;
}

static int need_text(struct reading *reading, const struct doc_node *map, const char *key,
                     size_t min, size_t max, const char **ret_text)
{
        const struct doc_node *node;
        int rc = need(reading, map, key, &node);
        return rc < 0 ? rc : read_text(reading, node, min, max, ret_text);
}

static int read_texts(struct reading *reading, const struct doc_node *list, size_t min,
                      size_t count_max, size_t bytes_max, const char ***ret_texts,
                      uint32_t *ret_count)
{
        int rc = list ? doc_check_list(list, min, count_max, reading->err) : 0;
        uint32_t count = 0;

        if (rc < 0)
                return rc;
        const char **texts = arena_array(reading->arena, doc_length(list) + 1, sizeof *texts);
        if (!texts)
                return no_memory(reading);
        DOC_EACH(node, list)
                if ((rc = read_text(reading, node, 0, bytes_max, &texts[count++])) < 0)
                        return rc;
        *ret_texts = texts;
        *ret_count = count;
        return 0;
}

/* A name becomes part of an environment. */
static int check_env_name(const struct doc_node *node, struct err *err)
{
        const char *name = doc_key(node);

        if (!*name || strchr(name, '=') || strlen(name) >= EXCHANGE_NAME_MAX)
                return doc_fail(node, err, "is no name of a variable");
        return 0;
}

static int read_env(struct reading *reading, const struct doc_node *map, struct run_spec *run)
{
        int rc = map ? doc_check_map(map, reading->err) : 0;
        size_t length = doc_length(map);

        if (rc < 0)
                return rc;
        if (length > EXCHANGE_WORDS_MAX)
                return doc_fail(map, reading->err, "has %zu variables; at most %d", length,
                                EXCHANGE_WORDS_MAX);
        run->env_names = arena_array(reading->arena, length + 1, sizeof *run->env_names);
        run->env_values = arena_array(reading->arena, length + 1, sizeof *run->env_values);
        if (!run->env_names || !run->env_values)
                return no_memory(reading);
        DOC_EACH(node, map) {
                const char *name = doc_key(node);
                if ((rc = check_env_name(node, reading->err)) < 0 ||
                    (rc = read_text(reading, node, 0, EXCHANGE_TEXT_MAX,
                                    &run->env_values[run->env_count])) < 0)
                        return rc;
                run->env_names[run->env_count] = arena_text(reading->arena, name, strlen(name));
                if (!run->env_names[run->env_count++])
                        return no_memory(reading);
        }
        return 0;
}

/* ---- devices ---- */

static const char *const methods[] = {
#define X(name, wire) [RUN_##name] = wire,
        RUN_METHODS(X)
#undef X
};

static int read_device(struct reading *reading, const struct doc_node *node,
                       struct run_device *device)
{
        const struct doc_node *index = NULL;
        unsigned method = RUN_WHOLE;
        int rc;

        *device = (struct run_device){.profile = ""};
        if ((rc = doc_check_map(node, reading->err)) < 0 ||
            (rc = need(reading, node, "index", &index)) < 0 ||
            (rc = doc_u32(index, 0, 63, &device->index, reading->err)) < 0 ||
            (rc = doc_choice(field(node, "method"), methods, ARRAY_LEN(methods), &method,
                             reading->err)) < 0 ||
            (rc = read_text(reading, field(node, "profile"), 0, 63, &device->profile)) < 0 ||
            (rc = doc_u32(field(node, "start"), 0, 255, &device->start, reading->err)) < 0 ||
            (rc = doc_u32(field(node, "share_milli"), 0, 1000, &device->share_milli,
                          reading->err)) < 0 ||
            (rc = doc_u64(field(node, "memory_mib"), 0, UINT32_MAX, &device->memory_mib,
                          reading->err)) < 0)
                return rc;
        device->method = (enum run_method)method;
        return 0;
}

static int read_devices(struct reading *reading, const struct doc_node *list, struct run_spec *run)
{
        int rc = list ? doc_check_list(list, 0, EXCHANGE_DEVICES_MAX, reading->err) : 0;

        if (rc < 0)
                return rc;
        run->devices = arena_array(reading->arena, doc_length(list) + 1, sizeof *run->devices);
        if (!run->devices)
                return no_memory(reading);
        DOC_EACH(node, list)
                if ((rc = read_device(reading, node, &run->devices[run->devices_count++])) < 0)
                        return rc;
        return 0;
}

/* ---- one run ---- */

static int read_key(struct reading *reading, const struct doc_node *map, struct run_key *ret_key)
{
        const struct doc_node *workload, *member, *epoch;
        int rc;

        if ((rc = doc_check_map(map, reading->err)) < 0 ||
            (rc = need(reading, map, "workload", &workload)) < 0 ||
            (rc = need(reading, map, "member", &member)) < 0 ||
            (rc = need(reading, map, "epoch", &epoch)) < 0 ||
            (rc = doc_u64(workload, 1, EXCHANGE_WORKLOAD_MAX, &ret_key->workload, reading->err)) <
                    0 ||
            (rc = doc_u32(member, 0, EXCHANGE_MEMBER_MAX, &ret_key->member, reading->err)) < 0)
                return rc;
        return doc_u64(epoch, 1, UINT64_MAX, &ret_key->epoch, reading->err);
}

/* With the parts of a second that the controller may write. */
static int read_time(struct reading *reading, const struct doc_node *node, int64_t *ret_ms)
{
        const char *text = NULL;
        int rc = doc_text(node, 1, TIME_TEXT_MAX, &text, reading->err);

        if (rc == 0 && (rc = when_parse_local(text, NULL, ret_ms, reading->err)) < 0)
                rc = doc_blame(node, reading->err);
        return rc;
}

/* "until_ms" says the same more exactly, and 0 that there is nothing to wait for. */
static int read_stop(struct reading *reading, const struct doc_node *map, struct run_stop *stop)
{
        const struct doc_node *until;
        int rc;

        stop->signal = "";
        if (!map)
                return 0;
        if ((rc = doc_check_map(map, reading->err)) < 0 ||
            (rc = need_text(reading, map, "cause", 0, EXCHANGE_NAME_MAX - 1, &stop->cause)) < 0 ||
            (rc = need(reading, map, "until", &until)) < 0 ||
            (rc = read_time(reading, until, &stop->until_ms)) < 0 ||
            (rc = doc_i64(field(map, "until_ms"), 0, EXCHANGE_TIME_MS_MAX, &stop->until_ms,
                          reading->err)) < 0)
                return rc;
        return read_text(reading, field(map, "signal"), 0, 15, &stop->signal);
}

static int read_names(struct reading *reading, const struct doc_node *map, struct run_spec *run)
{
        int rc;

        run->name = run->tenant = run->user = run->run_as = run->workdir = "";
        run->checkpoint_signal = "";
        if ((rc = read_text(reading, field(map, "name"), 0, EXCHANGE_NAME_MAX - 1, &run->name)) <
                    0 ||
            (rc = read_text(reading, field(map, "tenant"), 0, EXCHANGE_TENANT_MAX - 1,
                            &run->tenant)) < 0 ||
            (rc = read_text(reading, field(map, "user"), 0, EXCHANGE_NAME_MAX - 1, &run->user)) <
                    0 ||
            (rc = read_text(reading, field(map, "run_as"), 0, EXCHANGE_NAME_MAX - 1,
                            &run->run_as)) < 0 ||
            (rc = read_text(reading, field(map, "workdir"), 0, 4095, &run->workdir)) < 0)
                return rc;
        return read_text(reading, field(map, "checkpoint_signal"), 0, 15, &run->checkpoint_signal);
}

static int read_lists(struct reading *reading, const struct doc_node *map, struct run_spec *run)
{
        const struct doc_node *command;
        int rc;

        if ((rc = need(reading, map, "command", &command)) < 0 ||
            (rc = read_texts(reading, command, 1, EXCHANGE_WORDS_MAX, EXCHANGE_TEXT_MAX,
                             &run->command, &run->command_count)) < 0 ||
            (rc = read_env(reading, field(map, "env"), run)) < 0 ||
            (rc = read_texts(reading, field(map, "secrets"), 0, EXCHANGE_WORDS_MAX,
                             EXCHANGE_NAME_MAX - 1, &run->secrets, &run->secrets_count)) < 0 ||
            (rc = read_devices(reading, field(map, "devices"), run)) < 0)
                return rc;
        return read_texts(reading, field(map, "addresses"), 0, EXCHANGE_ADDRESSES_MAX,
                          EXCHANGE_TENANT_MAX, &run->addresses, &run->addresses_count);
}

static int read_numbers(struct reading *reading, const struct doc_node *map, struct run_spec *run)
{
        static const char *const contact[] = {"continue", "stop_at_lease"};
        unsigned lost_contact = 0;
        int rc;

        run->world = 1;
        if ((rc = doc_u64(field(map, "cpu_milli"), 0, UINT32_MAX, &run->cpu_milli, reading->err)) <
                    0 ||
            (rc = doc_u64(field(map, "ram_mib"), 0, UINT32_MAX, &run->ram_mib, reading->err)) < 0 ||
            (rc = doc_u32(field(map, "world"), 1, EXCHANGE_MEMBER_MAX + 1, &run->world,
                          reading->err)) < 0 ||
            (rc = doc_u32(field(map, "rank"), 0, run->world - 1, &run->rank, reading->err)) < 0 ||
            (rc = doc_u32(field(map, "array_index"), 0, UINT32_MAX, &run->array_index,
                          reading->err)) < 0 ||
            (rc = doc_bool(field(map, "go"), &run->go, reading->err)) < 0 ||
            (rc = doc_choice(field(map, "lost_contact"), contact, ARRAY_LEN(contact), &lost_contact,
                             reading->err)) < 0)
                return rc;
        run->is_task = field(map, "array_index") != NULL;
        run->stops_at_lease = lost_contact == 1;
        return 0;
}

int exchange_read_run(const struct doc_node *node, struct arena *arena, struct run_spec *ret_run,
                      struct err *err)
{
        struct reading reading = {arena, err};
        struct run_spec run = {0};
        int rc;

        if ((rc = read_key(&reading, node, &run.key)) < 0 ||
            (rc = read_names(&reading, node, &run)) < 0 ||
            (rc = read_lists(&reading, node, &run)) < 0 ||
            (rc = read_numbers(&reading, node, &run)) < 0 ||
            (rc = read_stop(&reading, field(node, "stop"), &run.stop)) < 0)
                return rc;
        if (!run.command[0][0])
                return doc_fail(doc_get(node, "command"), err, "names no program");
        *ret_run = run;
        return 0;
}

/* ---- the answer ---- */

static int compare_runs(const void *a, const void *b)
{
        const struct run_key *x = &((const struct run_spec *)a)->key;
        const struct run_key *y = &((const struct run_spec *)b)->key;

        if (x->workload != y->workload)
                return x->workload < y->workload ? -1 : 1;
        if (x->member != y->member)
                return x->member < y->member ? -1 : 1;
        return x->epoch < y->epoch ? -1 : x->epoch > y->epoch;
}

static int read_runs(struct reading *reading, const struct doc_node *list,
                     struct exchange_answer *answer)
{
        int rc = doc_check_list(list, 0, EXCHANGE_RUNS_MAX, reading->err);

        if (rc < 0)
                return rc;
        answer->runs = arena_array(reading->arena, doc_length(list) + 1, sizeof *answer->runs);
        if (!answer->runs)
                return no_memory(reading);
        DOC_EACH(node, list)
                if ((rc = exchange_read_run(node, reading->arena,
                                            &answer->runs[answer->runs_count++], reading->err)) < 0)
                        return rc;
        qsort(answer->runs, answer->runs_count, sizeof *answer->runs, compare_runs);
        for (uint32_t i = 1; i < answer->runs_count; i++)
                if (run_key_equal(answer->runs[i - 1].key, answer->runs[i].key))
                        return doc_fail(list, reading->err, "names one run twice");
        return 0;
}

static int read_attach(struct reading *reading, const struct doc_node *node,
                       struct exchange_attach *attach)
{
        const struct doc_node *session;
        int rc;

        attach->rows = attach->columns = 1;
        attach->term = "";
        if ((rc = read_key(reading, node, &attach->key)) < 0 ||
            (rc = need(reading, node, "session", &session)) < 0 ||
            (rc = doc_copy(session, attach->session, sizeof attach->session, reading->err)) < 0 ||
            (rc = read_texts(reading, field(node, "command"), 0, EXCHANGE_WORDS_MAX,
                             EXCHANGE_TEXT_MAX, &attach->command, &attach->command_count)) < 0 ||
            (rc = read_text(reading, field(node, "term"), 0, EXCHANGE_NAME_MAX - 1,
                            &attach->term)) < 0 ||
            (rc = doc_u32(field(node, "rows"), 1, EXCHANGE_WINDOW_MAX, &attach->rows,
                          reading->err)) < 0 ||
            (rc = doc_u32(field(node, "columns"), 1, EXCHANGE_WINDOW_MAX, &attach->columns,
                          reading->err)) < 0)
                return rc;
        /* It goes into paths. */
        if (attach->session[strspn(attach->session, "0123456789abcdef")] || !attach->session[0])
                return doc_fail(session, reading->err, "is no name of a session");
        if (attach->command_count > 0 && !attach->command[0][0])
                return doc_fail(field(node, "command"), reading->err, "names no program");
        return 0;
}

static int read_log_want(struct reading *reading, const struct doc_node *node,
                         struct exchange_want *want)
{
        static const char *const streams[] = {"stdout", "stderr"};
        const struct doc_node *request;
        unsigned stream = 0;
        int rc;

        want->bytes = 65536;
        if ((rc = read_key(reading, node, &want->key)) < 0 ||
            (rc = need(reading, node, "request", &request)) < 0 ||
            (rc = doc_u64(request, 0, UINT64_MAX, &want->request, reading->err)) < 0 ||
            (rc = doc_choice(field(node, "stream"), streams, ARRAY_LEN(streams), &stream,
                             reading->err)) < 0 ||
            (rc = doc_i64(field(node, "offset"), INT64_MIN, INT64_MAX, &want->offset,
                          reading->err)) < 0 ||
            (rc = doc_u32(field(node, "bytes"), 0, EXCHANGE_LOG_BYTES_MAX, &want->bytes,
                          reading->err)) < 0)
                return rc;
        want->is_stderr = stream == 1;
        return 0;
}

/* Kinds that are not known here are skipped. */
static int read_want(struct reading *reading, const struct doc_node *node,
                     struct exchange_answer *answer)
{
        const char *kind = "";
        int rc;

        if ((rc = doc_check_map(node, reading->err)) < 0 ||
            (rc = need_text(reading, node, "kind", 1, EXCHANGE_NAME_MAX - 1, &kind)) < 0)
                return rc;
        if (str_equal(kind, "logs"))
                return read_log_want(reading, node, &answer->wants[answer->wants_count++]);
        if (str_equal(kind, "attach"))
                return read_attach(reading, node, &answer->attaches[answer->attaches_count++]);
        return 0;
}

static int read_wants(struct reading *reading, const struct doc_node *list,
                      struct exchange_answer *answer)
{
        int rc = list ? doc_check_list(list, 0, EXCHANGE_WANTS_MAX, reading->err) : 0;

        if (rc < 0)
                return rc;
        answer->wants = arena_array(reading->arena, doc_length(list) + 1, sizeof *answer->wants);
        answer->attaches = arena_array(reading->arena, doc_length(list) + 1,
                                       sizeof *answer->attaches);
        if (!answer->wants || !answer->attaches)
                return no_memory(reading);
        DOC_EACH(node, list)
                if ((rc = read_want(reading, node, answer)) < 0)
                        return rc;
        return 0;
}

/* Controllers before the first negotiation said none. */
static int read_protocol(struct reading *reading, const struct doc_node *root,
                         struct exchange_answer *answer)
{
        static const struct protocols ours = {PROTOCOL_MIN, PROTOCOL_MAX};
        uint32_t theirs = PROTOCOL_MIN;
        int rc = doc_u32(field(root, "protocol"), 0, UINT16_MAX, &theirs, reading->err);

        if (rc < 0)
                return rc;
        return protocol_agree(ours, "this agent", (struct protocols){theirs, theirs},
                              "the controller", &answer->protocol, reading->err);
}

static int read_log(struct reading *reading, const struct doc_node *node,
                    struct exchange_answer *answer)
{
        int rc = node ? doc_copy(node, answer->log, sizeof answer->log, reading->err) : 0;

        if (rc < 0 || !node || exchange_is_log(answer->log))
                return rc;
        return doc_fail(node, reading->err, "is no name of a log: hex digits");
}

static int read_answer(struct reading *reading, const struct doc_node *root,
                       struct exchange_answer *answer)
{
        const struct doc_node *generation, *lease, *runs;
        int rc;

        if ((rc = doc_check_map(root, reading->err)) < 0 ||
            (rc = read_protocol(reading, root, answer)) < 0 ||
            (rc = need(reading, root, "generation", &generation)) < 0 ||
            (rc = need(reading, root, "lease_ms", &lease)) < 0 ||
            (rc = need(reading, root, "runs", &runs)) < 0 ||
            (rc = doc_u64(generation, 0, UINT64_MAX, &answer->generation, reading->err)) < 0 ||
            (rc = doc_i64(lease, LEASE_MS_MIN, LEASE_MS_MAX, &answer->lease_ms, reading->err)) <
                    0 ||
            (rc = read_log(reading, field(root, "log"), answer)) < 0 ||
            (rc = doc_bool(field(root, "started"), &answer->wants_started, reading->err)) < 0 ||
            (rc = read_runs(reading, runs, answer)) < 0)
                return rc;
        return read_wants(reading, field(root, "wants"), answer);
}

int exchange_read(const char *bytes, size_t size, struct exchange_answer **ret_answer,
                  struct err *err)
{
        struct doc *doc;
        int rc = doc_read_json("answer", bytes, size, &doc, err);

        if (rc < 0)
                return rc;
        struct arena *arena = arena_new(0, 0);
        struct exchange_answer *answer = arena ? arena_array(arena, 1, sizeof *answer) : NULL;
        if (!answer) {
                arena_free(arena);
                doc_free(doc);
                return err_set(err, ERR_NOMEM, "out of memory");
        }
        answer->arena = arena;
        rc = read_answer(&(struct reading){arena, err}, doc_root(doc, 0), answer);
        doc_free(doc);
        if (rc < 0)
                exchange_free(answer);
        else
                *ret_answer = answer;
        return rc;
}

void exchange_free(struct exchange_answer *answer)
{
        if (answer)
                arena_free(answer->arena);
}
