/* Who waits for the disk, and what the writer tells: from its thread to the core's. */
#include "controller/core_impl.h"

#include <pthread.h>

#include "base/mem.h"

#define WAITING_MAX (1u << 20)

/* ---- who waits ---- */

static const struct err anew = {ERR_IO, "the state is being made anew: try again"};
const struct err core_full = {ERR_FULL, "too many requests wait"};

static bool ring_grow(struct waiting_ring *ring)
{
        uint32_t room = ring->room ? ring->room * 2 : 1024;
        struct waiting *grown;

        if (room > WAITING_MAX)
                return false;
        grown = mem_new(room, sizeof *grown);
        if (!grown)
                return false;
        for (uint32_t i = 0; i < ring->count; i++)
                grown[i] = ring->them[(ring->first + i) % ring->room];
        mem_free(ring->them);
        ring->them = grown;
        ring->room = room;
        ring->first = 0;
        return true;
}

bool core_wait_for(struct waiting_ring *ring, uint64_t seq, core_done *done, void *arg)
{
        if (ring->count == ring->room && !ring_grow(ring))
                return false;
        uint32_t at = (ring->first + ring->count++) % ring->room;
        ring->them[at] = (struct waiting){seq, done, arg};
        return true;
}

/* Those whose record is one of `until` and before; with `err`, that it never will be. */
static void tell(struct waiting_ring *ring, uint64_t until, const struct err *err)
{
        while (ring->count > 0) {
                struct waiting it = ring->them[ring->first];
                if (it.seq > until)
                        return;
                ring->first = (ring->first + 1) % ring->room;
                ring->count--;
                it.done(it.arg, err ? -ERR_IO : 0, err);
        }
}

void core_when_durable(struct core *core, core_done *done, void *arg)
{
        if (core->stale)
                done(arg, -ERR_IO, &anew);
        else if (core_is_durable(core, core->last_seq) && core->waiting.count == 0)
                done(arg, 0, NULL);
        else if (!core_wait_for(&core->waiting, core->last_seq, done, arg))
                done(arg, -ERR_FULL, &core_full);
}

void core_when_anew(struct core *core, core_done *done, void *arg)
{
        if (!core->stale)
                done(arg, 0, NULL);
        else if (!core_wait_for(&core->looking, 0, done, arg))
                done(arg, -ERR_FULL, &core_full);
}

bool core_is_durable(const struct core *core, uint64_t seq)
{
        return seq <= core->durable_seq;
}

uint64_t core_last_seq(const struct core *core)
{
        return core->last_seq;
}

/* ---- the writer ---- */

/* From the writer's thread. */
void core_take_event(void *self, const struct writer_event *event)
{
        struct core *core = self;

        pthread_mutex_lock(&core->mail->lock);
        switch (event->kind) {
        case WRITER_EVENT_COMMITTED:
                core->mail->durable_seq = event->head.seq;
                break;
        case WRITER_EVENT_FAILED:
                core->mail->failed = true;
                core->mail->failure = *event->err;
                break;
        case WRITER_EVENT_RECOVERED:
                core->mail->recovered = true;
                break;
        case WRITER_EVENT_STILL_FAILED:
        case WRITER_EVENT_CHECKPOINT_FAILED:
        case WRITER_EVENTS_END:
                break;
        }
        pthread_mutex_unlock(&core->mail->lock);
        if (core->setup.event)
                core->setup.event(core->setup.arg, event);
}

static void take_mail(struct core *core, struct core_mail *ret_mail)
{
        pthread_mutex_lock(&core->mail->lock);
        *ret_mail = *core->mail;
        core->mail->failed = core->mail->recovered = false;
        pthread_mutex_unlock(&core->mail->lock);
}

static void tell_durable(struct core *core)
{
        tell(&core->waiting, core->durable_seq, NULL);
        for (unsigned w = 0; w < core->watches_count; w++)
                if (core->watches[w].durable)
                        core->watches[w].durable(core->watches[w].arg, core->durable_seq);
}

static int renew(struct core *core, struct err *err)
{
        struct core_recovery recovery;
        int rc = core_recover(core, &recovery, err);

        if (rc == 0)
                core->stale = false;
        for (unsigned w = 0; rc == 0 && w < core->watches_count; w++)
                if (core->watches[w].renewed)
                        core->watches[w].renewed(core->watches[w].arg);
        tell(&core->looking, UINT64_MAX, rc == 0 ? NULL : err ? err : &anew);
        return rc;
}

int core_event(struct core *core, struct err *err)
{
        struct core_mail mail;

        take_mail(core, &mail);
        if (mail.durable_seq > core->durable_seq) {
                core->durable_seq = mail.durable_seq;
                tell_durable(core);
        }
        if (mail.failed) {
                core->store_failed = core->stale = true;
                core->last_seq = core->durable_seq;     /* nothing is under way any more */
                tell(&core->waiting, UINT64_MAX, &mail.failure);
        }
        /* A commit that was told as failed may be in the log after all. */
        if (mail.recovered) {
                core->store_failed = false;
                core->stale = true;
        }
        /* What was pushed may still be on its way to the log. */
        bool settled = core->durable_seq == core->last_seq;
        return core->stale && settled ? renew(core, err) : 0;
}

bool core_step(struct core *core)
{
        return writer_step(core->writer);
}

void core_retry(struct core *core)
{
        if (core->store_failed)
                writer_retry(core->writer);
}

void core_stats(struct core *core, struct writer_stats *ret_stats)
{
        writer_stats(core->writer, ret_stats);
}

/* What waits is committed, and nobody is left waiting. */
void core_end_writer(struct core *core)
{
        static const struct err ending = {ERR_IO, "the controller has ended"};
        struct core_mail mail;

        if (!core->writer)
                return;
        writer_free(core->writer);
        core->writer = NULL;
        take_mail(core, &mail);
        if (mail.durable_seq > core->durable_seq)
                core->durable_seq = mail.durable_seq;
        tell(&core->waiting, core->durable_seq, NULL);
        tell(&core->waiting, UINT64_MAX, &ending);
        tell(&core->looking, UINT64_MAX, &ending);
}
