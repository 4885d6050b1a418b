/* protocol.h - which version of the exchange a controller and an agent speak with each other.
 *
 * Pure. Each minor release has one version more than the one before, and speaks that one too, so
 * that a controller and its agents may differ by one minor release, whichever is newer. Keys that
 * are not known are skipped, and those that are missing have defaults: a new version is needed only
 * where that is not enough. docs/agent.md has the rules.
 */
#pragma once

#include <stdint.h>

struct err;

#define PROTOCOL_MIN 1
#define PROTOCOL_MAX 1

#define PROTOCOL_WANTS_MAX 256          /* in one answer: agents refuse one with more */
#define PROTOCOL_STARTED_MAX 1024       /* in one report; what is older is left out */

struct protocols {
        uint32_t min, max;
};

/* The newest that both speak. 0, or -ERR_INPUT with a sentence that says which side is to be
 * upgraded; `us` and `them` are who they are in it: "this controller", "the agent". */
int protocol_agree(struct protocols ours, const char *us, struct protocols theirs,
                   const char *them, uint32_t *ret_protocol, struct err *err);
