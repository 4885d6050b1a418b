#include "controller/numbers.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/text.h"

static const struct numbers_period first_period; /* of a log without a note: base 0 */

static const struct numbers_period *newest(const struct numbers *numbers)
{
        return numbers->periods_count ? &numbers->periods[numbers->periods_count - 1]
                                      : &first_period;
}

uint64_t numbers_epoch(const struct numbers *numbers, uint64_t seq)
{
        return newest(numbers)->base + seq;
}

bool numbers_know(const struct numbers *numbers, uint64_t epoch, uint64_t last_seq)
{
        for (uint32_t i = numbers->periods_count; i-- > 0;) {
                const struct numbers_period *period = &numbers->periods[i];
                if (epoch >= period->base + period->first_seq)
                        return epoch - period->base <= last_seq;
                last_seq = period->first_seq - 1;
        }
        return numbers->periods_count == NUMBERS_PERIODS_MAX || epoch <= last_seq;
}

static void add_period(struct numbers *numbers, uint64_t seq, uint64_t base)
{
        if (numbers->periods_count == NUMBERS_PERIODS_MAX) {
                numbers->periods_count--;
                memmove(numbers->periods, numbers->periods + 1,
                        numbers->periods_count * sizeof numbers->periods[0]);
        }
        numbers->periods[numbers->periods_count++] = (struct numbers_period){seq, base};
}

void numbers_wish_above(struct numbers_wish *wish, const struct numbers *numbers,
                        uint64_t last_seq)
{
        uint64_t last = numbers_epoch(numbers, last_seq);

        if (wish->chance > 0 && wish->epoch_min < last + NUMBERS_CHANCE_MIN)
                wish->epoch_min = last + 1 + wish->chance;
}

bool numbers_begin(struct numbers *numbers, const struct numbers_wish *wish, uint64_t seq)
{
        uint64_t base = newest(numbers)->base;

        if ((numbers->log || !wish->log) && wish->epoch_min <= base + seq &&
            wish->workload_min <= numbers->workload_min)
                return false;
        if (!numbers->log)
                numbers->log = wish->log;
        if (wish->workload_min > numbers->workload_min)
                numbers->workload_min = wish->workload_min;
        if (wish->epoch_min > base + seq)
                base = wish->epoch_min - seq;
        add_period(numbers, seq, base);
        return true;
}

/* ---- the note ---- */

void numbers_note_write(const struct numbers *numbers, struct text *out)
{
        char log[NUMBERS_LOG_TEXT_MAX];

        text_add(out, "{\"numbers\":{\"log\":\"%s\",\"base\":%" PRIu64 ",\"workload\":%" PRIu64
                      "}}",
                 numbers_log_text(numbers->log, log), newest(numbers)->base,
                 numbers->workload_min);
}

/* Bases only grow, and what is above the bounds was never written. */
static int check(const struct numbers *numbers, struct numbers_period period,
                 uint64_t workload_min, struct err *err)
{
        if (period.base >= NUMBERS_EPOCH_END || workload_min > NUMBERS_WORKLOAD_MAX ||
            period.base < newest(numbers)->base || period.first_seq <= newest(numbers)->first_seq)
                return err_set(err, ERR_INPUT,
                               "the log's numbers are damaged: base %" PRIu64 " from record "
                               "%" PRIu64 ", workloads from %" PRIu64,
                               period.base, period.first_seq, workload_min);
        return 0;
}

int numbers_note_read(struct numbers *numbers, const void *body, size_t size, uint64_t seq,
                      struct err *err)
{
        static const char begin[] = "{\"numbers\":";
        struct numbers_period period = {.first_seq = seq};
        uint64_t log = 0;

        if (size < sizeof begin || memcmp(body, begin, sizeof begin - 1) != 0)
                return 0;
        json_t *note = json_loadb(body, size, 0, NULL);
        const json_t *it = json_object_get(note, "numbers"), *base = json_object_get(it, "base"),
                     *min = json_object_get(it, "workload");
        bool is_whole = json_is_integer(base) && json_integer_value(base) >= 0 &&
                        json_is_integer(min) && json_integer_value(min) >= 0 &&
                        numbers_log_parse(json_string_value(json_object_get(it, "log")), &log);
        uint64_t workload_min = (uint64_t)json_integer_value(min);
        period.base = (uint64_t)json_integer_value(base);
        json_decref(note);
        if (!is_whole)
                return err_set(err, ERR_INPUT, "a note of the log's numbers is damaged");
        int rc = check(numbers, period, workload_min, err);
        if (rc)
                return rc;
        numbers->log = log;
        numbers->workload_min = workload_min;
        add_period(numbers, period.first_seq, period.base);
        return 1;
}

/* ---- in a snapshot ---- */

size_t numbers_write(const struct numbers *numbers, uint64_t words[NUMBERS_WORDS_MAX])
{
        size_t count = 0;

        words[count++] = numbers->log;
        words[count++] = numbers->workload_min;
        for (uint32_t i = 0; i < numbers->periods_count; i++) {
                words[count++] = numbers->periods[i].first_seq;
                words[count++] = numbers->periods[i].base;
        }
        return count;
}

int numbers_read(struct numbers *numbers, const uint64_t *words, size_t count, struct err *err)
{
        *numbers = (struct numbers){0};
        if (count == 0)
                return 0;               /* of 0.1.0 */
        if (count < 2 || count % 2 || count > NUMBERS_WORDS_MAX)
                return err_set(err, ERR_INPUT, "the log's numbers are damaged: %zu words", count);
        for (size_t i = 2; i < count; i += 2) {
                const struct numbers_period period = {words[i], words[i + 1]};
                int rc = check(numbers, period, words[1], err);
                if (rc)
                        return rc;
                add_period(numbers, period.first_seq, period.base);
        }
        numbers->log = words[0];
        numbers->workload_min = words[1];
        return 0;
}

/* ---- its name ---- */

const char *numbers_log_text(uint64_t log, char buf[NUMBERS_LOG_TEXT_MAX])
{
        (void)snprintf(buf, NUMBERS_LOG_TEXT_MAX, "%016" PRIx64, log);
        return buf;
}

bool numbers_log_parse(const char *text, uint64_t *ret_log)
{
        uint64_t log = 0;

        if (!text || strlen(text) != NUMBERS_LOG_TEXT_MAX - 1)
                return false;
        for (; *text; text++) {
                const char *digits = "0123456789abcdef", *digit = strchr(digits, *text);
                if (!digit)
                        return false;
                log = log << 4 | (uint64_t)(digit - digits);
        }
        *ret_log = log;
        return true;
}
