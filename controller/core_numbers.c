/* The numbers that work is given by, as the core has them: numbers.h. */
#include "controller/core_impl.h"

#include "store/batch.h"

static uint64_t next_workload(const struct core *core)
{
        return core->next_workload > core->wish.workload_min ? core->next_workload
                                                             : core->wish.workload_min;
}

static uint64_t next_epoch(const struct core *core)
{
        uint64_t next = numbers_epoch(&core->numbers, core_next_seq(core));

        return next > core->wish.epoch_min ? next : core->wish.epoch_min;
}

uint64_t core_take_ids(struct core *core, uint32_t count)
{
        uint64_t first = next_workload(core);

        if (count > 0)
                core->next_workload = first + count;
        return first;
}

const struct numbers *core_numbers(const struct core *core)
{
        return &core->numbers;
}

bool core_knows(const struct core *core, uint64_t epoch, uint64_t workload)
{
        return numbers_know(&core->numbers, epoch, core->last_seq) &&
               workload < core->next_workload;
}

bool core_is_older(const struct core *core, uint64_t workload)
{
        return workload < core->first_workload;
}

bool core_is_beyond(const struct core *core, uint64_t epoch, uint64_t workload)
{
        return epoch >= next_epoch(core) || workload >= next_workload(core);
}

void core_pass(struct core *core, uint64_t epoch, uint64_t workload)
{
        if (epoch < NUMBERS_EPOCH_MAX && epoch >= next_epoch(core))
                core->wish.epoch_min = epoch + 1 + core->wish.chance;
        if (workload < NUMBERS_WORKLOAD_MAX && workload >= next_workload(core))
                core->wish.workload_min = workload + 1;
}

int core_number(struct act *act, struct err *err)
{
        struct core *core = act->core;
        struct numbers numbers = core->numbers;
        struct text text = {0};

        if (!numbers_begin(&numbers, &core->wish, core_next_seq(core)))
                return 0;
        bool is_first = batch_records(act->batch) == 0;
        numbers_note_write(&numbers, &text);
        int rc = text.failed ? err_set(err, ERR_NOMEM, "out of memory")
                             : core_note(act, text.bytes, err);
        text_done(&text);
        if (rc)
                return rc;
        act->numbers_before = core->numbers;
        act->has_numbers = is_first;
        core->numbers = numbers;
        return 0;
}
