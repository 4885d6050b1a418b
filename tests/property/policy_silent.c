/* Nodes that nobody hears of, and what owners and agents say of running work: who is lost, who goes
 * on, who was asked to stop, what is saved. */
#include <inttypes.h>
#include <stdio.h>

#include "tests/property/policy_book.h"

static bool lies_on(const struct book_work *work, uint32_t node)
{
        for (unsigned m = 0; m < work->placed; m++)
                if (work->places[m].node == node)
                        return true;
        return false;
}

/* The node that an input about one is about; NONE: it is about none, or that is not here. */
static uint32_t node_of(const struct book *book, const struct input *input)
{
        uint32_t name = 0;

        switch (input->kind) {
        case INPUT_NODE_CHANGED:
        case INPUT_NODE_DESCRIBED:
                name = input->node.name;
                break;
        case INPUT_NODE_FAILED:
                name = input->failed.node_name;
                break;
        default:
                return NONE;
        }
        for (uint32_t n = 0; n < BOOK_NODES; n++)
                if (book->nodes[n].here && book->nodes[n].desc.name == name)
                        return n;
        return NONE;
}

/* Some member may still run: its node is up, or silent and its class lets it go on. `failed`: that
 * node is down, or silent, from now on; NONE: none is. */
static bool may_run(const struct book *book, const struct book_work *work, uint32_t failed,
                    bool is_silent)
{
        for (unsigned m = 0; m < work->placed; m++) {
                uint32_t number = work->places[m].node;
                const struct book_node *node = &book->nodes[number];
                bool fails = number == failed;
                if ((node->up && !fails) ||
                    ((fails ? is_silent : node->silent) && work->continues))
                        return true;
        }
        return false;
}

/* A part of it lies on a device of the node that the input says is broken. */
static bool lies_on_broken(const struct book_work *work, const struct input *input, uint32_t node)
{
        for (unsigned m = 0; m < work->placed; m++)
                for (unsigned i = 0; work->places[m].node == node && i < work->places[m].count; i++)
                        if (input->node.broken >> work->places[m].parts[i].device & 1)
                                return true;
        return false;
}

bool law_lost(struct book *book, const struct book_work *work, const struct input *input,
              bool again)
{
        uint64_t id = work->request.workload;
        bool about_it = input->kind == INPUT_LOST && input->workload == id;
        uint32_t node = node_of(book, input);

        book->checked[PROMISE_LOST]++;
        if (work->status != WORK_RUNS || (!about_it && (node == NONE || !lies_on(work, node))))
                return BOOK_FAIL(book, "workload %" PRIu64 " is lost, and nothing happened to it",
                                 id);
        if (again == work->request.once)
                return BOOK_FAIL(book, "workload %" PRIu64 " is lost and %s, and may start %s", id,
                                 again ? "waits again" : "gone",
                                 work->request.once ? "but once" : "again");
        if (about_it)
                return true;
        book->checked[PROMISE_SILENT]++;
        if (input->kind == INPUT_NODE_FAILED && may_run(book, work, node, input->failed.silent))
                return BOOK_FAIL(book, "workload %" PRIu64 " is lost when node %u fails, and a "
                                       "part of it may still run",
                                 id, node);
        if (input->kind != INPUT_NODE_FAILED && !lies_on_broken(work, input, node))
                return BOOK_FAIL(book, "workload %" PRIu64 " is lost, and has no part on what is "
                                       "broken of node %u",
                                 id, node);
        return true;
}

bool law_torn(struct book *book, uint32_t node, const struct node_desc *desc)
{
        for (unsigned d = 0; book->nodes[node].here && d < desc->devices; d++) {
                const struct book_device *device = &book->nodes[node].devices[d];
                if (!device->broken || device->count == 0)
                        continue;
                book->checked[PROMISE_TORN]++;
                if (!(desc->broken >> d & 1))
                        return BOOK_FAIL(book, "device %u of node %u is well again, and workload "
                                               "%u still lies on it",
                                         d, node, device->parts[0].work);
        }
        return true;
}

bool law_silent(struct book *book, uint32_t node, bool silent)
{
        if (book->nodes[node].up || book->nodes[node].silent != silent)
                return BOOK_FAIL(book, "node %u has failed, and is up, or silent as it is not",
                                 node);
        for (uint64_t w = 1; w <= book->last_id; w++) {
                const struct book_work *work = &book->works[w];
                if (work->status != WORK_RUNS || !lies_on(work, node))
                        continue;
                book->checked[PROMISE_SILENT]++;
                if (!may_run(book, work, NONE, false))
                        return BOOK_FAIL(book, "node %u has failed, and workload %" PRIu64
                                               " keeps its place: it may run nowhere",
                                         node, w);
        }
        return true;
}

bool law_asked(struct book *book, struct book_work *work, const struct fact_noticed *noticed)
{
        const struct input *input = book->input;

        book->checked[PROMISE_ASKED]++;
        if (input->kind != INPUT_STOP_ASKED || input->stop.workload != noticed->workload ||
            noticed->until_ms != book->now_ms + input->stop.notice_ms || noticed->leave_by_ms != 0)
                return BOOK_FAIL(book, "workload %" PRIu64 " is told that its owner wants it to "
                                       "stop by %" PRId64 ", which nobody asked for",
                                 noticed->workload, noticed->until_ms);
        work->told_asked = true;
        return true;
}

bool law_saved(struct book *book, struct book_work *work, int64_t saved_ms)
{
        const struct input *input = book->input;

        book->checked[PROMISE_SAVED]++;
        if (!work || work->status != WORK_RUNS || input->kind != INPUT_CHECKPOINTED ||
            input->checkpoint.workload != work->request.workload ||
            saved_ms != book->now_ms - work->since_ms - input->checkpoint.age_ms ||
            saved_ms < work->saved_ms)
                return BOOK_FAIL(book, "a checkpoint of %" PRId64 " ms of a run is kept, and none "
                                       "such was made",
                                 saved_ms);
        work->saved_ms = saved_ms;
        return true;
}
