/* policy.h - the placement policies behind one interface.
 *
 * A policy orders the places where something fits; whether it fits is not its
 * business. Pure; `random` draws from its seed and the workload's arrival number.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct err;

#define POLICIES(X)                                                                             \
        X(AUTO,        "auto",        "prices of the expected demand; else fgd; else gradient") \
        X(FGD,         "fgd",         "least growth of fragments of the expected demand")       \
        X(GRADIENT,    "gradient",    "least growth of fragments, whatever comes")              \
        X(FIRST_FIT,   "first-fit",   "first node by name, fullest device")                     \
        X(BEST_FIT,    "best-fit",    "least left on the node, fullest device")                 \
        X(WORST_FIT,   "worst-fit",   "most left on the node, emptiest device")                 \
        X(PACKING,     "packing",     "shared devices first, then used nodes, then empty ones") \
        X(CLUSTERING,  "clustering",  "nodes that hold work of the same size")                  \
        X(DOT_PRODUCT, "dot-product", "least alignment of what is free with what is asked")     \
        X(RANDOM,      "random",      "any; as random:1, and random:SEED draws otherwise")

enum policy_kind {
#define X(name, wire, help) POLICY_##name,
        POLICIES(X)
#undef X
        POLICIES_END
};

struct policy {
        enum policy_kind kind;
        uint64_t seed;                  /* RANDOM */
};

/* Reads "auto", "random:7". -ERR_NOT_FOUND lists near names; -ERR_INPUT: a seed where there is
 * none, or no number; -ERR_RANGE: a seed below 0 or above 64 bits. Without a seed it is 1. */
int policy_parse(const char *text, struct policy *ret_policy, struct err *err);
const char *policy_name(enum policy_kind kind);
