/* rights.h - what a tenant may ask for at all: the gate ALLOWED, at submission.
 *
 * Pure. One function for who decides and who explains.
 */
#pragma once

#include "engine/state.h"

struct tenancy;

/* What is not allowed, in the order in which it is looked at. */
#define RIGHTS(X)                                                                       \
        X(ALL,        "everything is allowed")                                          \
        X(TENANT,     "there is no such tenant, class or data label")                   \
        X(CLASS,      "the tenant may not use the class")                               \
        X(MODEL,      "the tenant may not use the device model")                        \
        X(METHOD,     "class, tenant and data label leave no method that would do")     \
        X(PLANE,      "class, tenant or data label may not use the plane")              \
        X(TRUST,      "the data label is not for the tenant's trust domain")            \
        X(SPARE,      "work of the class is never stopped, so none of it is spare")     \
        X(TIME_LIMIT, "the class wants a time limit within its own")

enum right {
#define X(name, text) RIGHT_##name,
        RIGHTS(X)
#undef X
        RIGHTS_END
};

const char *right_text(enum right right);

/* Brings a settled request within the policy in force, if there is one: a need for memory is met by
 * allowed methods only, the simplest that do; members and replicas lie as far apart as the class
 * says. Returns what is not allowed of it, or RIGHT_ALL. */
enum right rights_narrow(const struct state *state, struct request *request);
