/* Per shape a heap of scored classes, kept up lazily from a log of activations.
 *
 * Entries may be stale: the class is gone (stamp), or its first node is another one
 * (rank). An entry whose rank is too good is put right at the top; one whose rank is
 * too bad has a better twin in the heap and is dropped. So the top is always true. */
#include <assert.h>

#include "engine/isolate.h"
#include "engine/memo_impl.h"

static void sift_down(struct entry *heap, uint32_t count, uint32_t at)
{
        struct entry entry = heap[at];

        for (;;) {
                uint32_t child = 2 * at + 1;
                if (child >= count)
                        break;
                if (child + 1 < count && entry_before(&heap[child + 1], &heap[child]))
                        child++;
                if (!entry_before(&heap[child], &entry))
                        break;
                heap[at] = heap[child];
                at = child;
        }
        heap[at] = entry;
}

static void sift_up(struct entry *heap, uint32_t at)
{
        struct entry entry = heap[at];

        while (at > 0 && entry_before(&entry, &heap[(at - 1) / 2])) {
                heap[at] = heap[(at - 1) / 2];
                at = (at - 1) / 2;
        }
        heap[at] = entry;
}

static void heap_pop(struct shape_heap *heap)
{
        heap->entries[0] = heap->entries[--heap->count];
        if (heap->count > 0)
                sift_down(heap->entries, heap->count, 0);
}

static bool entry_make(struct memo *memo, uint32_t shape, enum heap_kind kind, uint32_t number,
                       struct entry *ret_entry)
{
        const struct class *class = &memo->classes[number];
        uint32_t look = memo->look_of[shape];
        uint32_t barred = kind == HEAP_ALONE ? shared_places(memo, &class->view) : 0;
        struct move move;
        int64_t key;

        if (!may_fit(memo, look, &memo->briefs[number]) ||
            !evaluate(memo, look, class, barred, &key, &move))
                return false;
        *ret_entry = (struct entry){.key = key,
                                    .rank = memo->ranks[class->root],
                                    .class = number,
                                    .stamp = memo->briefs[number].stamp};
        return true;
}

static bool heap_room(struct memo *memo, struct shape_heap *heap, uint32_t entries)
{
        if (memo_room(memo, &heap->entries, &heap->room, entries, sizeof *heap->entries))
                return true;
        memo->failed = true;
        return false;
}

static struct shape_heap *heap_of(struct memo *memo, uint32_t shape, enum heap_kind kind)
{
        return &memo->heaps[(size_t)shape * HEAP_KINDS + kind];
}

static bool heap_rebuild(struct memo *memo, uint32_t shape, enum heap_kind kind)
{
        struct shape_heap *heap = heap_of(memo, shape, kind);

        heap->count = 0;
        for (uint32_t i = 0; i < memo->active_count; i++) {
                if (!heap_room(memo, heap, heap->count))
                        return false;
                if (entry_make(memo, shape, kind, memo->active[i], &heap->entries[heap->count]))
                        heap->count++;
        }
        for (uint32_t at = heap->count / 2; at-- > 0;)
                sift_down(heap->entries, heap->count, at);
        return true;
}

/* Reads the log from where the shape last stopped; when that is longer than looking at every
 * class, or the ring has run over, or stale entries pile up, builds the heap anew. */
static bool catch_up(struct memo *memo, uint32_t shape, enum heap_kind kind)
{
        struct shape_heap *heap = heap_of(memo, shape, kind);
        uint64_t behind = memo->log_count - heap->cursor;

        if (behind > memo->active_count || behind > memo->log_room || heap->cursor == 0 ||
            heap->count > 64 + 4 * memo->active_count) {
                heap->cursor = memo->log_count;
                return heap_rebuild(memo, shape, kind);
        }
        for (; heap->cursor < memo->log_count; heap->cursor++) {
                struct activation seen = memo->log[heap->cursor % memo->log_room];
                if (memo->briefs[seen.class].stamp != seen.stamp)
                        continue;
                if (!heap_room(memo, heap, heap->count + 1))
                        return false;
                if (entry_make(memo, shape, kind, seen.class, &heap->entries[heap->count]))
                        sift_up(heap->entries, heap->count++);
        }
        return true;
}

/* Makes the top entry true, or takes it away. False: it was taken away or moved. */
static bool settle_top(struct memo *memo, struct shape_heap *heap)
{
        struct entry *top = &heap->entries[0];

        if (memo->briefs[top->class].stamp != top->stamp) {
                heap_pop(heap);
                return false;
        }
        uint32_t rank = memo->ranks[memo->classes[top->class].root];
        if (rank == top->rank)
                return true;
        if (rank < top->rank) {
                heap_pop(heap);
        } else {
                top->rank = rank;
                sift_down(heap->entries, heap->count, 0);
        }
        return false;
}

bool class_is_open(const struct memo *memo, uint32_t class, struct place_right right)
{
        const struct view *view = &memo->classes[class].view;

        return right.leaves_ms <= view->closes_ms &&
               (right.models == UINT64_MAX ||
                (view->count > 0 && (right.models >> view->model & 1))) &&
               (!right.asker || isolation_admits_kind(memo->state, right.asker,
                                                      &memo->kinds[view->kind].desc));
}

/* The top entry waits beside the heap until the search is over. */
static bool put_aside(struct memo *memo, struct shape_heap *heap, uint32_t *aside)
{
        if (!memo_room(memo, &memo->aside, &memo->aside_room, *aside, sizeof *memo->aside)) {
                memo->failed = true;
                return false;
        }
        memo->aside[(*aside)++] = heap->entries[0];
        heap_pop(heap);
        return true;
}

/* Equal classes may still differ in what scores do not see: cores below the bucket, memory, disk,
 * network. A class without any node with room is dropped; it comes back through the log when a
 * node joins it. Where only a later node has room, classes behind it count as well, until none can
 * do better. What is barred to one asker may be open to the next: such a class is kept. */
static uint32_t best_node(struct memo *memo, uint32_t shape, struct place_right right)
{
        bool alone = right.asker && trust_is_apart(memo, shape, right.asker);
        bool barred = right.asker && !alone;
        struct shape_heap *heap = heap_of(memo, shape, alone ? HEAP_ALONE : HEAP_ALL);
        const struct need *need = &memo->state->shapes[shape].need;
        struct entry best = {0};
        uint32_t best_at = NONE, aside = 0;

        if (!catch_up(memo, shape, alone ? HEAP_ALONE : HEAP_ALL))
                return NONE;
        if (alone)
                best_at = trust_best(memo, shape, right, &best);
        while (heap->count > 0) {
                if (!settle_top(memo, heap))
                        continue;
                struct entry top = heap->entries[0];
                if (best_at != NONE && !entry_before(&top, &best))
                        break;
                if (!class_is_open(memo, top.class, right)) {
                        if (!put_aside(memo, heap, &aside))
                                break;
                        continue;
                }
                struct entry found = top;
                uint32_t node = barred ? barred_first(memo, shape, top.class, top.key, right.asker,
                                                      &found.key)
                                       : class_first(memo, top.class, need);
                if (node == NONE && barred) {
                        if (!put_aside(memo, heap, &aside))
                                break;
                        continue;
                }
                if (node == NONE) {
                        memo->classes[top.class].dropped = true;
                        heap_pop(heap);
                        continue;
                }
                found.rank = memo->ranks[node];
                if (best_at == NONE || entry_before(&found, &best)) {
                        best = found;
                        best_at = node;
                }
                if (found.rank == top.rank && found.key == top.key)
                        break;
                if (!put_aside(memo, heap, &aside))
                        break;
        }
        while (aside > 0) {
                heap->entries[heap->count] = memo->aside[--aside];
                sift_up(heap->entries, heap->count++);
        }
        return best_at;
}

static bool node_evaluate(struct memo *memo, uint32_t shape, struct place_right right,
                          uint32_t node, int64_t *ret_key, struct move *ret_move)
{
        const struct class *class = &memo->classes[memo->links[node].class];

        if (right.asker)
                return barred_best(memo, shape, node, class, right.asker, ret_key, ret_move);
        return evaluate(memo, memo->look_of[shape], class, 0, ret_key, ret_move);
}

static uint32_t scan_node(struct memo *memo, uint32_t shape, struct place_right right)
{
        const struct need *need = &memo->state->shapes[shape].need;
        struct entry best = {0};
        uint32_t best_at = NONE;

        for (uint32_t node = 0; node < memo->state->node_slots.high; node++) {
                uint32_t class = memo->links[node].class;
                struct entry entry;
                struct move move;
                if (class == NONE || !class_is_open(memo, class, right) ||
                    !node_has_room(&memo->state->nodes[node], need))
                        continue;
                if (!node_evaluate(memo, shape, right, node, &entry.key, &move))
                        continue;
                entry.rank = memo->ranks[node];
                if (best_at == NONE || entry_before(&entry, &best)) {
                        best = entry;
                        best_at = node;
                }
        }
        return best_at;
}

/* Counts the nodes where it fits, then walks to the one drawn. */
static uint32_t draw_node(struct memo *memo, uint32_t shape, struct place_right right,
                          uint64_t draw)
{
        const struct need *need = &memo->state->shapes[shape].need;
        uint64_t count = 0, wanted = UINT64_MAX;

        for (unsigned pass = 0; pass < 2; pass++) {
                for (uint32_t node = 0; node < memo->state->node_slots.high; node++) {
                        uint32_t class = memo->links[node].class;
                        struct move move;
                        int64_t key;
                        if (class == NONE || !class_is_open(memo, class, right) ||
                            !node_has_room(&memo->state->nodes[node], need) ||
                            !node_evaluate(memo, shape, right, node, &key, &move))
                                continue;
                        if (pass == 1 && wanted-- == 0)
                                return node;
                        count++;
                }
                if (count == 0)
                        break;
                wanted = draw % count;
        }
        return NONE;
}

static uint32_t random_best(struct memo *memo, uint32_t shape, struct place_right right,
                            uint64_t draw, struct move *ret_move)
{
        uint64_t drawn = map_mix(map_mix(memo->policy.seed) ^ draw);
        uint32_t node = draw_node(memo, shape, right, drawn);

        if (node == NONE)
                return NONE;
        bool fits = right.asker ? barred_draw(memo, shape, node, right.asker, map_mix(drawn),
                                              ret_move)
                                : draw_move(memo, memo->look_of[shape],
                                            &memo->classes[memo->links[node].class], 0,
                                            map_mix(drawn), ret_move);
        assert(fits || memo->failed);
        return fits ? node : NONE;
}

uint32_t index_best(struct memo *memo, uint32_t shape, struct place_right right,
                    uint64_t draw, struct move *ret_move)
{
        uint32_t node = NONE;
        int64_t key;

        if (memo->policy.kind == POLICY_RANDOM)
                return random_best(memo, shape, right, draw, ret_move);
        if (memo->mode == MEMO_SCAN)
                node = scan_node(memo, shape, right);
        else
                node = best_node(memo, shape, right);
        if (node == NONE || memo->failed)
                return NONE;
        bool fits = node_evaluate(memo, shape, right, node, &key, ret_move);
        assert(fits || memo->failed);
        return fits ? node : NONE;
}

bool index_is_empty(struct memo *memo, uint32_t shape)
{
        struct shape_heap *heap = heap_of(memo, shape, HEAP_ALL);

        if (memo->policy.kind == POLICY_RANDOM || memo->mode == MEMO_SCAN ||
            !catch_up(memo, shape, HEAP_ALL))
                return false;
        while (heap->count > 0 && !settle_top(memo, heap))
                ;
        return heap->count == 0 && !memo->failed;
}

bool node_best(struct memo *memo, uint32_t shape, uint32_t node, const struct asker *asker,
               int64_t *ret_key, struct move *ret_move)
{
        struct class class;
        struct view view;

        if (!node_has_room(&memo->state->nodes[node], &memo->state->shapes[shape].need))
                return false;
        if (!view_of_node(memo, node, &view)) {
                memo->failed = true;
                return false;
        }
        class_make(memo, &view, &class);
        if (asker)
                return barred_best(memo, shape, node, &class, asker, ret_key, ret_move);
        return evaluate(memo, memo->look_of[shape], &class, 0, ret_key, ret_move);
}
