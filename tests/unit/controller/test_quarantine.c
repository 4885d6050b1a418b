/* What crashed the controller: written by a handler, read at the next start, refused then. */
#include "tests/unit/check.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "controller/quarantine.h"
#include "tests/unit/controller/world.h"

static struct world world;
static struct quarantine *quarantine;
static char path[] = "/tmp/berth-test-crash-XXXXXX";
static int64_t crash_ms;                /* of the next record */

static int make_file(void **state)
{
        int fd = mkstemp(path);
        (void)state;
        return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
        (void)state;
        return unlink(path);
}

static void open_again(void)
{
        struct err err;
        if (quarantine_open(world.live.core, &quarantine, &err) < 0)
                fail_msg("%s", err.text);
}

static int begin(void **state)
{
        (void)state;
        world_init(&world, "quarantine");
        world.simulate = true;
        world_furnish(&world);
        world_tick(&world, 0);
        crash_ms = world.now_ms;
        open_again();
        return truncate(path, 0);
}

static int end(void **state)
{
        (void)state;
        quarantine_free(quarantine);
        world_done(&world);
        return 0;
}

/* A start after a crash: the controller is made anew, and the list with it. */
static void start_again(void)
{
        quarantine_free(quarantine);
        world_crash(&world, FAULT_LOSE_NONE, 1);
        world_start(&world);
        world_tick(&world, 0);
        open_again();
}

/* ---- records ---- */

static void add_record(struct text *text, const char *of, const char *head, const char *body)
{
        text_add(text, "berth-crash 1 %s signal=6 at_ns=%lld version=0.1 head=%zu body=%zu\n%s%s\n"
                       "berthd(+0x1)[0x2]\nend\n",
                 of, (long long)(crash_ms++ * 1000000), strlen(head), strlen(body), head, body);
}

static unsigned take(const struct text *text)
{
        unsigned crashes;
        struct err err;
        assert_int_equal(file_write(path, text->bytes ? text->bytes : "", text->size, &err), 0);
        if (quarantine_take(quarantine, path, world.now_ms, &crashes, &err) < 0)
                fail_msg("%s", err.text);
        world_settle(&world);
        return crashes;
}

static unsigned crash(const char *of, const char *head, const char *body)
{
        struct text text = {0};
        add_record(&text, of, head, body);
        unsigned crashes = take(&text);
        text_done(&text);
        return crashes;
}

static const struct quarantine_entry *entry_at(uint32_t place)
{
        const struct quarantine_entry *entry = NULL;
        uint32_t cursor = 0;
        for (uint32_t i = 0; i <= place; i++)
                entry = quarantine_next(quarantine, &cursor);
        return entry;
}

static const char job[] = "kind: Workload\nname: a\ntenant: web\neach: {devices: 1}\n"
                          "run: {command: [sleep, \"9\"]}\n";

static char *submitted(unsigned workload, unsigned tenant, const char *document)
{
        struct text text = {0};
        text_add(&text, "{\"input\":\"submitted\",\"request\":{\"workload\":%u,"
                        "\"need\":{\"where\":%u}", workload, workload);
        if (tenant)                             /* a 0 is left out */
                text_add(&text, ",\"tenant\":%u", tenant);
        text_add(&text, "},\"document\":");
        text_add_json(&text, document);
        text_add(&text, "}");
        return text.bytes;
}

static int submit(void)
{
        struct ack ack = {0};
        struct submitted done;
        int rc = world_submit(&world, job, &ack, &done);
        world_settle(&world);
        return rc;
}

/* As the engine's tenant of the world has it: the input is refused only where the marks agree. */
static void crash_by_submit(void)
{
        unsigned tenant = (unsigned)tenancy_find(core_tenancy(world.live.core), "web");
        char *body = submitted(1, tenant, job);
        assert_int_equal(crash("input", "submitted", body), 1);
        mem_free(body);
}

/* ---- marks ---- */

static struct quarantine_marks marks_of(const char *head, const char *body)
{
        return quarantine_mark(CRASH_INPUT, head, strlen(head), body, strlen(body));
}

static void what_is_the_same_has_a_mark_in_common(void **state)
{
        (void)state;
        static const struct { const char *a, *b; bool same; } rows[] = {
#define REQUEST(rest) "{\"input\":\"submitted\",\"request\":{" rest
#define NAMED(name) "},\"document\":\"name: " name "\"}"
                {REQUEST("\"workload\":1" NAMED("a")),
                 REQUEST("\"workload\":9" NAMED("a")), true},
                /* A sweep: other names, and the engine sees the same. */
                {REQUEST("\"workload\":1" NAMED("a")),
                 REQUEST("\"workload\":9" NAMED("b")), true},
                /* Words that were numbered in another order; a start that was "in an hour". */
                {REQUEST("\"need\":{\"where\":1}" NAMED("a")),
                 REQUEST("\"need\":{\"where\":2}" NAMED("a")), true},
                {REQUEST("\"start_ms\":1" NAMED("a")),
                 REQUEST("\"start_ms\":2" NAMED("b")), true},
                {REQUEST("\"need\":{\"where\":1}" NAMED("a")),
                 REQUEST("\"need\":{\"where\":2}" NAMED("b")), false},
                {REQUEST("\"tenant\":1" NAMED("a")), REQUEST("\"tenant\":2" NAMED("a")), false},
                /* The later tasks of an array bring no document. */
                {REQUEST("\"workload\":1,\"array\":3}}"),
                 REQUEST("\"workload\":2,\"array\":4}}"), true},
                {"{\"input\":\"exited\",\"workload\":5}",
                 "{\"workload\":5,\"input\":\"exited\"}", true},
                {"{\"input\":\"exited\",\"workload\":5}",
                 "{\"input\":\"exited\",\"workload\":6}", false},
                {"", "", true}, {"x", "y", false}, {"[1]", "[2]", false},
        };
        for (size_t r = 0; r < ARRAY_LEN(rows); r++) {
                const struct quarantine_marks a = marks_of("k", rows[r].a),
                                              b = marks_of("k", rows[r].b),
                                              other = marks_of("l", rows[r].b);
                if (quarantine_is_same(&a, &b) != rows[r].same)
                        fail_msg("%s, %s", rows[r].a, rows[r].b);
                assert_false(quarantine_is_same(&a, &other));
        }
}

/* ---- the list ---- */

static void the_third_try_is_refused(void **state)
{
        (void)state;
        crash_by_submit();
        assert_false(entry_at(0)->is_held);
        assert_int_equal(submit(), 0);          /* a suspect is tried again */
        crash_by_submit();
        assert_true(entry_at(0)->is_held);
        assert_string_equal(entry_at(0)->what, "'a' of web");
        assert_int_equal(submit(), -ERR_QUARANTINED);
        assert_non_null(strstr(world.err.text, "berth quarantine release 1"));
        assert_int_equal(quarantine_refused(quarantine), 1);
        world_job(&world, "web", "b", 1);       /* others are taken */
}

static void it_outlives_the_controller_and_its_release_does_too(void **state)
{
        (void)state;
        struct err err;
        crash_by_submit();
        crash_by_submit();
        start_again();
        assert_int_equal(submit(), -ERR_QUARANTINED);
        struct act *act = world_act(&world);
        assert_int_equal(quarantine_release(quarantine, act, 2, &err), -ERR_NOT_FOUND);
        assert_int_equal(quarantine_release(quarantine, act, 1, &err), 0);
        world_commit(&world, act, NULL);
        world_settle(&world);
        start_again();
        assert_null(entry_at(0));
        assert_int_equal(submit(), 0);
        crash_by_submit();                      /* from the beginning, with a new number */
        assert_false(entry_at(0)->is_held);
        assert_int_equal(entry_at(0)->id, 2);
}

static void a_record_that_is_read_twice_counts_once(void **state)
{
        (void)state;
        struct text text = {0};
        add_record(&text, "input", "exited", "{\"input\":\"exited\",\"workload\":5}");
        assert_int_equal(take(&text), 1);
        assert_int_equal(take(&text), 0);
        start_again();
        assert_int_equal(take(&text), 0);
        assert_false(entry_at(0)->is_held);
        assert_string_equal(entry_at(0)->what, "workload 5");
        text_done(&text);
}

static void a_suspect_is_forgotten_after_a_day(void **state)
{
        (void)state;
        struct text none = {0};
        crash_by_submit();
        crash_ms += QUARANTINE_WITHIN_MS;
        world.now_ms = crash_ms;
        crash_by_submit();                      /* the second one, a day later: the first again */
        assert_false(entry_at(0)->is_held);
        world.now_ms += QUARANTINE_WITHIN_MS + 10;
        assert_int_equal(take(&none), 0);
        assert_null(entry_at(0));
        crash_ms = world.now_ms;
        crash_by_submit();
        crash_by_submit();
        world.now_ms += 100 * QUARANTINE_WITHIN_MS;
        assert_int_equal(take(&none), 0);
        assert_true(entry_at(0)->is_held);      /* what is held stays so */
}

static void a_tick_that_passes_is_no_suspect(void **state)
{
        (void)state;
        static const char tick[] = "{\"input\":\"time_ticked\"}";
        crash("input", "time_ticked", tick);
        assert_non_null(entry_at(0));
        world_tick(&world, 100);
        assert_null(entry_at(0));
        start_again();
        assert_null(entry_at(0));
        crash("input", "time_ticked", tick);
        crash("input", "time_ticked", tick);
        assert_false(world.live.time_stands);
        world_tick(&world, 100);
        assert_true(world.live.time_stands);
        assert_true(entry_at(0)->is_held);
        world_job(&world, "web", "c", 1);       /* work is taken all the same */
}

static void three_kinds_hold_the_engine(void **state)
{
        (void)state;
        crash("input", "exited", "{\"input\":\"exited\",\"workload\":5}");
        crash("input", "exited", "{\"input\":\"exited\",\"workload\":6}");
        crash("request", "GET /v1/pool", "");
        crash("input", "time_ticked", "{\"input\":\"time_ticked\"}");
        assert_int_equal(submit(), 0);
        crash_by_submit();
        assert_int_equal(submit(), -ERR_QUARANTINED);
        assert_non_null(strstr(world.err.text, "nothing is decided now"));
        assert_int_equal(entry_at(5)->of, CRASH_OTHER);
        struct act *act = world_act(&world);
        assert_int_equal(quarantine_release(quarantine, act, entry_at(5)->id, NULL), 0);
        world_commit(&world, act, NULL);
        world_settle(&world);
        assert_int_equal(submit(), 0);
}

static void requests_are_held_by_method_target_and_body(void **state)
{
        (void)state;
        struct err err;
        char longest[200];
        memset(longest, 'x', sizeof longest - 1);
        longest[sizeof longest - 1] = '\0';
        memcpy(longest, "GET /", 5);
        const char *const heads[] = {"GET /v1/pool", longest};
        for (size_t h = 0; h < ARRAY_LEN(heads); h++) {
                crash("request", heads[h], "{}");
                crash("request", heads[h], "{}");
                assert_int_equal(quarantine_check(quarantine, CRASH_REQUEST, heads[h], "{}", 2,
                                                  &err), -ERR_QUARANTINED);
                assert_int_equal(quarantine_check(quarantine, CRASH_REQUEST, heads[h], "[]", 2,
                                                  &err), 0);
        }
        assert_int_equal(quarantine_check(quarantine, CRASH_REQUEST, "GET /v1/poo", "{}", 2, &err),
                         0);
        longest[100] = 'y';
        assert_int_equal(quarantine_check(quarantine, CRASH_REQUEST, longest, "{}", 2, &err), 0);
}

static void the_list_says_who_asked_and_for_what(void **state)
{
        (void)state;
        static const struct { const char *head, *body, *by, *kind, *what; } rows[] = {
                {"GET /v1/review?by=day&tenant=lab%2Fa", "", "ana", "GET /v1/review",
                 "?by=day&tenant=lab/a"},
                {"GET /v1/pool", "", "uid 1002", "GET /v1/pool", ""},
                {"GET /v1/x?\xff\n", "", "ana", "GET /v1/x", "???"},
                {"POST /v1/workloads?dry_run=true", "kind: Workload\nname: a\ntenant: web\n", "ana",
                 "POST /v1/workloads", "'a' of web"},
                {"POST /v1/workloads", "{\"kind\": \"Workload\", \"name\": \"b\"}", "",
                 "POST /v1/workloads", "'b'"},
                {"POST /v1/tokens?x=1", "[not: a, document", "ana", "POST /v1/tokens", "?x=1"},
        };
        for (uint32_t r = 0; r < ARRAY_LEN(rows); r++) {
                struct text text = {0};
                struct err err;
                for (unsigned times = 0; times < 2; times++)
                        text_add(&text, "berth-crash 1 request signal=6 at_ns=%lld version=0.1"
                                        " head=%zu body=%zu by=%zu\n%s%s%s\nstack\nend\n",
                                 (long long)(crash_ms++ * 1000000), strlen(rows[r].head),
                                 strlen(rows[r].body), strlen(rows[r].by), rows[r].head,
                                 rows[r].body, rows[r].by);
                assert_int_equal(take(&text), 2);
                text_done(&text);
                const struct quarantine_entry *entry = entry_at(r);
                assert_string_equal(entry->kind, rows[r].kind);
                assert_string_equal(entry->what, rows[r].what);
                assert_string_equal(entry->by, rows[r].by);
                assert_int_equal(quarantine_check(quarantine, CRASH_REQUEST, rows[r].head,
                                                  rows[r].body, strlen(rows[r].body), &err),
                                 -ERR_QUARANTINED);
        }
        assert_int_equal(quarantine_check(quarantine, CRASH_REQUEST, "GET /v1/review?by=day", "",
                                          0, NULL), 0);
        start_again();
        assert_string_equal(entry_at(0)->by, "ana");
}

/* Auditors read the list: what somebody types is not theirs. */
static void what_is_typed_at_a_terminal_is_not_kept(void **state)
{
        static const char typed[] = "{\"password\":\"hunter2\"}";
        (void)state;
        crash("request", "POST /v1/attachments/0a1b/input?offset=0", typed);
        crash("request", "POST /v1/nodes/n1/attachments/0a1b/output", typed);
        crash("request", "POST /v1/workloads", typed);
        static const char *const kept[] = {"", "", typed};
        for (uint32_t e = 0; e < ARRAY_LEN(kept); e++)
                assert_string_equal(json_string_value(json_object_get(entry_at(e)->about, "input")),
                                    kept[e]);
}

static void where_the_list_is_full_the_oldest_suspect_makes_room(void **state)
{
        (void)state;
        char head[64];
        crash_by_submit();
        crash_by_submit();
        for (unsigned i = 0; i < QUARANTINE_MAX; i++) {
                snprintf(head, sizeof head, "GET /v1/%u", i);
                crash("request", head, "");
        }
        assert_null(entry_at(QUARANTINE_MAX));
        assert_true(entry_at(0)->is_held);
        assert_string_equal(entry_at(1)->kind, "GET /v1/1");
}

/* ---- agents, whose reports nobody can take back ---- */

static int begin_agents(void **state)
{
        (void)state;
        world_init(&world, "quarantine");
        world_furnish(&world);
        json_decref(world_report(&world, "n1", "[]"));
        open_again();
        crash_ms = world.now_ms;
        return 0;
}

static bool report(const char *phase, uint64_t first, uint64_t second)
{
        char runs[400];
        const struct work *a = world_work(&world, first), *b = world_work(&world, second);
        snprintf(runs, sizeof runs,
                 "[{\"workload\":%u,\"member\":0,\"epoch\":%u,%s},"
                 "{\"workload\":%u,\"member\":0,\"epoch\":%u,%s}]",
                 (unsigned)first, a ? (unsigned)a->epoch : 0, phase, (unsigned)second,
                 b ? (unsigned)b->epoch : 0, phase);
        json_t *answer = world_report(&world, "n1", runs);
        json_decref(answer);
        return answer != NULL;
}

static void an_end_that_is_held_holds_up_nobody_else(void **state)
{
        (void)state;
        char body[64], row[32], detail[512];
        uint64_t bad = world_job(&world, "web", "bad", 1),
                 good = world_job(&world, "web", "good", 1);
        assert_true(report("\"phase\":\"running\"", bad, good));
        snprintf(body, sizeof body, "{\"input\":\"exited\",\"workload\":%u}", (unsigned)bad);
        crash("input", "exited", body);
        crash("input", "exited", body);
        assert_true(report("\"phase\":\"exited\",\"exit_code\":0", bad, good));
        world_row(&world, good, row, detail);
        assert_string_equal(row, "succeeded");
        world_tick(&world, 1000);
        assert_true(world_work(&world, bad)->quarantined);
        assert_true(report("\"phase\":\"exited\",\"exit_code\":0", bad, good));
        struct act *act = world_act(&world);
        assert_int_equal(quarantine_release(quarantine, act, entry_at(0)->id, NULL), 0);
        world_commit(&world, act, NULL);
        world_settle(&world);
        world_tick(&world, 1000);               /* told again, by itself */
        world_row(&world, bad, row, detail);
        assert_string_equal(row, "succeeded");
}

/* ---- the handler ---- */

enum how {
        BY_ASSERT, BY_FAULT, BY_HANGING, BY_OVERFLOW, BY_REQUEST, BESIDE, BESIDE_BY_OVERFLOW,
        OUTSIDE, HOWS
};

static int overflow(volatile int depth)
{
        volatile char room[4096];
        room[0] = (char)depth;
        return depth < 0 ? 0 : overflow(depth + 1) + room[0];
}

static void *hang(void *how)
{
        volatile uintptr_t nowhere = 8;
        if (*(enum how *)how == BY_FAULT)
                *(volatile int *)nowhere = 1;
        while (*(enum how *)how == BY_HANGING)
                ;
        return NULL;
}

static void *crash_in_thread(void *arg)
{
        enum how how = *(enum how *)arg;
        const struct crash_request request = {.head = "GET /v1/y", .body = "{1}", .by = "ben",
                                              .size = 3};
        crash_enter_beside(2, &request);
        crash_leave_beside(2);
        crash_enter_beside(2, &request);
        if (how == BESIDE_BY_OVERFLOW)
                (void)overflow(0);
        abort();
}

/* While the first thread is at something else. */
static void crash_beside(enum how *how)
{
        pthread_t thread;
        (void)pthread_create(&thread, NULL, crash_in_thread, how);
        (void)pthread_join(thread, NULL);
}

/* As a program of its own: without a core, and without cmocka's handlers. */
static void be_alone(void)
{
        static const int caught[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};
        const struct rlimit none = {0};
        (void)setrlimit(RLIMIT_CORE, &none);
        (void)!freopen("/dev/null", "w", stderr);
        for (size_t c = 0; c < ARRAY_LEN(caught); c++)
                (void)signal(caught[c], SIG_DFL);
}

static void crash_in_child(enum how how)
{
        struct err err;
        be_alone();
        if (crash_watch(path, "0.1", 200, &err) < 0)
                _exit(99);
        crash_enter(CRASH_REQUEST, "POST /v1/x", "{}", 2);
        crash_asked_by("ana");
        if (how == BESIDE || how == BESIDE_BY_OVERFLOW)
                crash_beside(&how);
        if (how != BY_REQUEST)
                crash_enter(CRASH_INPUT, "submitted", "{\"input\":1}", 11);
        if (how == OUTSIDE) {
                crash_leave(CRASH_INPUT);
                crash_leave(CRASH_REQUEST);
        }
        if (how == BY_OVERFLOW)
                (void)overflow(0);
        (void)hang(&how);
        abort();
}

static int see_one(void *arg, const struct crash_record *record, struct err *err)
{
        (void)err;
        struct crash_record *one = arg;
        assert_null(one->head);
        *one = *record;
        return 0;
}

static void a_crash_of_each_kind_is_written_down(void **state)
{
        (void)state;
        static const struct {
                int signal;
                enum crash_of of;
                const char *head, *body, *by;
        } want[] = {
                [BY_ASSERT] = {SIGABRT, CRASH_INPUT, "submitted", "{\"input\":1}", "ana"},
                [BY_FAULT] = {SIGSEGV, CRASH_INPUT, "submitted", "{\"input\":1}", "ana"},
                [BY_HANGING] = {SIGABRT, CRASH_INPUT, "submitted", "{\"input\":1}", "ana"},
                [BY_OVERFLOW] = {SIGSEGV, CRASH_INPUT, "submitted", "{\"input\":1}", "ana"},
                [BY_REQUEST] = {SIGABRT, CRASH_REQUEST, "POST /v1/x", "{}", "ana"},
                [BESIDE] = {SIGABRT, CRASH_REQUEST, "GET /v1/y", "{1}", "ben"},
                [BESIDE_BY_OVERFLOW] = {SIGSEGV, CRASH_REQUEST, "GET /v1/y", "{1}", "ben"},
                [OUTSIDE] = {SIGABRT, CRASH_OTHER, "", "", ""},
        };
        for (unsigned how = 0; how < HOWS; how++) {
                struct crash_record record = {0};
                int status;
                char *bytes;
                size_t size;
                assert_int_equal(truncate(path, 0), 0);
                pid_t child = fork();
                if (child == 0)
                        crash_in_child(how);
                assert_int_equal(waitpid(child, &status, 0), child);
                /* A sanitizer ends it in its own way. */
                assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 1);
                assert_int_equal(file_read(path, 1 << 20, &bytes, &size, NULL), 0);
                assert_int_equal(crash_read(bytes, size, see_one, &record, NULL), 0);
                if (!record.head)
                        fail_msg("crash %u left no record", how);
                assert_int_equal(record.signal, want[how].signal);
                assert_int_equal(record.of, want[how].of);
                assert_int_equal(record.head_size, strlen(want[how].head));
                assert_memory_equal(record.head, want[how].head, record.head_size);
                assert_int_equal(record.body_size, strlen(want[how].body));
                assert_memory_equal(record.body, want[how].body, record.body_size);
                assert_int_equal(record.by_size, strlen(want[how].by));
                assert_memory_equal(record.by, want[how].by, record.by_size);
                assert_true(record.stack_size > 20);
                mem_free(bytes);
        }
}

static void *abort_here(void *arg)
{
        (void)arg;
        abort();
}

/* The writer of the store, say: what is being decided has nothing to do with it. */
static void another_thread_blames_nothing(void **state)
{
        (void)state;
        struct crash_record record = {0};
        int status;
        char *bytes;
        size_t size;
        assert_int_equal(truncate(path, 0), 0);
        pid_t child = fork();
        if (child == 0) {
                pthread_t thread;
                be_alone();
                if (crash_watch(path, "0.1", 0, NULL) < 0)
                        _exit(99);
                crash_enter(CRASH_INPUT, "submitted", "{}", 2);
                if (fork() == 0)
                        abort();                /* a child writes nothing */
                (void)wait(NULL);
                (void)pthread_create(&thread, NULL, abort_here, NULL);
                (void)pthread_join(thread, NULL);
                _exit(0);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(file_read(path, 1 << 20, &bytes, &size, NULL), 0);
        assert_int_equal(crash_read(bytes, size, see_one, &record, NULL), 0);
        assert_int_equal(record.of, CRASH_OTHER);
        mem_free(bytes);
}

static void records_that_are_cut_or_no_records(void **state)
{
        (void)state;
        static const struct { const char *text; int rc; } rows[] = {
                {"", 0},
                {"berth-crash 1 input signal=6 at_ns=5 version=1 head=1 body=2\nab", -ERR_INPUT},
                {"berth-crash 1 input signal=6 at_ns=5 version=1 head=1 body=2\nabc", 0},
                {"berth-crash 1 input signal=6 at_ns=5 version=1 head=1 body=2\nabc\nx\nend\n", 0},
                {"berth-crash 1 input signal=65 at_ns=5 version=1 head=0 body=0\n", -ERR_INPUT},
                {"berth-crash 1 input signal= at_ns=5 version=1 head=0 body=0\n", -ERR_INPUT},
                {"berth-crash 1 input signal=6 at_ns=5 version=1 head=0 body=18446744073709551615"
                 "\n", -ERR_INPUT},
                {"berth-crash 1 input signal=6 at_ns=9223372036854775808 version=1 head=0 body=0\n",
                 -ERR_INPUT},
                {"berth-crash 1 none signal=6 at_ns=5 version=1 head=0 body=0\n", -ERR_INPUT},
                {"berth-crash 1 input signal=6 at_ns=5 version=1 head=1 body=2 by=2\nabc", 0},
                {"berth-crash 1 input signal=6 at_ns=5 version=1 head=1 body=2 by=2\nabcd", 0},
                {"berth-crash 1 input signal=6 at_ns=5 version=1 head=1 body=2 by=2\nabcde\nx\n"
                 "end\n", 0},
                {"berth-crash 1 input signal=6 at_ns=5 version=1 head=1 body=2 by=129\nabc",
                 -ERR_INPUT},
                {"berth-crash 2 input signal=6 at_ns=5 version=1 head=0 body=0\n", -ERR_INPUT},
                {"something else", -ERR_INPUT},
        };
        for (size_t r = 0; r < ARRAY_LEN(rows); r++) {
                struct crash_record record = {0};
                struct err err = {0};
                int rc = crash_read(rows[r].text, strlen(rows[r].text), see_one, &record, &err);
                if (rc != rows[r].rc)
                        fail_msg("row %zu: %d %s", r, rc, err.text);
                assert_int_equal(rc == 0, err.text[0] == '\0');
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(what_is_the_same_has_a_mark_in_common),
                cmocka_unit_test_setup_teardown(the_third_try_is_refused, begin, end),
                cmocka_unit_test_setup_teardown(it_outlives_the_controller_and_its_release_does_too,
                                                begin, end),
                cmocka_unit_test_setup_teardown(a_record_that_is_read_twice_counts_once, begin,
                                                end),
                cmocka_unit_test_setup_teardown(a_suspect_is_forgotten_after_a_day, begin, end),
                cmocka_unit_test_setup_teardown(a_tick_that_passes_is_no_suspect, begin, end),
                cmocka_unit_test_setup_teardown(three_kinds_hold_the_engine, begin, end),
                cmocka_unit_test_setup_teardown(requests_are_held_by_method_target_and_body, begin,
                                                end),
                cmocka_unit_test_setup_teardown(
                        where_the_list_is_full_the_oldest_suspect_makes_room, begin, end),
                cmocka_unit_test_setup_teardown(the_list_says_who_asked_and_for_what, begin, end),
                cmocka_unit_test_setup_teardown(what_is_typed_at_a_terminal_is_not_kept, begin,
                                                end),
                cmocka_unit_test_setup_teardown(an_end_that_is_held_holds_up_nobody_else,
                                                begin_agents, end),
                cmocka_unit_test(a_crash_of_each_kind_is_written_down),
                cmocka_unit_test(another_thread_blames_nothing),
                cmocka_unit_test(records_that_are_cut_or_no_records),
        };
        return cmocka_run_group_tests(tests, make_file, remove_file);
}
