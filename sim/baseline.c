#include "sim/baseline.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/mem.h"
#include "sim/rng.h"
#include "trace/jobs.h"

#define STEPS_PER_LOOK 4096 /* at the hooks */

/* What waits of one size. The first of the heap is the next one by the rule. */
struct waiting {
        uint32_t devices;
        uint32_t *heap; /* jobs */
        uint32_t count, room;
};

struct running {
        int64_t end_ms;
        uint32_t job;
};

struct baseline {
        const struct baseline_setup *setup;
        const struct job *jobs;
        uint32_t jobs_count;
        struct job_record *records;
        struct rng rng;
        int64_t now_ms;
        bool is_strict, is_shortest;
        uint32_t sizes_count; /* rising sizes: when one does not fit, no later one does */
        struct waiting *sizes;
        uint32_t waiting_count;
        uint32_t *size_of;       /* by job */
        struct running *running; /* a heap: the first one ends first */
        uint32_t running_count;
        /* Nodes by how many devices are free there. */
        uint32_t *level[NODE_DEVICES_MAX + 1];
        uint32_t level_count[NODE_DEVICES_MAX + 1];
        uint32_t *place;     /* of a node in its level's list */
        uint8_t *free;       /* of a node */
        uint32_t *node_of;   /* by job: its first node ... */
        uint32_t *next_node; /* ... and by node the next one of the same job */
};

#define NO_NODE UINT32_MAX

/* ---- nodes ---- */

static void enter_level(struct baseline *base, uint32_t node)
{
        unsigned level = base->free[node];

        base->place[node] = base->level_count[level];
        base->level[level][base->level_count[level]++] = node;
}

static void leave_level(struct baseline *base, uint32_t node)
{
        unsigned level = base->free[node];
        uint32_t last = base->level[level][--base->level_count[level]];

        base->level[level][base->place[node]] = last;
        base->place[last] = base->place[node];
}

static void set_free(struct baseline *base, uint32_t node, unsigned free)
{
        leave_level(base, node);
        base->free[node] = (uint8_t)free;
        enter_level(base, node);
}

static uint32_t nodes_for(const struct baseline *base, uint32_t devices)
{
        uint32_t each = base->setup->devices_per_node;

        return devices / each + (devices % each > 0);
}

static bool fits(const struct baseline *base, uint32_t devices)
{
        unsigned each = base->setup->devices_per_node;

        if (devices > each)
                return base->level_count[each] >= nodes_for(base, devices);
        for (unsigned free = devices; free <= each; free++)
                if (base->level_count[free] > 0)
                        return true;
        return false;
}

/* The fullest node with room. */
static void take_part(struct baseline *base, uint32_t job, uint32_t devices)
{
        unsigned free = devices;

        while (base->level_count[free] == 0)
                free++;
        uint64_t drawn = rng_below(&base->rng, base->level_count[free]);
        uint32_t node = base->level[free][drawn];
        set_free(base, node, free - devices);
        base->node_of[job] = node;
        base->next_node[node] = NO_NODE;
}

static void take_whole(struct baseline *base, uint32_t job, uint32_t count)
{
        unsigned each = base->setup->devices_per_node;
        uint32_t next = NO_NODE;

        for (; count > 0; count--) {
                uint32_t node = base->level[each][base->level_count[each] - 1];
                set_free(base, node, 0);
                base->next_node[node] = next;
                next = node;
        }
        base->node_of[job] = next;
}

static void give_back(struct baseline *base, uint32_t job)
{
        uint32_t devices = job_devices(&base->jobs[job]);
        unsigned each = base->setup->devices_per_node;
        uint32_t node = base->node_of[job];

        if (devices == 0)
                return;
        if (devices <= each) {
                set_free(base, node, base->free[node] + devices);
                return;
        }
        for (; node != NO_NODE; node = base->next_node[node])
                set_free(base, node, each);
}

/* ---- what runs ---- */

static bool ends_before(const struct running *a, const struct running *b)
{
        return a->end_ms < b->end_ms || (a->end_ms == b->end_ms && a->job < b->job);
}

static void push_running(struct baseline *base, struct running entry)
{
        uint32_t at = base->running_count++;

        for (; at > 0 && ends_before(&entry, &base->running[(at - 1) / 2]); at = (at - 1) / 2)
                base->running[at] = base->running[(at - 1) / 2];
        base->running[at] = entry;
}

static struct running pop_running(struct baseline *base)
{
        struct running first = base->running[0];
        struct running last = base->running[--base->running_count];
        uint32_t at = 0;

        for (;;) {
                uint32_t child = 2 * at + 1;
                if (child >= base->running_count)
                        break;
                if (child + 1 < base->running_count &&
                    ends_before(&base->running[child + 1], &base->running[child]))
                        child++;
                if (!ends_before(&base->running[child], &last))
                        break;
                base->running[at] = base->running[child];
                at = child;
        }
        base->running[at] = last;
        return first;
}

/* ---- what waits ---- */

/* By the rule; jobs stand in the order of their arrival. */
static bool goes_before(const struct baseline *base, uint32_t a, uint32_t b)
{
        if (base->is_shortest && base->jobs[a].duration_ms != base->jobs[b].duration_ms)
                return base->jobs[a].duration_ms < base->jobs[b].duration_ms;
        return a < b;
}

static int push_waiting(struct baseline *base, struct waiting *size, uint32_t job, struct err *err)
{
        uint32_t *grown = mem_grow(size->heap, size->count, &size->room, 64, sizeof *grown);
        if (!grown)
                return err_set(err, ERR_NOMEM, "out of memory");
        size->heap = grown;
        uint32_t at = size->count++;
        for (; at > 0 && goes_before(base, job, size->heap[(at - 1) / 2]); at = (at - 1) / 2)
                size->heap[at] = size->heap[(at - 1) / 2];
        size->heap[at] = job;
        base->waiting_count++;
        return 0;
}

static uint32_t pop_waiting(struct baseline *base, struct waiting *size)
{
        uint32_t first = size->heap[0];
        uint32_t last = size->heap[--size->count];
        uint32_t at = 0;

        base->waiting_count--;
        for (;;) {
                uint32_t child = 2 * at + 1;
                if (child >= size->count)
                        break;
                if (child + 1 < size->count &&
                    goes_before(base, size->heap[child + 1], size->heap[child]))
                        child++;
                if (!goes_before(base, size->heap[child], last))
                        break;
                size->heap[at] = size->heap[child];
                at = child;
        }
        size->heap[at] = last;
        return first;
}

/* The size whose first job is the next to start; NULL: none starts now. Room only shrinks while
 * jobs start, so what was passed once needs no second look: the first jobs of all sizes suffice. */
static struct waiting *next_size(struct baseline *base)
{
        struct waiting *best = NULL;

        for (uint32_t s = 0; s < base->sizes_count; s++) {
                struct waiting *size = &base->sizes[s];
                if (size->count == 0)
                        continue;
                if (!base->is_strict && !fits(base, size->devices))
                        break;
                if (!best || goes_before(base, size->heap[0], best->heap[0]))
                        best = size;
        }
        if (best && base->is_strict && !fits(base, best->devices))
                return NULL;
        return best;
}

static void start(struct baseline *base, uint32_t job)
{
        uint32_t devices = job_devices(&base->jobs[job]);
        uint32_t each = base->setup->devices_per_node, held = devices;
        struct job_record *record = &base->records[job];

        if (devices > each) {
                take_whole(base, job, nodes_for(base, devices));
                held = nodes_for(base, devices) * each;
        } else if (devices > 0) {
                take_part(base, job, devices);
        }
        record->first_start_ms = base->now_ms;
        record->end_ms = base->now_ms + base->jobs[job].duration_ms;
        job_record_hold(record, &base->setup->window, held, record->first_start_ms, record->end_ms);
        push_running(base, (struct running){record->end_ms, job});
}

/* ---- the whole history ---- */

static int compare_devices(const void *a, const void *b)
{
        uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

        return x < y ? -1 : x > y;
}

static uint32_t find_size(const struct baseline *base, uint32_t devices)
{
        uint32_t low = 0, high = base->sizes_count;

        while (low < high) {
                uint32_t middle = low + (high - low) / 2;
                if (base->sizes[middle].devices < devices)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low;
}

/* The different sizes, and each job's place among them. `size_of` first holds the devices. */
static int make_sizes(struct baseline *base)
{
        uint32_t count = 0;

        for (uint32_t j = 0; j < base->jobs_count; j++)
                base->size_of[j] = job_devices(&base->jobs[j]);
        qsort(base->size_of, base->jobs_count, sizeof *base->size_of, compare_devices);
        for (uint32_t j = 0; j < base->jobs_count; j++)
                if (count == 0 || base->size_of[j] != base->size_of[count - 1])
                        base->size_of[count++] = base->size_of[j];
        base->sizes = mem_new(count, sizeof *base->sizes);
        if (!base->sizes)
                return -ERR_NOMEM;
        base->sizes_count = count;
        for (uint32_t s = 0; s < count; s++)
                base->sizes[s].devices = base->size_of[s];
        for (uint32_t j = 0; j < base->jobs_count; j++)
                base->size_of[j] = find_size(base, job_devices(&base->jobs[j]));
        return 0;
}

static int make(struct baseline *base)
{
        uint32_t nodes = base->setup->nodes, each = base->setup->devices_per_node;

        base->size_of = mem_new(base->jobs_count, sizeof *base->size_of);
        base->running = mem_new(base->jobs_count, sizeof *base->running);
        base->node_of = mem_new(base->jobs_count, sizeof *base->node_of);
        base->place = mem_new(nodes, sizeof *base->place);
        base->free = mem_new(nodes, sizeof *base->free);
        base->next_node = mem_new(nodes, sizeof *base->next_node);
        if (!base->size_of || !base->running || !base->node_of || !base->place || !base->free ||
            !base->next_node)
                return -ERR_NOMEM;
        for (unsigned l = 0; l <= each; l++) {
                base->level[l] = mem_new(nodes, sizeof *base->level[l]);
                if (!base->level[l])
                        return -ERR_NOMEM;
        }
        for (uint32_t n = 0; n < nodes; n++) {
                base->free[n] = (uint8_t)each;
                enter_level(base, n);
        }
        return make_sizes(base);
}

static void done(struct baseline *base)
{
        for (uint32_t s = 0; s < base->sizes_count; s++)
                mem_free(base->sizes[s].heap);
        mem_free(base->sizes);
        mem_free(base->size_of);
        mem_free(base->running);
        mem_free(base->node_of);
        mem_free(base->place);
        mem_free(base->free);
        mem_free(base->next_node);
        for (unsigned l = 0; l <= NODE_DEVICES_MAX; l++)
                mem_free(base->level[l]);
}

static int look_at_hooks(const struct baseline *base, uint32_t arrived, struct err *err)
{
        const struct replay_hooks *hooks = base->setup->hooks;

        if (!hooks)
                return 0;
        if (hooks->cancel && *hooks->cancel)
                return err_set(err, ERR_CANCELLED, "stopped");
        if (hooks->progress)
                hooks->progress(hooks->progress_arg, history_rule_name(base->setup->rule), arrived,
                                base->jobs_count);
        return 0;
}

/* The next moment at which something comes or ends. */
static int64_t next_ms(const struct baseline *base, uint32_t arrived)
{
        int64_t ends = base->running_count ? base->running[0].end_ms : INT64_MAX;
        int64_t comes = arrived < base->jobs_count ? base->jobs[arrived].submit_ms : INT64_MAX;

        return ends < comes ? ends : comes;
}

static int run(struct baseline *base, struct err *err)
{
        uint32_t arrived = 0, steps = 0;
        struct waiting *size;
        int rc = 0;

        while (rc == 0 && (arrived < base->jobs_count || base->running_count > 0)) {
                base->now_ms = next_ms(base, arrived);
                while (base->running_count > 0 && base->running[0].end_ms <= base->now_ms)
                        give_back(base, pop_running(base).job);
                for (; rc == 0 && arrived < base->jobs_count &&
                       base->jobs[arrived].submit_ms <= base->now_ms;
                     arrived++)
                        if (nodes_for(base, job_devices(&base->jobs[arrived])) <=
                            base->setup->nodes)
                                rc = push_waiting(base, &base->sizes[base->size_of[arrived]],
                                                  arrived, err);
                while (rc == 0 && base->waiting_count > 0 && (size = next_size(base)))
                        start(base, pop_waiting(base, size));
                if (rc == 0 && ++steps % STEPS_PER_LOOK == 0)
                        rc = look_at_hooks(base, arrived, err);
        }
        assert(rc < 0 || base->waiting_count == 0);
        return rc;
}

int baseline_run(const struct baseline_setup *setup, struct job_record *ret_records,
                 struct err *err)
{
        assert(setup->rule <= RULE_SHORTEST_SKIP);
        assert(setup->nodes >= 1);
        assert(setup->devices_per_node >= 1 && setup->devices_per_node <= NODE_DEVICES_MAX);

        struct baseline base = {
                .setup = setup,
                .jobs = setup->jobs->items,
                .jobs_count = (uint32_t)setup->jobs->count,
                .records = ret_records,
                .is_strict = setup->rule == RULE_FIFO || setup->rule == RULE_SHORTEST,
                .is_shortest = setup->rule == RULE_SHORTEST || setup->rule == RULE_SHORTEST_SKIP,
        };
        int rc;

        rng_init(&base.rng, setup->seed);
        for (uint32_t j = 0; j < base.jobs_count; j++)
                ret_records[j] = (struct job_record){
                        .job = j, .first_start_ms = JOB_RECORD_NEVER, .end_ms = JOB_RECORD_NEVER};
        rc = make(&base);
        if (rc < 0)
                err_set(err, ERR_NOMEM, "out of memory");
        else
                rc = run(&base, err);
        done(&base);
        return rc;
}
