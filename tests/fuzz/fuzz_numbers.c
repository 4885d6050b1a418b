/* fuzz_numbers.c - a note of the log's numbers and the words of a snapshot, whatever they are: read
 * within bounds, or refused with a sentence; what was read is written again the same, and a start
 * behind it gives more than was ever given, from a base that can be read again. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "base/text.h"
#include "controller/numbers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void go_on(struct numbers numbers, uint64_t seq)
{
        struct numbers_wish wish = {.chance = NUMBERS_CHANCE_MIN};
        uint64_t last = numbers_epoch(&numbers, seq);

        assert(last < 2 * NUMBERS_EPOCH_END);
        numbers_wish_above(&wish, &numbers, seq);
        bool began = numbers_begin(&numbers, &wish, seq + 1);
        assert(began == (wish.epoch_min - (seq + 1) < NUMBERS_EPOCH_END));
        assert(numbers_epoch(&numbers, seq + 1) > last);
        if (!began)
                return;                 /* there was no room to jump */
        assert(numbers_know(&numbers, numbers_epoch(&numbers, seq + 1), seq + 1));
        assert(!numbers_know(&numbers, last + 1, seq + 1));
        assert(numbers.periods[numbers.periods_count - 1].base < NUMBERS_EPOCH_END);
}

static int try_note(const uint8_t *data, size_t size, struct err *err)
{
        struct numbers numbers = {0}, again = {0};
        struct text text = {0};
        int rc = numbers_note_read(&numbers, data, size, 17, err);

        if (rc <= 0)
                return rc;
        numbers_note_write(&numbers, &text);
        assert(!text.failed);
        rc = numbers_note_read(&again, text.bytes, text.size, 17, NULL);
        assert(rc == 1);
        assert(memcmp(&numbers, &again, sizeof numbers) == 0);
        text_done(&text);
        go_on(numbers, 20);
        return 0;
}

static int try_words(const uint8_t *data, size_t size, struct err *err)
{
        uint64_t words[NUMBERS_WORDS_MAX + 1], again[NUMBERS_WORDS_MAX];
        size_t count = size / sizeof *words;
        struct numbers numbers;

        if (count > NUMBERS_WORDS_MAX + 1)
                count = NUMBERS_WORDS_MAX + 1;
        memcpy(words, data, count * sizeof *words);
        int rc = numbers_read(&numbers, words, count, err);
        if (rc)
                return rc;
        size_t written = numbers_write(&numbers, again);
        assert(written == (count ? count : 2));
        assert(count == 0 || memcmp(words, again, count * sizeof *words) == 0);
        uint64_t seq = numbers.periods_count
                               ? numbers.periods[numbers.periods_count - 1].first_seq
                               : 0;
        if (seq < NUMBERS_EPOCH_END)
                go_on(numbers, seq);
        return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct err err = {0};

        if (size == 0)
                return 0;
        int rc = data[0] == '{' ? try_note(data, size, &err)
                                : try_words(data + 1, size - 1, &err);
        if (rc) {
                assert(rc == -ERR_INPUT);
                assert(err.text[0] != '\0');
        }
        return 0;
}
