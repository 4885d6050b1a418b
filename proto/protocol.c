#include "proto/protocol.h"

#include <stdio.h>

#include "base/err.h"

#define RANGE_TEXT_MAX 32

/* "2", "1 to 2" */
static const char *range_text(struct protocols range, char buf[RANGE_TEXT_MAX])
{
        if (range.min == range.max)
                (void)snprintf(buf, RANGE_TEXT_MAX, "%u", range.max);
        else
                (void)snprintf(buf, RANGE_TEXT_MAX, "%u to %u", range.min, range.max);
        return buf;
}

int protocol_agree(struct protocols ours, const char *us, struct protocols theirs,
                   const char *them, uint32_t *ret_protocol, struct err *err)
{
        char our_text[RANGE_TEXT_MAX], their_text[RANGE_TEXT_MAX];
        uint32_t newest = ours.max < theirs.max ? ours.max : theirs.max;

        if (theirs.min > theirs.max)
                return err_set(err, ERR_INPUT, "%s says it speaks protocols %u to %u", them,
                               theirs.min, theirs.max);
        if (newest >= ours.min && newest >= theirs.min) {
                *ret_protocol = newest;
                return 0;
        }
        return err_set(err, ERR_INPUT,
                       "%s speaks protocol %s, %s %s: upgrade %s, by one minor release after the "
                       "other",
                       us, range_text(ours, our_text), them, range_text(theirs, their_text),
                       ours.max < theirs.min ? us : them);
}
