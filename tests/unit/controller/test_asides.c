/* Questions that are answered aside: in whose turn, from what, and how each one ends. */
#include "tests/unit/check.h"

#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>
#include <uv.h>

#include "controller/asides.h"
#include "controller/core.h"
#include "store/log.h"
#include "tests/unit/controller/world.h"

enum { QUESTIONS = 16 };

static struct world world;
static uv_loop_t loop;
static struct asides *asides;

/* What a question does in the thread, and what became of it. */
struct question {
        char name[8];
        sem_t begun, may_end;           /* where `waits` */
        bool waits, until_stopped;
        bool is_unwanted;
        uint64_t seqs[2];               /* of the log's head, before and after it waited */
        struct question *then;          /* asked when this one is done */
        unsigned done;
        int rc;
        char text[240];
};

static struct question questions[QUESTIONS];
static char order[64];                  /* names, as they were done */

static int work(void *self, struct store *view, store_stops *stops, void *stops_arg,
                struct err *err)
{
        struct question *question = self;
        struct log_head head = {0};
        int rc = log_head(view, &head, err);

        question->seqs[0] = head.seq;
        if (question->waits) {
                (void)sem_post(&question->begun);
                (void)sem_wait(&question->may_end);
        }
        while (question->until_stopped && !stops(stops_arg))
                ;
        if (question->until_stopped)
                return err_set(err, ERR_CANCELLED, "stopped");
        if (rc == 0)
                rc = log_head(view, &head, err);
        question->seqs[1] = head.seq;
        return rc;
}

static bool is_unwanted(void *self)
{
        return ((struct question *)self)->is_unwanted;
}

static void ask_then(struct question *question);

static void done(void *self, int rc, const struct err *err)
{
        struct question *question = self;

        question->done++;
        question->rc = rc;
        snprintf(question->text, sizeof question->text, "%s", rc ? err->text : "");
        strcat(order, question->name);
        if (question->then)
                ask_then(question->then);
}

#define KIND(it, pieces)                                                              \
        {                                                                              \
                .lane = it, .in_pieces = pieces, .if_too_long = "ask for less",        \
                .work = work, .is_unwanted = is_unwanted, .done = done                 \
        }
static const struct aside_kind sums = KIND(ASIDE_SUMS, false), past = KIND(ASIDE_PAST, true);

static int add(struct question *question, const struct aside_kind *kind, const char *by,
               const char *name)
{
        const struct aside aside = {.kind = kind, .self = question,
                                    .request = {.head = "GET /x", .body = "", .by = by}};

        snprintf(question->name, sizeof question->name, "%s", name);
        return asides_add(asides, &aside, &world.err);
}

/* As a client does whose connection has brought the next request meanwhile. */
static void ask_then(struct question *question)
{
        question->rc = add(question, &sums, "eva", "t");
}

static struct question *ask(const struct aside_kind *kind, const char *by, const char *name)
{
        struct question *question = questions;

        while (question->name[0])
                question++;
        assert_int_equal(add(question, kind, by, name), 0);
        return question;
}

/* One that holds its lane until it is let go. */
static struct question *ask_and_hold(const struct aside_kind *kind, const char *by,
                                     const char *name)
{
        struct question *question = questions;

        while (question->name[0])
                question++;
        question->waits = true;
        assert_int_equal(add(question, kind, by, name), 0);
        assert_int_equal(sem_wait(&question->begun), 0);
        return question;
}

static void let_go(struct question *question)
{
        assert_int_equal(sem_post(&question->may_end), 0);
}

/* Until nothing is under way: the loop has no other handle. */
static void run_loop(void)
{
        (void)uv_run(&loop, UV_RUN_DEFAULT);
}

static int start(void **state)
{
        (void)state;
        world_init(&world, "asides");
        world_furnish(&world);
        memset(questions, 0, sizeof questions);
        order[0] = '\0';
        for (unsigned q = 0; q < QUESTIONS; q++) {
                (void)sem_init(&questions[q].begun, 0, 0);
                (void)sem_init(&questions[q].may_end, 0, 0);
        }
        asides = asides_new(&loop, world.live.core);
        return uv_loop_init(&loop) || !asides;
}

static int stop(void **state)
{
        (void)state;
        asides_free(asides);
        run_loop();
        for (unsigned q = 0; q < QUESTIONS; q++) {
                (void)sem_destroy(&questions[q].begun);
                (void)sem_destroy(&questions[q].may_end);
        }
        world_done(&world);
        return uv_loop_close(&loop);
}

static void persons_take_turns(void **state)
{
        (void)state;
        struct question *first = ask_and_hold(&sums, "ana", "a");
        (void)ask(&sums, "ana", "b");
        (void)ask(&sums, "ana", "c");
        (void)ask(&sums, "ben", "X");
        (void)ask(&sums, "eva", "1");
        (void)ask(&sums, "ben", "Y");
        let_go(first);
        run_loop();
        assert_string_equal(order, "aX1bYc");
}

static void what_is_slow_holds_up_nothing_that_is_quick(void **state)
{
        (void)state;
        struct question *slow = ask_and_hold(&past, "ana", "s");
        struct question *quick = ask(&sums, "ana", "q");
        while (quick->done == 0)
                (void)uv_run(&loop, UV_RUN_ONCE);
        assert_int_equal(slow->done, 0);
        let_go(slow);
        run_loop();
        assert_string_equal(order, "qs");
}

static void a_lane_that_is_full_takes_no_more(void **state)
{
        (void)state;
        static const char *const persons[] = {"ana", "ben", "eva", "uwe"};
        struct question more = {.done = 0};
        struct question *first = ask_and_hold(&past, "ana", "a");
        (void)ask(&past, "ana", "a");
        assert_int_equal(add(&more, &past, "ana", "no"), -ERR_FULL);
        check_has(world.err.text, "2 such questions of yours wait");
        for (unsigned p = 1; p < 4; p++) {
                (void)ask(&past, persons[p], "p");
                (void)ask(&past, persons[p], "p");
        }
        assert_int_equal(add(&more, &past, "zoe", "no"), -ERR_FULL);
        check_has(world.err.text, "8 such questions wait");
        assert_int_equal(more.done, 0);         /* what is not taken is not told */
        let_go(first);
        run_loop();
        assert_int_equal(strlen(order), 8);
        (void)ask(&past, "zoe", "z");
        run_loop();
        assert_int_equal(strlen(order), 9);
}

/* Nobody was told of it yet, but it may be on its way to who asks. */
static void it_waits_for_what_was_decided_before(void **state)
{
        (void)state;
        struct submitted submitted;
        assert_int_equal(world_submit(&world, "{kind: Workload, tenant: web, name: a,"
                                              " each: {devices: 1, model: H100-80},"
                                              " run: {command: [x]}}", NULL, &submitted), 0);
        uint64_t seq = core_last_seq(world.live.core);
        assert_false(core_is_durable(world.live.core, seq));
        struct question *question = ask(&sums, "ana", "q");
        run_loop();
        assert_int_equal(question->done, 0);
        world_settle(&world);
        run_loop();
        assert_int_equal(question->done, 1);
        assert_int_equal(question->rc, 0);
        assert_true(question->seqs[0] >= seq);
}

static void all_of_an_answer_is_of_one_moment(void **state)
{
        (void)state;
        static const struct aside_kind *const kinds[] = {&sums, &past};
        for (unsigned k = 0; k < 2; k++) {
                struct question *question = ask_and_hold(kinds[k], "ana", "q");
                (void)world_job(&world, "web", k ? "b" : "a", 1);
                let_go(question);
                run_loop();
                assert_int_equal(question->rc, 0);
                if (kinds[k]->in_pieces)
                        assert_true(question->seqs[1] > question->seqs[0]);
                else
                        assert_int_equal(question->seqs[1], question->seqs[0]);
        }
}

/* The disk fails before what was decided is on it: a question that holds some of that is told, and
 * others are answered from what is there. */
static void reads_go_on_when_the_store_is_in_trouble(void **state)
{
        (void)state;
        struct submitted submitted;
        uint64_t good = core_last_seq(world.live.core);
        struct fault_vfs *disk = world.disks[0];
        fault_vfs_fail(disk, FAULT_EIO, fault_vfs_operations(disk) + 1, 1000000);
        assert_int_equal(world_submit(&world, "{kind: Workload, tenant: web, name: a,"
                                              " each: {devices: 1, model: H100-80},"
                                              " run: {command: [x]}}", NULL, &submitted), 0);
        struct aside_kind seeing = past;
        seeing.has_seen_state = true;
        struct question *lost = ask(&seeing, "ana", "l"), *stays = ask(&sums, "ana", "s");
        world_settle(&world);
        run_loop();
        assert_int_equal(lost->done, 1);
        assert_int_equal(lost->rc, -ERR_IO);
        assert_int_equal(stays->done, 1);
        assert_int_equal(stays->rc, 0);
        assert_int_equal(stays->seqs[0], good);
        assert_true(core_may_act(world.live.core, NULL) < 0);
        fault_vfs_fail(disk, FAULT_EIO, 0, 0);
        struct question *next = ask(&sums, "ana", "n");
        run_loop();
        assert_int_equal(next->rc, 0);
        assert_int_equal(next->seqs[0], good);
}

static void what_nobody_wants_ends(void **state)
{
        (void)state;
        questions[0].until_stopped = true;
        struct question *runs = ask(&sums, "ana", "r"), *waits = ask(&sums, "ben", "w");
        struct question *stays = ask(&sums, "eva", "s");
        runs->is_unwanted = waits->is_unwanted = true;
        asides_look(asides, false);
        assert_int_equal(waits->done, 1);
        assert_int_equal(waits->rc, -ERR_CANCELLED);
        run_loop();
        assert_int_equal(runs->rc, -ERR_CANCELLED);
        check_has(runs->text, "nobody waits");
        assert_int_equal(stays->rc, 0);
        assert_string_equal(order, "wrs");
}

/* Also of what still waits for the disk: whose turn to be told by it comes when all is gone. */
static void at_the_end_all_are_told_once(void **state)
{
        (void)state;
        struct submitted submitted;
        questions[0].until_stopped = true;
        let_go(ask_and_hold(&past, "ana", "r"));        /* has read: the disk is of one thread */
        (void)ask(&past, "ana", "w");
        assert_int_equal(world_submit(&world, "{kind: Workload, tenant: web, name: a,"
                                              " each: {devices: 1, model: H100-80},"
                                              " run: {command: [x]}}", NULL, &submitted), 0);
        (void)ask(&sums, "ben", "d");
        asides_free(asides);
        asides = NULL;
        for (unsigned q = 0; q < 3; q++) {
                assert_int_equal(questions[q].done, 1);
                assert_int_equal(questions[q].rc, -ERR_CANCELLED);
        }
        world_settle(&world);
        run_loop();
        assert_int_equal(strlen(order), 3);
}

static void nothing_is_taken_while_it_ends(void **state)
{
        (void)state;
        struct question *last = questions, *late = questions + 1;
        last->until_stopped = true;
        last->then = late;
        assert_int_equal(add(last, &past, "ana", "l"), 0);
        asides_free(asides);
        asides = NULL;
        assert_int_equal(last->done, 1);
        assert_int_equal(late->rc, -ERR_CANCELLED);
        assert_int_equal(late->done, 0);
        run_loop();
        assert_string_equal(order, "l");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(persons_take_turns, start, stop),
                cmocka_unit_test_setup_teardown(what_is_slow_holds_up_nothing_that_is_quick, start,
                                                stop),
                cmocka_unit_test_setup_teardown(a_lane_that_is_full_takes_no_more, start, stop),
                cmocka_unit_test_setup_teardown(it_waits_for_what_was_decided_before, start, stop),
                cmocka_unit_test_setup_teardown(all_of_an_answer_is_of_one_moment, start, stop),
                cmocka_unit_test_setup_teardown(reads_go_on_when_the_store_is_in_trouble, start,
                                                stop),
                cmocka_unit_test_setup_teardown(what_nobody_wants_ends, start, stop),
                cmocka_unit_test_setup_teardown(at_the_end_all_are_told_once, start, stop),
                cmocka_unit_test_setup_teardown(nothing_is_taken_while_it_ends, start, stop),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
