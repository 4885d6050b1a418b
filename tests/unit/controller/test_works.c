/* Works: found by number and name, and what facts mean for them. */
#include "tests/unit/check.h"

#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/text.h"
#include "controller/wish.h"
#include "controller/works.h"
#include "engine/fact.h"

static void add(struct works *works, uint64_t id, const char *tenant, const char *name)
{
        struct err err = {0};
        if (works_add(works, id, tenant, name, "ana", 0, &err) < 0)
                fail_msg("%s", err.text);
}

static void a_full_table_and_a_known_number_are_refused(void **state)
{
        (void)state;
        struct works *works = works_new(2);
        struct err err;
        add(works, 1, "web", "a");
        assert_int_equal(works_add(works, 1, "web", "b", "ana", 0, &err), -ERR_EXISTS);
        assert_int_equal(works_room(works), 1);
        add(works, 2, "web", "b");
        assert_int_equal(works_add(works, 3, "web", "c", "ana", 0, &err), -ERR_FULL);
        check_has(err.text, "2 workloads are live");
        assert_int_equal(works_count(works), 2);
        works_drop(works, 4711);
        assert_int_equal(works_count(works), 2);
        works_free(works);
        works_free(NULL);
}

static void a_name_means_the_newest_that_lives(void **state)
{
        (void)state;
        struct works *works = works_new(8);
        add(works, 1, "web", "a");
        add(works, 2, "web", "a");
        add(works, 3, "lab", "a");
        add(works, 4, "web", "a");
        assert_int_equal(works_named(works, "web", "a")->id, 4);
        assert_int_equal(works_named(works, "lab", "a")->id, 3);
        assert_null(works_named(works, "web", "b"));
        works_drop(works, 2);                   /* from the middle */
        assert_int_equal(works_find(works, 4)->older, 1);
        works_drop(works, 4);
        assert_int_equal(works_named(works, "web", "a")->id, 1);
        works_drop(works, 1);
        assert_null(works_named(works, "web", "a"));
        assert_int_equal(works_named(works, "lab", "a")->id, 3);
        works_free(works);
}

enum { MODEL_MAX = 40, NAMES = 5 };

/* Random steps against a plain array, where a name is looked for from the end. */
static void it_behaves_as_an_array_does(void **state)
{
        (void)state;
        struct works *works = works_new(MODEL_MAX);
        static const char *const names[NAMES] = {"a", "b", "c", "d", "e"};
        unsigned name_of[2000] = {0};           /* by number; 0: none lives */
        uint64_t seed = 17, next = 1, live = 0;
        for (unsigned step = 0; step < 1900; step++) {
                seed = map_mix(seed + step);
                if (seed % 5 < 3 && live < MODEL_MAX) {
                        name_of[next] = 1 + (unsigned)(seed / 7 % NAMES);
                        add(works, next, "t", names[name_of[next] - 1]);
                        next++;
                        live++;
                } else if (next > 1) {
                        uint64_t id = 1 + seed / 7 % (next - 1);
                        live -= name_of[id] > 0;
                        name_of[id] = 0;
                        works_drop(works, id);
                }
                assert_int_equal(works_count(works), live);
                for (unsigned n = 0; n < NAMES; n++) {
                        uint64_t id = next - 1;
                        while (id > 0 && name_of[id] != n + 1)
                                id--;
                        const struct work *work = works_named(works, "t", names[n]);
                        assert_int_equal(work ? work->id : 0, id);
                        for (uint64_t older = id; work; work = works_find(works, work->older)) {
                                assert_int_equal(work->id, older);
                                do
                                        older--;
                                while (older > 0 && name_of[older] != n + 1);
                                assert_int_equal(work->older, older);
                        }
                }
        }
        works_free(works);
}

static void follow(struct works *works, enum fact_kind kind, uint64_t id, uint64_t seq)
{
        struct fact fact = {.kind = kind};
        if (kind == FACT_ALLOCATED)
                fact.allocated.workload = id;
        else if (kind == FACT_REQUEUED)
                fact.requeued = (struct fact_requeued){.workload = id, .cause = RELEASE_STOPPED};
        else if (kind == FACT_RELEASED)
                fact.released.workload = id;
        else
                fact.refused.workload = id;
        assert_int_equal(works_follow(works, &fact, 3, (struct works_at){seq, seq, 1000}), 0);
}

static void facts_begin_and_end_runs(void **state)
{
        (void)state;
        struct works *works = works_new(4);
        add(works, 1, "web", "a");
        struct work *work = works_find(works, 1);
        follow(works, FACT_ALLOCATED, 1, 70);
        follow(works, FACT_ALLOCATED, 1, 70);           /* its second member */
        assert_int_equal(work->epoch, 70);
        assert_int_equal(work->members_count, 3);
        assert_int_equal(work->members[2].phase, PHASE_UNKNOWN);
        work->members[0].phase = PHASE_RUNNING;
        work->ending = true;
        follow(works, FACT_REQUEUED, 1, 80);
        assert_int_equal(work->epoch, 0);
        assert_int_equal(work->stops, 1);
        assert_int_equal(work->members_count, 0);
        assert_false(work->ending);
        follow(works, FACT_ALLOCATED, 1, 90);
        assert_int_equal(work->epoch, 90);
        assert_int_equal(work->members[0].phase, PHASE_UNKNOWN);
        follow(works, FACT_ALLOCATED, 4711, 90);        /* has ended since */
        follow(works, FACT_RELEASED, 1, 91);
        assert_null(works_find(works, 1));
        works_free(works);
}

static void what_was_cancelled_stays_so_when_it_waits_again(void **state)
{
        (void)state;
        struct works *works = works_new(4);
        add(works, 1, "web", "a");
        struct work *work = works_find(works, 1);
        follow(works, FACT_ALLOCATED, 1, 70);
        work->wish = WISH_CANCEL;
        follow(works, FACT_REQUEUED, 1, 80);
        assert_int_equal(work->wish, WISH_CANCEL);
        works_free(works);
}

static void what_is_refused_late_is_gone(void **state)
{
        (void)state;
        struct works *works = works_new(4);
        add(works, 1, "web", "a");
        follow(works, FACT_REFUSED, 1, 70);
        assert_null(works_find(works, 1));
        works_free(works);
}

static void without_memory_nothing_is_added(void **state)
{
        (void)state;
        bool failed = true;
        for (unsigned long n = 1; failed; n++) {
                struct works *works = works_new(4);
                assert_non_null(works);
                mem_fail_at(n);
                int rc = works_add(works, 1, "web", "a", "ana", 0, NULL);
                mem_fail_at(0);
                failed = rc < 0;
                if (failed)
                        assert_int_equal(rc, -ERR_NOMEM);
                assert_int_equal(works_count(works), failed ? 0 : 1);
                assert_true((works_find(works, 1) == NULL) == failed);
                if (failed)
                        add(works, 1, "web", "a");
                assert_int_equal(works_named(works, "web", "a")->id, 1);
                works_free(works);
        }
}

static void a_wish_is_read_as_it_was_written(void **state)
{
        (void)state;
        for (unsigned w = 0; w < WISHES_END; w++) {
                struct text text = {0};
                enum work_wish wish = WISHES_END;
                uint64_t id = 0;
                wish_note_write(UINT64_C(1) << 40, (enum work_wish)w, &text);
                assert_true(wish_note_read(text.bytes, text.size, &id, &wish));
                assert_int_equal(wish, w);
                assert_true(id == UINT64_C(1) << 40);
                text_done(&text);
        }
        static const char *const others[] = {"", "{}", "{\"wish\":", "{\"wish\":\"fly\",\"workload\":1}",
                                             "{\"wish\":\"cancel\"}", "{\"wish\":1,\"workload\":1}",
                                             "{\"wish\":\"cancel\",\"workload\":-1}"};
        for (size_t i = 0; i < ARRAY_LEN(others); i++) {
                enum work_wish wish;
                uint64_t id;
                assert_false(wish_note_read(others[i], strlen(others[i]), &id, &wish));
        }
}

/* Counts of persons against a count of all, while works come and go. */
static void persons_are_counted_by_tenant_and_all_above(void **state)
{
        (void)state;
        static const char *const users[] = {"ana", "ben"};
        static const char *const tenants[] = {"a", "a/b", "a/b/c", "ab"};
        static const char *const asked[] = {"", "a", "a/b", "a/b/c", "ab", "a/", "x"};
        struct works *works = works_new(64);
        uint64_t random = 7;

        for (unsigned round = 0; round < 600; round++) {
                random = random * 6364136223846793005u + 1442695040888963407u;
                uint64_t id = 1 + (random >> 33) % 60;
                if (works_find(works, id))
                        works_drop(works, id);
                else
                        assert_int_equal(works_add(works, id, tenants[(random >> 40) % 4], "n",
                                                   users[(random >> 50) % 2], 0, NULL), 0);
                for (unsigned u = 0; u < 2; u++)
                        for (unsigned t = 0; t < ARRAY_LEN(asked); t++) {
                                uint32_t cursor = 0, wanted = 0;
                                size_t length = strlen(asked[t]);
                                for (const struct work *work;
                                     (work = works_next(works, &cursor));)
                                        wanted += strcmp(work->user, users[u]) == 0 &&
                                                  (length == 0 ||
                                                   (strncmp(work->tenant, asked[t], length) == 0 &&
                                                    (work->tenant[length] == '\0' ||
                                                     work->tenant[length] == '/')));
                                assert_int_equal(works_of_person(works, users[u], asked[t]),
                                                 wanted);
                        }
        }
        works_free(works);
}

static void what_is_not_added_is_not_counted(void **state)
{
        (void)state;
        struct works *works;
        int rc = -1;

        for (unsigned long n = 1; rc != 0; n++) {
                works = works_new(8);
                mem_fail_at(n);
                rc = works_add(works, 1, "a/b/c", "n", "ana", 0, NULL);
                mem_fail_at(0);
                assert_int_equal(works_of_person(works, "ana", ""), rc == 0);
                assert_int_equal(works_of_person(works, "ana", "a/b"), rc == 0);
                works_free(works);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_full_table_and_a_known_number_are_refused),
                cmocka_unit_test(a_name_means_the_newest_that_lives),
                cmocka_unit_test(it_behaves_as_an_array_does),
                cmocka_unit_test(facts_begin_and_end_runs),
                cmocka_unit_test(what_was_cancelled_stays_so_when_it_waits_again),
                cmocka_unit_test(what_is_refused_late_is_gone),
                cmocka_unit_test(without_memory_nothing_is_added),
                cmocka_unit_test(a_wish_is_read_as_it_was_written),
                cmocka_unit_test(persons_are_counted_by_tenant_and_all_above),
                cmocka_unit_test(what_is_not_added_is_not_counted),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
