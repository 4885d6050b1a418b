/* Enrolments on a disk that fails: a join token is used up and its node enrolled, or neither, at any
 * moment; and what was told is there again. */
#include "tests/unit/check.h"

#include <string.h>

#include "base/mem.h"
#include "controller/core.h"
#include "controller/enrolment.h"
#include "controller/nodes.h"
#include "controller/tokens.h"
#include "tests/unit/controller/world.h"

#define FIRST_UNTIL_MS  (WORLD_START_MS + 1000000)
#define SECOND_UNTIL_MS (WORLD_START_MS + 2000000)

enum told { NOTHING, TOKEN, ENROLLED, RENEWED, ENDING, ENDED };

static struct {
        struct world world, later;
        struct tokens *tokens;
        uint64_t token;
        enum told told;                 /* what was acknowledged last */
        uint64_t operations, crashes;
        bool looks;
} story;

/* ---- what must hold ---- */

static struct node_entry *node_in(const struct world *world)
{
        return nodes_find(world->live.nodes, "n1");
}

static void check(const struct world *world, const struct tokens *tokens, const char *where)
{
        const struct node_entry *node = node_in(world);
        const struct token_entry *token = story.token ? tokens_get(tokens, story.token) : NULL;
        bool enrolled = node && node->enrolment.id > 0;

        if (token && enrolled)
                fail_msg("%s: enrolled, and its token is good for another one", where);
        if (story.told >= TOKEN && story.told < ENDING && !token && !enrolled)
                fail_msg("%s: the token is gone, and nobody is enrolled", where);
        if (story.told >= ENROLLED && token)
                fail_msg("%s: the token that was used is good again", where);
        if (story.told == ENDED && enrolled)
                fail_msg("%s: who was shut out is let in", where);
        if (story.told == RENEWED && enrolled && node->enrolment.until_ms != SECOND_UNTIL_MS)
                fail_msg("%s: the renewal is forgotten", where);
        if (enrolled && node->enrolment.key[0] != 7)
                fail_msg("%s: the key is another", where);
}

static void look(enum fault_loss loss)
{
        struct world *later = &story.later;
        struct tokens *tokens = NULL;
        char where[64];

        snprintf(where, sizeof where, "operation %u, loss %d", (unsigned)story.operations, loss);
        fault_vfs_after_crash(story.world.disks[0], later->disks[0], loss, story.operations);
        later->now_ms = story.world.now_ms;
        if (world_try_start(later) < 0)
                fail_msg("%s: %s", where, later->err.text);
        assert_int_equal(tokens_open(later->live.core, &tokens, NULL), 0);
        check(later, tokens, where);
        story.crashes++;
        world_stop(later);
        tokens_free(tokens);
}

/* All that was not synced is lost, and once in turn another part of it: test_crash.c has them all. */
static void crash_here(void *self)
{
        (void)self;
        story.operations++;
        if (!story.looks)
                return;
        look(FAULT_LOSE_ALL);
        look((enum fault_loss)(1 + story.operations % (FAULT_LOSSES_END - 1)));
}

/* ---- acts ---- */

static int commit(struct act *act)
{
        struct ack ack = {0};

        world_commit(&story.world, act, &ack);
        world_settle(&story.world);
        assert_int_equal(ack.calls, 1);
        return ack.rc;
}

static int make_token(void)
{
        struct token_entry wish = {.role = TOKEN_ROLE_JOIN, .until_ms = INT64_MAX};
        struct act *act = world_act(&story.world);
        char text[TOKEN_TEXT_MAX];

        strcpy(wish.node, "n1");
        strcpy(wish.principal, "node n1");
        assert_int_equal(tokens_make(story.tokens, act, &wish, text, &story.token, NULL), 0);
        return commit(act);
}

static int enrol(void)
{
        struct enrolment wish = {.until_ms = FIRST_UNTIL_MS};
        struct act *act = world_act(&story.world);

        memset(wish.key, 7, sizeof wish.key);
        assert_int_equal(enrolment_make(&story.world.live, act, node_in(&story.world), "ana", &wish,
                                        NULL), 0);
        assert_int_equal(tokens_use_up(story.tokens, act, story.token, NULL), 0);
        return commit(act);
}

static int renew(void)
{
        struct act *act = world_act(&story.world);

        assert_int_equal(enrolment_renew(&story.world.live, act, node_in(&story.world),
                                         SECOND_UNTIL_MS, NULL), 0);
        return commit(act);
}

static int shut_out(void)
{
        struct act *act = world_act(&story.world);

        assert_int_equal(enrolment_end(&story.world.live, act, node_in(&story.world), "revoked",
                                       NULL), 0);
        return commit(act);
}

static void begin(void)
{
        memset(&story, 0, sizeof story);
        world_init(&story.world, "enrolment");
        world_init(&story.later, "later");
        story.later.keeps_models = true;
        world_furnish(&story.world);
        assert_int_equal(tokens_open(story.world.live.core, &story.tokens, NULL), 0);
}

static void finish(void)
{
        world_done(&story.later);
        world_done(&story.world);
        tokens_free(story.tokens);
}

/* ---- the tests ---- */

static void a_token_is_used_up_and_its_node_enrolled_or_neither(void **state)
{
        (void)state;
        begin();
        fault_vfs_on_operation(story.world.disks[0], crash_here, NULL);
        story.looks = true;
        assert_int_equal(make_token(), 0);
        story.told = TOKEN;
        assert_int_equal(enrol(), 0);
        story.told = ENROLLED;
        assert_int_equal(renew(), 0);
        story.told = RENEWED;
        world_tick(&story.world, 1000);
        story.told = ENDING;            /* and the token may not come back */
        assert_int_equal(shut_out(), 0);
        story.told = ENDED;
        world_tick(&story.world, 1000);
        story.looks = false;
        assert_true(story.operations > 10);
        assert_true(story.crashes > 20);
        finish();
}

/* The disk refuses the commit: the controller forgets what it had decided, and it can be done again. */
static void an_enrolment_that_is_not_durable_never_was(void **state)
{
        (void)state;
        static int (*const acts[])(void) = {enrol, renew, shut_out};
        begin();
        struct fault_vfs *disk = story.world.disks[0];
        assert_int_equal(make_token(), 0);
        for (size_t a = 0; a < ARRAY_LEN(acts); a++) {
                const struct enrolment before = node_in(&story.world)->enrolment;
                bool had_token = tokens_get(story.tokens, story.token) != NULL;
                fault_vfs_fail(disk, FAULT_EIO, fault_vfs_operations(disk) + 1, 1000);
                assert_int_equal(acts[a](), -ERR_IO);
                fault_vfs_fail(disk, FAULT_EIO, 0, 0);
                core_retry(story.world.live.core);
                world_settle(&story.world);
                assert_memory_equal(&before, &node_in(&story.world)->enrolment, sizeof before);
                assert_int_equal(tokens_get(story.tokens, story.token) != NULL, had_token);
                assert_int_equal(acts[a](), 0);
        }
        assert_int_equal(node_in(&story.world)->enrolment.id, 0);
        finish();
}

/* One node after the other gets a number that none had. */
static void a_node_that_leaves_the_pool_comes_back_as_another(void **state)
{
        (void)state;
        static const char without[] =
                "kind: Pool\nplanes: {training: {}}\nnodes:\n"
                "  - {name: \"n[2-3]\", plane: training, devices: {model: H100-80, count: 4}, "
                "cpu: 64, ram: 512Gi}\n";
        begin();
        assert_int_equal(make_token(), 0);
        assert_int_equal(enrol(), 0);
        assert_int_equal(node_in(&story.world)->enrolment.id, 1);
        assert_int_equal(world_put_pool(&story.world, without), 0);
        assert_int_equal(node_in(&story.world)->enrolment.id, 0);
        assert_int_equal(world_put_pool(&story.world, world_pool), 0);
        assert_int_equal(node_in(&story.world)->enrolment.id, 0);
        world_stop(&story.world);
        tokens_free(story.tokens);
        world_start(&story.world);
        assert_int_equal(tokens_open(story.world.live.core, &story.tokens, NULL), 0);
        assert_int_equal(node_in(&story.world)->enrolment.id, 0);
        assert_int_equal(make_token(), 0);
        assert_int_equal(enrol(), 0);
        assert_int_equal(node_in(&story.world)->enrolment.id, 2);
        finish();
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_token_is_used_up_and_its_node_enrolled_or_neither),
                cmocka_unit_test(an_enrolment_that_is_not_durable_never_was),
                cmocka_unit_test(a_node_that_leaves_the_pool_comes_back_as_another),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
