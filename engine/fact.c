#include "engine/fact.h"

const char *input_name(enum input_kind kind)
{
        static const char *const names[] = {
#define X(name, wire, exogenous) wire,
                INPUTS(X)
#undef X
        };
        return names[kind];
}

bool input_is_exogenous(enum input_kind kind)
{
        static const bool exogenous_of[] = {
#define X(name, wire, exogenous) exogenous,
                INPUTS(X)
#undef X
        };
        return exogenous_of[kind];
}

const char *fact_name(enum fact_kind kind)
{
        static const char *const names[] = {
#define X(name, wire) wire,
                FACTS(X)
#undef X
        };
        return names[kind];
}

const char *gate_name(enum gate gate)
{
        static const char *const names[] = {
#define X(name, wire) wire,
                GATES(X)
#undef X
        };
        return names[gate];
}

const char *release_cause_name(enum release_cause cause)
{
        static const char *const names[] = {
#define X(name, wire) wire,
                RELEASE_CAUSES(X)
#undef X
        };
        return names[cause];
}

const char *standing_name(enum standing standing)
{
        static const char *const names[] = {"protected", "standard", "spare"};

        _Static_assert(sizeof names / sizeof names[0] == STANDINGS_END, "a name per standing");
        return names[standing];
}

const char *plan_cause_name(enum plan_cause cause)
{
        static const char *const names[] = {
#define X(name, wire) wire,
                PLAN_CAUSES(X)
#undef X
        };
        return names[cause];
}

const char *notice_cause_name(enum notice_cause cause)
{
        static const char *const names[] = {
#define X(name, wire) wire,
                NOTICE_CAUSES(X)
#undef X
        };
        return names[cause];
}

const char *layout_op_name(enum layout_op op)
{
        static const char *const names[] = {"cut_on", "cut_off", "create", "destroy"};

        _Static_assert(sizeof names / sizeof names[0] == LAYOUT_OPS_END, "a name per step");
        return names[op];
}
