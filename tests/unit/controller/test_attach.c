/* Sessions of terminals: pipes that take a piece once, and when a session is over. */
#include "tests/unit/check.h"

#include <stdlib.h>

#include "base/err.h"
#include "base/mem.h"
#include "controller/attach.h"
#include "controller/nodes.h"

static struct attach_pipe pipe_;

static uint64_t put(uint64_t offset, const char *bytes, size_t size)
{
        uint64_t end = UINT64_MAX;
        struct err err;

        if (attach_put(&pipe_, offset, bytes, size, &end, &err) < 0)
                fail_msg("%s", err.text);
        return end;
}

static void a_piece_is_taken_once(void **state)
{
        (void)state;
        struct err err = {0};
        uint64_t end;

        pipe_ = (struct attach_pipe){0};
        assert_int_equal(put(0, "hello", 5), 5);
        assert_int_equal(put(0, "hello", 5), 5);        /* the answer was lost */
        assert_int_equal(put(3, "lo, you", 7), 10);     /* half of it came before */
        assert_memory_equal(pipe_.bytes, "hello, you", 10);
        assert_int_equal(attach_put(&pipe_, 11, "x", 1, &end, &err), -ERR_INPUT);
        check_has(err.text, "10 to 11 did not come");
        assert_int_equal(attach_have(&pipe_, 7, &err), 0);
        assert_memory_equal(pipe_.bytes, "you", 3);
        assert_int_equal(put(5, "?? you", 5), 10);      /* late, and long read */
        assert_int_equal(attach_have(&pipe_, 6, &err), -ERR_INPUT);
        assert_int_equal(attach_have(&pipe_, 11, &err), -ERR_INPUT);
        assert_int_equal(attach_have(&pipe_, 7, &err), 0);
        pipe_.has_ended = true;
        assert_int_equal(attach_put(&pipe_, 10, "x", 1, &end, &err), -ERR_INPUT);
        assert_int_equal(put(7, "you", 3), 10);
        assert_int_equal(attach_have(&pipe_, 10, &err), 0);
        assert_int_equal(pipe_.size, 0);
}

static void a_full_pipe_takes_no_more(void **state)
{
        (void)state;
        static char much[ATTACH_PIPE_BYTES + 1];
        struct err err;

        pipe_ = (struct attach_pipe){0};
        assert_int_equal(put(0, much, sizeof much), ATTACH_PIPE_BYTES);
        assert_int_equal(put(ATTACH_PIPE_BYTES, "x", 1), ATTACH_PIPE_BYTES);
        assert_int_equal(attach_have(&pipe_, 1, &err), 0);
        assert_int_equal(put(ATTACH_PIPE_BYTES, "xy", 2), ATTACH_PIPE_BYTES + 1);
        assert_int_equal(pipe_.bytes[ATTACH_PIPE_BYTES - 1], 'x');
}

/* Pieces of any size, said again, read in any steps: what comes out is what went in. */
static void at_random_it_comes_out_as_it_went_in(void **state)
{
        (void)state;
        enum { BYTES = 400000 };
        char *in = mem_new(BYTES, 1), *out = mem_new(BYTES, 1);
        uint64_t written = 0, read = 0;
        struct err err;

        srand(1);
        for (size_t i = 0; i < BYTES; i++)
                in[i] = (char)rand();
        pipe_ = (struct attach_pipe){0};
        while (read < BYTES) {
                uint64_t back = written - read < 100 ? written - read : 100;
                uint64_t from = written - (back ? (uint64_t)rand() % back : 0);
                size_t size = (size_t)rand() % 30000;
                size = size < BYTES - from ? size : BYTES - from;
                uint64_t end = put(from, in + from, size);
                written = end > written ? end : written;
                uint32_t take = pipe_.size ? (uint32_t)rand() % (pipe_.size + 1) : 0;
                memcpy(out + read, pipe_.bytes, take);
                read += take;
                assert_int_equal(attach_have(&pipe_, read, &err), 0);
        }
        assert_memory_equal(in, out, BYTES);
        mem_free(in);
        mem_free(out);
}

static struct attachment *open_one(struct attachments *attachments, const char *owner,
                                   uint64_t workload, struct err *err)
{
        static struct node_entry nodes[16];
        struct attachment wanted = {.node = &nodes[workload % 16], .workload = workload};
        struct attachment *session = NULL;

        snprintf(wanted.owner, sizeof wanted.owner, "%s", owner);
        return attachments_open(attachments, &wanted, 1000, &session, err) < 0 ? NULL : session;
}

static void there_are_so_many_and_no_more(void **state)
{
        (void)state;
        struct attachments *attachments = attachments_new();
        struct attachment *first;
        struct err err = {0};
        char owner[24];

        for (unsigned i = 0; i < ATTACH_OF_RUN_MAX; i++)
                assert_non_null(open_one(attachments, "ana", 1, &err));
        assert_null(open_one(attachments, "ben", 1, &err));
        assert_int_equal(err.code, ERR_FULL);
        check_has(err.text, "workload 1 has 4 terminals");
        for (unsigned i = ATTACH_OF_RUN_MAX; i < ATTACH_OF_PRINCIPAL_MAX; i++)
                assert_non_null(open_one(attachments, "ana", 2 + i, &err));
        assert_null(open_one(attachments, "ana", 99, &err));
        check_has(err.text, "ana has 16 terminals");
        first = open_one(attachments, "ben", 99, &err);
        assert_non_null(first);
        assert_int_equal(strlen(first->id), 32);
        assert_ptr_equal(attachments_find(attachments, first->id), first);
        for (unsigned i = ATTACH_OF_PRINCIPAL_MAX + 1; i < ATTACH_SESSIONS_MAX; i++) {
                snprintf(owner, sizeof owner, "u%u", i);
                assert_non_null(open_one(attachments, owner, 1000 + i, &err));
        }
        assert_null(open_one(attachments, "zoe", 5000, &err));
        check_has(err.text, "the pool has 256 terminals");
        attachments_drop(attachments, first);
        assert_non_null(open_one(attachments, "zoe", 5000, &err));
        attachments_free(attachments);
        attachments_free(NULL);
}

static void one_that_has_ended_makes_room(void **state)
{
        (void)state;
        struct attachments *attachments = attachments_new();
        struct attachment *it[ATTACH_SESSIONS_MAX], *made;
        struct err err = {0};
        char owner[24], id[ATTACH_ID_MAX];

        for (unsigned i = 0; i < ATTACH_SESSIONS_MAX; i++) {
                snprintf(owner, sizeof owner, "u%u", i);
                assert_non_null(it[i] = open_one(attachments, owner, 1000 + i, &err));
        }
        it[3]->ended_ms = 2000;
        it[7]->ended_ms = 1500;
        assert_null(open_one(attachments, "zoe", 3, &err));     /* not in the log yet */
        it[3]->end_is_logged = it[7]->end_is_logged = true;
        it[7]->out.writer.exchange = (struct http_exchange *)(uintptr_t)8;
        snprintf(id, sizeof id, "%s", it[3]->id);
        made = open_one(attachments, "zoe", 3, &err);
        assert_non_null(made);
        assert_null(attachments_find(attachments, id));
        assert_non_null(attachments_find(attachments, it[7]->id));      /* somebody waits there */
        assert_null(open_one(attachments, "zoe", 4, &err));
        attachments_free(attachments);
}

static void a_node_has_no_more_than_its_agent_takes(void **state)
{
        (void)state;
        struct attachments *attachments = attachments_new();
        struct err err = {0};
        char owner[24];

        for (unsigned i = 0; i < ATTACH_OF_NODE_MAX; i++) {
                snprintf(owner, sizeof owner, "u%u", i);
                assert_non_null(open_one(attachments, owner, 16 * i, &err));
        }
        assert_null(open_one(attachments, "zoe", 16 * 99, &err));
        check_has(err.text, "32 terminals already");
        assert_non_null(open_one(attachments, "zoe", 16 * 99 + 1, &err));
        attachments_free(attachments);
}

static void a_session_is_over_in_its_time(void **state)
{
        (void)state;
        struct attachments *attachments = attachments_new();
        struct err err;
        struct attachment *it = open_one(attachments, "ana", 1, &err);

        assert_null(attachment_over(it, 1000 + ATTACH_START_MS));
        check_has(attachment_over(it, 1001 + ATTACH_START_MS), "did not answer in time");
        it->is_taken = true;
        assert_null(attachment_over(it, 1000 + ATTACH_GRACE_MS));
        check_has(attachment_over(it, 1001 + ATTACH_GRACE_MS), "nobody has looked");
        it->out.reader.exchange = (struct http_exchange *)(uintptr_t)8; /* its client waits */
        assert_null(attachment_over(it, 1000 + ATTACH_AGENT_MS));
        check_has(attachment_over(it, 1001 + ATTACH_AGENT_MS), "node does not answer");
        it->in.reader.exchange = it->out.reader.exchange;
        assert_null(attachment_over(it, 1000 + ATTACH_IDLE_MS));
        check_has(attachment_over(it, 1001 + ATTACH_IDLE_MS), "for an hour");
        attachments_free(attachments);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_piece_is_taken_once),
                cmocka_unit_test(a_full_pipe_takes_no_more),
                cmocka_unit_test(at_random_it_comes_out_as_it_went_in),
                cmocka_unit_test(there_are_so_many_and_no_more),
                cmocka_unit_test(one_that_has_ended_makes_room),
                cmocka_unit_test(a_node_has_no_more_than_its_agent_takes),
                cmocka_unit_test(a_session_is_over_in_its_time),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
