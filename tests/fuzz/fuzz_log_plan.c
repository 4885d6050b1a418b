/* fuzz_log_plan.c - a price plan that is read, written and read again is the same; what is refused
 * says why. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "engine/price.h"
#include "proto/log_plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_again(const struct price_plan *plan)
{
        struct text first = {0}, second = {0};
        struct price_plan *again;

        log_plan_write(plan, &first);
        assert(!first.failed);
        json_t *told = json_loadb(first.bytes, first.size, JSON_REJECT_DUPLICATES, NULL);
        assert(told);
        int rc = log_plan_read(told, &again, NULL);
        assert(rc == 0);
        assert(memcmp(plan, again, sizeof *plan) == 0);
        log_plan_write(again, &second);
        assert(first.size == second.size);
        assert(memcmp(first.bytes, second.bytes, first.size) == 0);
        json_decref(told);
        mem_free(again);
        text_done(&first);
        text_done(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        json_t *object = json_loadb((const char *)data, size, JSON_REJECT_DUPLICATES, NULL);
        struct price_plan *plan;
        struct err err = {0};

        if (!object)
                return 0;
        if (log_plan_read(object, &plan, &err)) {
                assert(err.code == ERR_INPUT || err.code == ERR_RANGE);
                assert(err.text[0] != '\0');
        } else {
                try_again(plan);
                mem_free(plan);
        }
        json_decref(object);
        return 0;
}
