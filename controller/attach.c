#include "controller/attach.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/nodes.h"
#include "net/token.h"

/* ---- a pipe ---- */

int attach_put(struct attach_pipe *pipe, uint64_t offset, const char *bytes, size_t size,
               uint64_t *ret_offset, struct err *err)
{
        uint64_t end = pipe->from + pipe->size;

        if (offset > end)
                return err_set(err, ERR_INPUT,
                               "query 'offset': bytes %" PRIu64 " to %" PRIu64 " did not come", end,
                               offset);
        uint64_t known = end - offset;          /* that came before */
        if (known < size && pipe->has_ended)
                return err_set(err, ERR_INPUT, "these bytes come behind the end, at %" PRIu64, end);
        if (known < size) {
                size_t room = ATTACH_PIPE_BYTES - pipe->size;
                size_t taken = size - known < room ? size - known : room;
                memcpy(pipe->bytes + pipe->size, bytes + known, taken);
                pipe->size += (uint32_t)taken;
        }
        assert(pipe->size <= ATTACH_PIPE_BYTES);
        *ret_offset = pipe->from + pipe->size;
        return 0;
}

int attach_have(struct attach_pipe *pipe, uint64_t offset, struct err *err)
{
        if (offset < pipe->from || offset > pipe->from + pipe->size)
                return err_set(err, ERR_INPUT,
                               "query 'offset': %" PRIu64 " is not between %" PRIu64
                               " and %" PRIu64,
                               offset, pipe->from, pipe->from + pipe->size);
        uint32_t done = (uint32_t)(offset - pipe->from);
        memmove(pipe->bytes, pipe->bytes + done, pipe->size - done);
        pipe->size -= done;
        pipe->from = offset;
        return 0;
}

/* ---- sessions ---- */

struct attachments {
        uint32_t count;
        struct attachment *list[ATTACH_SESSIONS_MAX];   /* each its own piece; NULL: a free slot */
};

struct attachments *attachments_new(void)
{
        return mem_new(1, sizeof(struct attachments));
}

void attachments_free(struct attachments *attachments)
{
        if (!attachments)
                return;
        for (uint32_t s = 0; s < ATTACH_SESSIONS_MAX; s++)
                if (attachments->list[s])
                        attachments_drop(attachments, attachments->list[s]);
        mem_free(attachments);
}

struct attachment *attachments_next(const struct attachments *attachments, uint32_t *cursor)
{
        while (*cursor < ATTACH_SESSIONS_MAX) {
                struct attachment *session = attachments->list[(*cursor)++];
                if (session)
                        return session;
        }
        return NULL;
}

/* That nobody waits at, and whose end is logged; NULL: there is none. */
static struct attachment *oldest_ended(const struct attachments *attachments)
{
        uint32_t cursor = 0;
        struct attachment *session, *oldest = NULL;

        while ((session = attachments_next(attachments, &cursor)))
                if (session->end_is_logged && !attachment_is_waited_at(session) &&
                    (!oldest || session->ended_ms < oldest->ended_ms))
                        oldest = session;
        return oldest;
}

static int check_room(const struct attachments *attachments, const struct attachment *wanted,
                      struct err *err)
{
        uint32_t cursor = 0, of_run = 0, of_owner = 0, of_node = 0;
        const struct attachment *session;

        while ((session = attachments_next(attachments, &cursor))) {
                if (session->ended_ms)
                        continue;
                of_run += session->workload == wanted->workload &&
                          session->member == wanted->member;
                of_owner += str_equal(session->owner, wanted->owner);
                of_node += session->node == wanted->node;
        }
        if (of_run >= ATTACH_OF_RUN_MAX)
                return err_set(err, ERR_FULL,
                               "member %" PRIu32 " of workload %" PRIu64 " has %d terminals "
                               "already: close one of them",
                               wanted->member, wanted->workload, ATTACH_OF_RUN_MAX);
        if (of_owner >= ATTACH_OF_PRINCIPAL_MAX)
                return err_set(err, ERR_FULL, "%s has %d terminals already: close one of them",
                               wanted->owner, ATTACH_OF_PRINCIPAL_MAX);
        if (of_node >= ATTACH_OF_NODE_MAX)
                return err_set(err, ERR_FULL, "node '%s' has %d terminals already: try again later",
                               wanted->node->name, ATTACH_OF_NODE_MAX);
        if (attachments->count >= ATTACH_SESSIONS_MAX && !oldest_ended(attachments))
                return err_set(err, ERR_FULL, "the pool has %d terminals already: try again later",
                               ATTACH_SESSIONS_MAX);
        return 0;
}

/* Who knows it is let at the terminal, if they are its owner besides. */
static void make_id(char ret_id[ATTACH_ID_MAX])
{
        struct token token;

        token_make(&token);
        for (int i = 0; i < (ATTACH_ID_MAX - 1) / 2; i++)
                snprintf(ret_id + 2 * i, 3, "%02x", token.bytes[i]);
        token_wipe(&token, sizeof token);
}

int attachments_open(struct attachments *attachments, const struct attachment *wanted,
                     int64_t now_ms, struct attachment **ret_session, struct err *err)
{
        int rc = check_room(attachments, wanted, err);

        if (rc < 0)
                return rc;
        struct attachment *session = mem_new(1, sizeof *session);
        if (!session)
                return err_set(err, ERR_NOMEM, "out of memory");
        if (attachments->count == ATTACH_SESSIONS_MAX)
                attachments_drop(attachments, oldest_ended(attachments));
        (void)str_copy(session->owner, sizeof session->owner, wanted->owner);
        session->node = wanted->node;
        session->workload = wanted->workload;
        session->epoch = wanted->epoch;
        session->member = wanted->member;
        session->window = wanted->window;
        session->window_count = 1;
        make_id(session->id);
        session->opened_ms = session->used_ms = session->client_ms = session->agent_ms = now_ms;
        for (uint32_t s = 0; s < ATTACH_SESSIONS_MAX; s++)
                if (!attachments->list[s]) {
                        attachments->list[s] = session;
                        attachments->count++;
                        *ret_session = session;
                        return 0;
                }
        assert(false);                  /* check_room() has counted */
        return -ERR_FULL;
}

struct attachment *attachments_find(const struct attachments *attachments, const char *id)
{
        uint32_t cursor = 0;
        struct attachment *session;

        while ((session = attachments_next(attachments, &cursor)))
                if (str_equal(session->id, id))
                        return session;
        return NULL;
}

void attachments_drop(struct attachments *attachments, struct attachment *session)
{
        for (uint32_t s = 0; s < ATTACH_SESSIONS_MAX; s++)
                if (attachments->list[s] == session) {
                        attachments->list[s] = NULL;
                        attachments->count--;
                }
        json_decref(session->want);
        json_decref(session->about);
        mem_free(session);
}

void attachments_add_wants(const struct attachments *attachments, const struct node_entry *node,
                           json_t *list)
{
        uint32_t cursor = 0;
        const struct attachment *session;

        while (attachments->count > 0 && (session = attachments_next(attachments, &cursor)))
                if (session->node == node && !session->is_taken && !session->ended_ms)
                        (void)json_array_append(list, session->want);
}

bool attachment_is_waited_at(const struct attachment *session)
{
        return session->in.reader.exchange || session->in.writer.exchange ||
               session->out.reader.exchange || session->out.writer.exchange;
}

/* Who waits now is there. */
static int64_t silent_ms(const struct attach_wait *wait, int64_t came_ms, int64_t now_ms)
{
        return wait->exchange ? 0 : now_ms - came_ms;
}

const char *attachment_over(const struct attachment *session, int64_t now_ms)
{
        if (!session->is_taken)
                return now_ms - session->opened_ms > ATTACH_START_MS
                               ? "its node did not answer in time: try again"
                               : NULL;
        if (silent_ms(&session->in.reader, session->agent_ms, now_ms) > ATTACH_AGENT_MS)
                return "its node does not answer any more";
        if (silent_ms(&session->out.reader, session->client_ms, now_ms) > ATTACH_GRACE_MS)
                return "nobody has looked at it for a while";
        if (now_ms - session->used_ms > ATTACH_IDLE_MS)
                return "nothing was typed or written for an hour";
        return NULL;
}
