/* The words and keys of the exchange. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "agent/exchange.h"
#include "base/num.h"
#include "base/str.h"

bool run_key_equal(struct run_key a, struct run_key b)
{
        return a.workload == b.workload && a.member == b.member && a.epoch == b.epoch;
}

const char *run_key_text(struct run_key key, char buf[RUN_KEY_TEXT_MAX])
{
        snprintf(buf, RUN_KEY_TEXT_MAX, "%" PRIu64 ".%" PRIu32 ".%" PRIu64, key.workload,
                 key.member, key.epoch);
        return buf;
}

bool run_key_parse(const char *text, struct run_key *ret_key)
{
        char copy[RUN_KEY_TEXT_MAX], again[RUN_KEY_TEXT_MAX];
        uint64_t workload, member, epoch;

        if (!str_copy(copy, sizeof copy, text))
                return false;
        char *dot = strchr(copy, '.');
        char *last = dot ? strchr(dot + 1, '.') : NULL;
        if (!last)
                return false;
        *dot = *last = '\0';
        if (num_u64(copy, 1, EXCHANGE_WORKLOAD_MAX, &workload, NULL) < 0 ||
            num_u64(dot + 1, 0, EXCHANGE_MEMBER_MAX, &member, NULL) < 0 ||
            num_u64(last + 1, 1, UINT64_MAX, &epoch, NULL) < 0)
                return false;
        struct run_key key = {workload, (uint32_t)member, epoch};
        /* One text for one key: "017.0.1" is another folder. */
        if (!str_equal(run_key_text(key, again), text))
                return false;
        *ret_key = key;
        return true;
}

static const char *const phase_names[] = {
#define X(name, wire) [RUN_##name] = wire,
        RUN_PHASES(X)
#undef X
};
_Static_assert(sizeof phase_names / sizeof phase_names[0] == RUN_PHASES_END, "one name each");

const char *run_phase_name(enum run_phase phase)
{
        return phase_names[phase];
}

bool run_phase_find(const char *name, enum run_phase *ret_phase)
{
        for (unsigned i = 0; i < RUN_PHASES_END; i++) {
                if (!str_equal(phase_names[i], name))
                        continue;
                *ret_phase = (enum run_phase)i;
                return true;
        }
        return false;
}

bool exchange_is_log(const char *text)
{
        return text[0] && strlen(text) < EXCHANGE_LOG_MAX &&
               text[strspn(text, "0123456789abcdef")] == '\0';
}
