/* Classes: nodes that look alike to every score. Each keeps its nodes in a pairing
 * heap by rank, linked through memo->links. */
#include <assert.h>
#include <string.h>

#include "engine/memo_impl.h"

/* ---- pairing heap; prev is the parent for a first child, else the left sibling ---- */

static bool ranks_before(const struct memo *memo, uint32_t a, uint32_t b)
{
        return memo->ranks[a] < memo->ranks[b];
}

static uint32_t meld(struct memo *memo, uint32_t a, uint32_t b)
{
        if (a == NONE)
                return b;
        if (b == NONE)
                return a;
        if (ranks_before(memo, b, a)) {
                uint32_t swap = a;
                a = b;
                b = swap;
        }
        struct node_link *top = &memo->links[a], *below = &memo->links[b];
        below->next = top->child;
        below->prev = a;
        if (top->child != NONE)
                memo->links[top->child].prev = b;
        top->child = b;
        top->next = top->prev = NONE;
        return a;
}

/* Melds a list of siblings: in pairs from the left, then the pairs together. */
static uint32_t meld_siblings(struct memo *memo, uint32_t first)
{
        uint32_t pairs = NONE;

        while (first != NONE) {
                uint32_t second = memo->links[first].next, rest = NONE;
                if (second != NONE)
                        rest = memo->links[second].next;
                memo->links[first].next = memo->links[first].prev = NONE;
                if (second != NONE)
                        memo->links[second].next = memo->links[second].prev = NONE;
                uint32_t pair = meld(memo, first, second);
                memo->links[pair].next = pairs;         /* a stack through next */
                pairs = pair;
                first = rest;
        }
        uint32_t root = NONE;
        while (pairs != NONE) {
                uint32_t rest = memo->links[pairs].next;
                memo->links[pairs].next = NONE;
                root = meld(memo, root, pairs);
                pairs = rest;
        }
        return root;
}

static uint32_t heap_remove(struct memo *memo, uint32_t root, uint32_t node)
{
        struct node_link *link = &memo->links[node];
        uint32_t below = meld_siblings(memo, link->child);

        if (node == root) {
                root = below;
        } else {
                if (memo->links[link->prev].child == node)
                        memo->links[link->prev].child = link->next;
                else
                        memo->links[link->prev].next = link->next;
                if (link->next != NONE)
                        memo->links[link->next].prev = link->prev;
                root = meld(memo, root, below);
        }
        link->child = link->next = link->prev = NONE;
        return root;
}

/* ---- the table ---- */

static uint64_t view_hash(const struct view *view)
{
        uint64_t hash = map_mix(((uint64_t)view->kind << 32 | view->cpu_free) ^
                                ((uint64_t)view->held << 20) ^ (uint64_t)view->closes_ms);

        for (unsigned i = 0; i < view->count; i++)
                hash = (hash ^ view->spots[i]) * 0x9e3779b97f4a7c15u;
        return map_mix(hash);
}

static bool view_equal(const struct view *a, const struct view *b)
{
        return a->kind == b->kind && a->cpu_free == b->cpu_free && a->held == b->held &&
               a->closes_ms == b->closes_ms &&
               memcmp(a->spots, b->spots, a->count * sizeof *a->spots) == 0;
}

static void table_link(struct memo *memo, uint32_t class)
{
        uint64_t at = view_hash(&memo->classes[class].view) & (memo->class_table_room - 1);

        memo->classes[class].next_hash = memo->class_table[at];
        memo->class_table[at] = class;
}

static void table_unlink(struct memo *memo, uint32_t class)
{
        uint64_t at = view_hash(&memo->classes[class].view) & (memo->class_table_room - 1);
        uint32_t *link = &memo->class_table[at];

        while (*link != class)
                link = &memo->classes[*link].next_hash;
        *link = memo->classes[class].next_hash;
}

static uint32_t class_find(const struct memo *memo, const struct view *view)
{
        uint64_t at = view_hash(view) & (memo->class_table_room - 1);
        uint32_t class = memo->class_table[at];

        while (class != NONE && !view_equal(&memo->classes[class].view, view))
                class = memo->classes[class].next_hash;
        return class;
}

void class_make(const struct memo *memo, const struct view *view, struct class *ret_class)
{
        ret_class->view = *view;
        ret_class->root = NONE;
        ret_class->nodes = 0;
        ret_class->dropped = false;
        ret_class->value = memo->ops->value ? memo->ops->value(memo, ret_class) : 0;
}

static void brief_make(struct memo *memo, const struct view *view, struct brief *brief)
{
        *brief = (struct brief){.stamp = ++memo->stamp,
                                .cpu_free = view->cpu_free,
                                .kind = view->kind,
                                .idle = view->idle};
        for (unsigned i = 0; i < view->count; i++)
                if (memo->spots[view->spots[i]].free_milli > brief->most_milli)
                        brief->most_milli = memo->spots[view->spots[i]].free_milli;
}

static uint32_t class_new(struct memo *memo, const struct view *view)
{
        uint32_t class = memo->classes_free;

        if (class != NONE)
                memo->classes_free = memo->classes[class].next_hash;
        else
                class = memo->classes_high++;
        class_make(memo, view, &memo->classes[class]);
        brief_make(memo, view, &memo->briefs[class]);
        memo->classes[class].active_at = memo->active_count;
        memo->active[memo->active_count++] = class;
        table_link(memo, class);
        return class;
}

static void class_drop(struct memo *memo, uint32_t class)
{
        uint32_t at = memo->classes[class].active_at;

        table_unlink(memo, class);
        memo->active[at] = memo->active[--memo->active_count];
        memo->classes[memo->active[at]].active_at = at;
        memo->briefs[class].stamp = 0;
        memo->classes[class].next_hash = memo->classes_free;
        memo->classes_free = class;
}

static void log_activation(struct memo *memo, uint32_t class)
{
        memo->log[memo->log_count++ % memo->log_room] =
                (struct activation){class, memo->briefs[class].stamp};
}

/* There are never more classes than nodes, and memo_sync made room for as many. */
void class_join(struct memo *memo, uint32_t node, const struct view *view)
{
        uint32_t class = class_find(memo, view);

        if (class == NONE)
                class = class_new(memo, view);
        struct class *home = &memo->classes[class];
        struct node_link *link = &memo->links[node];
        link->class = class;
        link->child = link->next = link->prev = NONE;
        uint32_t before = home->root;
        home->root = meld(memo, home->root, node);
        home->nodes++;
        /* A new first node: entries of the class rank better. Or a shape that had dropped the class
         * may find room on the new node. */
        if (home->root != before || home->dropped)
                log_activation(memo, class);
        home->dropped = false;
}

void class_leave(struct memo *memo, uint32_t node)
{
        uint32_t class = memo->links[node].class;

        if (class == NONE)
                return;
        struct class *home = &memo->classes[class];
        home->root = heap_remove(memo, home->root, node);
        memo->links[node].class = NONE;
        if (--home->nodes == 0)
                class_drop(memo, class);
}

/* ---- the first node with room: walks down only where a better rank may be ---- */

uint32_t class_next(const struct memo *memo, uint32_t node, bool down)
{
        if (down && memo->links[node].child != NONE)
                return memo->links[node].child;
        /* Next sibling, or the nearest one above. */
        while (node != NONE && memo->links[node].next == NONE) {
                uint32_t up = memo->links[node].prev;
                while (up != NONE && memo->links[up].child != node) {
                        node = up;
                        up = memo->links[node].prev;
                }
                node = up;
        }
        return node != NONE ? memo->links[node].next : NONE;
}

uint32_t class_first(const struct memo *memo, uint32_t class, const struct need *need)
{
        uint32_t node = memo->classes[class].root, best = NONE;

        while (node != NONE) {
                bool better = best == NONE || ranks_before(memo, node, best);
                bool found = better && node_has_room(&memo->state->nodes[node], need);
                if (found)
                        best = node;
                node = class_next(memo, node, better && !found);
        }
        return best;
}
