/* doc_walk.h - what must hold for every tree, and every decoder tried on every node. */
#pragma once

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/doc.h"
#include "base/err.h"

static inline void doc_walk_getters(const struct doc_node *node)
{
        static const char *const names[] = {"name", "nodes", "model"};
        struct err err = {0};
        uint64_t value;
        int64_t number;
        unsigned index;
        bool flag;
        const char *text;
        const struct doc_node *child;
        int codes[] = {
                doc_text(node, 1, 20, &text, &err),
                doc_bool(node, &flag, &err),
                doc_u64(node, 1, 10, &value, &err),
                doc_i64(node, -10, 10, &number, &err),
                doc_milli(node, 1, 10, &value, &err),
                doc_size_mib(node, 1, 10, &value, &err),
                doc_rate_mbit(node, 1, 10, &value, &err),
                doc_duration_ms(node, 1, 10, &number, &err),
                doc_cpu_milli(node, 1, 10, &value, &err),
                doc_choice(node, names, 3, &index, &err),
                doc_check_keys(node, names, 3, &err),
                doc_check_list(node, 1, 2, &err),
                doc_need(node, "model", &child, &err),
        };
        for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
                assert(codes[i] == 0 || strncmp(err.text, "f:", 2) == 0);
}

static inline void doc_walk(const struct doc_node *node, unsigned depth, unsigned line_max)
{
        size_t children = 0;
        assert(depth <= DOC_DEPTH_MAX);
        assert(doc_line(node) >= 1);
        assert(doc_line(node) <= line_max);
        assert((doc_raw(node) != NULL) == (doc_kind(node) == DOC_SCALAR));
        doc_walk_getters(node);
        DOC_EACH (child, node) {
                assert(doc_parent(child) == node);
                assert((doc_key(child) != NULL) == (doc_kind(node) == DOC_MAP));
                /* Quadratic, so only for maps of an ordinary width. */
                if (doc_key(child) && doc_length(node) < 1000)
                        assert(doc_get(node, doc_key(child)) == child);
                doc_walk(child, depth + 1, line_max);
                children++;
        }
        assert(children == doc_length(node));
}
