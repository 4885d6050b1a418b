/* fuzz_log_fact.c - a fact or an input that is read, written and read again is the same; what is
 * refused says why. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "base/text.h"
#include "proto/log_fact.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_same(const struct text *first, const struct text *second)
{
        assert(!first->failed);
        assert(!second->failed);
        assert(first->size == second->size);
        assert(memcmp(first->bytes, second->bytes, first->size) == 0);
}

static json_t *load(const struct text *text)
{
        json_t *object = json_loadb(text->bytes, text->size, JSON_REJECT_DUPLICATES, NULL);

        assert(object);
        return object;
}

static void try_fact(json_t *object)
{
        struct text first = {0}, second = {0};
        struct err err = {0};
        struct fact fact, again;

        if (log_fact_read(object, &fact, &err)) {
                assert(err.code == ERR_INPUT);
                assert(err.text[0] != '\0');
                return;
        }
        assert(fact.kind < FACTS_END);
        log_fact_write(&fact, &first);
        json_t *told = load(&first);
        int rc = log_fact_read(told, &again, &err);
        assert(rc == 0);
        assert(again.kind == fact.kind);
        log_fact_write(&again, &second);
        check_same(&first, &second);
        json_decref(told);
        text_done(&first);
        text_done(&second);
}

static void write_input(const struct input *input, struct text *text)
{
        text_add(text, "{");
        log_input_write(input, text);
        text_add(text, "}");
}

/* As the log has it, with members of the caller's beside the input's. */
static void try_input(json_t *object)
{
        static const char *const beside[] = {"at_ms", "policy", NULL};
        struct text first = {0}, second = {0};
        struct err err = {0};
        struct input input, again;

        if (log_input_read(object, beside, &input, &err)) {
                assert(err.code == ERR_INPUT);
                assert(err.text[0] != '\0');
                return;
        }
        assert(input.kind < INPUTS_END);
        write_input(&input, &first);
        json_t *told = load(&first);
        int rc = log_input_read(told, NULL, &again, &err);
        assert(rc == 0);
        assert(again.kind == input.kind);
        write_input(&again, &second);
        check_same(&first, &second);
        json_decref(told);
        text_done(&first);
        text_done(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        json_t *object = json_loadb((const char *)data, size, JSON_REJECT_DUPLICATES, NULL);

        if (!object)
                return 0;
        try_fact(object);
        try_input(object);
        json_decref(object);
        return 0;
}
