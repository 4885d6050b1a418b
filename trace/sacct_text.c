/* Single fields of sacct's output: numbers of jobs, states, clocks. */
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "trace/sacct_impl.h"

#define PART_MAX ((1u << 24) - 1)

/* At least one digit; false also when it is too large. */
static bool read_u32(const char **at, uint32_t *ret_number)
{
        uint64_t number = 0;
        const char *start = *at;

        for (; **at >= '0' && **at <= '9'; (*at)++) {
                number = number * 10 + (uint64_t)(**at - '0');
                if (number > UINT32_MAX)
                        return false;
        }
        *ret_number = (uint32_t)number;
        return *at != start;
}

bool sacct_is_step(const char *text)
{
        return strchr(text, '.') && !strchr(text, '['); /* "10_[1,3,...]" is a long array */
}

/* "4-9:2" is 3 tasks. */
static bool read_range(const char **at, uint64_t *ret_tasks)
{
        uint32_t first, last, step = 1;

        if (!read_u32(at, &first))
                return false;
        last = first;
        if (**at == '-') {
                (*at)++;
                if (!read_u32(at, &last) || last < first)
                        return false;
        }
        if (**at == ':') {
                (*at)++;
                if (!read_u32(at, &step) || step == 0)
                        return false;
        }
        *ret_tasks = (uint64_t)(last - first) / step + 1;
        return true;
}

/* Behind "10_[": "4-9,12%2]". A list may be cut: "1,3,5,...": then those that are named count. */
static bool read_tasks(const char *at, struct sacct_id *id)
{
        uint64_t tasks = 0, more = 0;
        size_t length = strlen(at);

        if (length == 0 || at[length - 1] != ']')
                return false;
        for (;; at++) {
                if (!read_range(&at, &more))
                        break;
                tasks += more;
                if (*at != ',')
                        break;
        }
        /* Ranges may overlap only in a broken file; a count is all they are. */
        id->tasks = tasks == 0 ? 1 : tasks > JOBS_MAX ? JOBS_MAX : (uint32_t)tasks;
        at = strchr(at, '%');
        if (!at)
                return true;
        at++;
        return read_u32(&at, &id->at_once) && str_equal(at, "]");
}

bool sacct_read_id(const char *text, struct sacct_id *ret_id)
{
        struct sacct_id id = {.tasks = 1};
        const char *at = text;

        if (!read_u32(&at, &id.job))
                return false;
        if (at[0] == '_' && at[1] == '[') {
                id.kind = SACCT_ID_TASKS;
                if (!read_tasks(at + 2, &id))
                        return false;
        } else if (*at == '_' || *at == '+') {
                id.kind = *at == '_' ? SACCT_ID_TASK : SACCT_ID_COMPONENT;
                at++;
                if (!read_u32(&at, &id.part) || id.part > PART_MAX || *at)
                        return false;
        } else if (*at) {
                return false;
        }
        *ret_id = id;
        return true;
}

static const struct {
        const char *word;
        uint8_t stage, end;
} states[] = {
        {"COMPLETED", SACCT_ENDED, JOB_DONE},
        {"FAILED", SACCT_ENDED, JOB_FAILED},
        {"OUT_OF_MEMORY", SACCT_ENDED, JOB_FAILED},
        {"CANCELLED", SACCT_ENDED, JOB_CANCELLED},
        {"TIMEOUT", SACCT_ENDED, JOB_TIMED_OUT},
        {"DEADLINE", SACCT_ENDED, JOB_TIMED_OUT},
        {"NODE_FAIL", SACCT_ENDED, JOB_NODE_FAILED},
        {"BOOT_FAIL", SACCT_ENDED, JOB_NODE_FAILED},
        {"LAUNCH_FAILED", SACCT_ENDED, JOB_NODE_FAILED},
        {"RECONFIG_FAIL", SACCT_ENDED, JOB_NODE_FAILED},
        {"PREEMPTED", SACCT_ENDED, JOB_STOPPED},
        {"REVOKED", SACCT_ENDED, JOB_STOPPED}, /* another cluster of a federation took it */
        {"REQUEUED", SACCT_STOPPED_AGAIN, JOB_STOPPED},
        {"REQUEUE_HOLD", SACCT_STOPPED_AGAIN, JOB_STOPPED},
        {"REQUEUE_FED", SACCT_STOPPED_AGAIN, JOB_STOPPED},
        {"SPECIAL_EXIT", SACCT_STOPPED_AGAIN, JOB_STOPPED},
        {"RESIZING", SACCT_RESIZED, JOB_STOPPED},
        {"RUNNING", SACCT_RUNS, JOB_STOPPED},
        {"SUSPENDED", SACCT_RUNS, JOB_STOPPED},
        {"STOPPED", SACCT_RUNS, JOB_STOPPED},
        {"SIGNALING", SACCT_RUNS, JOB_STOPPED},
        {"CONFIGURING", SACCT_RUNS, JOB_STOPPED},
        {"POWER_UP_NODE", SACCT_RUNS, JOB_STOPPED},
        {"COMPLETING", SACCT_RUNS, JOB_STOPPED},
        {"STAGE_OUT", SACCT_RUNS, JOB_STOPPED},
        {"UPDATE_DB", SACCT_RUNS, JOB_STOPPED},
        {"PENDING", SACCT_WAITS, JOB_STOPPED},
        {"RESV_DEL_HOLD", SACCT_WAITS, JOB_STOPPED},
        {"EXPEDITING", SACCT_WAITS, JOB_STOPPED},
};

bool sacct_read_state(const char *text, uint8_t *ret_stage, uint8_t *ret_end)
{
        size_t length = strcspn(text, " ");

        for (size_t i = 0; i < ARRAY_LEN(states); i++)
                if (strlen(states[i].word) == length && !memcmp(text, states[i].word, length)) {
                        *ret_stage = states[i].stage;
                        *ret_end = states[i].end;
                        return true;
                }
        return false;
}

bool sacct_read_clock(const char *text, int64_t *ret_s)
{
        uint32_t parts[3] = {0}, days = 0, number = 0;
        unsigned count = 0;
        const char *at = text;

        if (!read_u32(&at, &number))
                return false;
        if (*at == '-') {
                days = number;
                at++;
                if (!read_u32(&at, &number))
                        return false;
        }
        parts[count++] = number;
        while (*at == ':' && count < 3) {
                at++;
                if (!read_u32(&at, &parts[count++]))
                        return false;
        }
        if (*at == '.')
                for (at++; *at >= '0' && *at <= '9';)
                        at++;
        /* Days stand in front of hours; else two parts are minutes and seconds. */
        if (*at || count < 2 || (at != text && days > 0 && count < 3))
                return false;
        int64_t hours = count == 3 ? parts[0] : 0;
        *ret_s = days * INT64_C(86400) + hours * 3600 + parts[count - 2] * INT64_C(60) +
                 parts[count - 1];
        return true;
}
