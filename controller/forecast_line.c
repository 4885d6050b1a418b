#include "controller/forecast_line.h"

#include <inttypes.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/str.h"
#include "base/text.h"

static const char made[] = "forecast ", none[] = "none ";

/* The word up to the next blank, which is passed; NULL: there is none, or a long one. */
static const char *take_word(const char **at, char word[24])
{
        size_t size = strcspn(*at, " \n");

        if ((*at)[size] != ' ' || size >= 24)
                return NULL;
        memcpy(word, *at, size);
        word[size] = '\0';
        *at += size + 1;
        return word;
}

/* ---- the question ---- */

void forecast_question_write(const struct forecast_question *question, struct text *text)
{
        text_add(text, "%" PRIu64 " %" PRId64 " %s\n", question->seq, question->now_ms,
                 question->is_json ? "json" : "yaml");
        text_add_bytes(text, question->text, question->size);
}

static int fail_question(struct err *err)
{
        return err_set(err, ERR_INPUT, "a question without its record, its time or its kind");
}

int forecast_question_parse(const char *bytes, size_t size, struct forecast_question *ret_question,
                            struct err *err)
{
        struct forecast_question question = {0};
        const char *at = bytes, *end = memchr(bytes, '\n', size);
        char word[24];
        int rc;

        if (!end || end - bytes >= FORECAST_LINE_MAX)
                return fail_question(err);
        if (!take_word(&at, word))
                return fail_question(err);
        if ((rc = num_u64(word, 0, INT64_MAX, &question.seq, err)) < 0)
                return rc;
        if (!take_word(&at, word))
                return fail_question(err);
        if ((rc = num_i64(word, 0, INT64_MAX, &question.now_ms, err)) < 0)
                return rc;
        question.is_json = end - at == 4 && memcmp(at, "json", 4) == 0;
        if (!question.is_json && !(end - at == 4 && memcmp(at, "yaml", 4) == 0))
                return fail_question(err);
        question.text = end + 1;
        question.size = size - (size_t)(question.text - bytes);
        *ret_question = question;
        return 0;
}

/* ---- the answer ---- */

static bool is_control(char byte)
{
        return (unsigned char)byte < ' ' || byte == 0x7f;
}

/* One line of whole letters, whatever the sentence has from documents. */
static void add_sentence(const char *sentence, struct text *text)
{
        char line[sizeof ((struct err *)NULL)->text];
        size_t size = strlen(sentence);

        (void)str_is_utf8(sentence, size, &size);
        if (size == 0) {
                text_add(text, "it is not known why");
                return;
        }
        for (size_t n = 0; n < size; n++)
                line[n] = is_control(sentence[n]) ? '?' : sentence[n];
        text_add_bytes(text, line, size);
}

void forecast_answer_write(int rc, const struct forecast *forecast, const struct err *why,
                           struct text *text)
{
        if (rc == 0) {
                text_add(text, "%s%u %u %" PRId64 " %" PRId64 "\n", made, forecast->futures,
                         forecast->started, forecast->p50_ms, forecast->p90_ms);
                return;
        }
        text_add(text, "%s", none);
        add_sentence(why->text, text);
        text_add(text, "\n");
}

/* A sentence that may be shown. */
static int take_sentence(const char *bytes, size_t size, struct err *err)
{
        struct err why = {.code = ERR_RANGE};

        if (size == 0 || size >= sizeof why.text || !str_is_utf8(bytes, size, NULL))
                return err_set(err, ERR_INPUT, "a sentence that is none, or too long");
        for (size_t n = 0; n < size; n++)
                if (is_control(bytes[n]))
                        return err_set(err, ERR_INPUT, "a sentence with what no letter is");
        memcpy(why.text, bytes, size);
        if (err)
                *err = why;
        return 1;
}

/* A time that follows from how many of the futures it starts in. */
static bool is_time(int64_t ms, bool has_started)
{
        return has_started ? ms >= 0 && ms <= FORECAST_HORIZON_MS : ms == -1;
}

static bool holds(const struct forecast *it)
{
        return it->futures > 0 && it->started <= it->futures &&
               (it->p50_ms < 0 || it->p90_ms < 0 || it->p50_ms <= it->p90_ms) &&
               is_time(it->p50_ms, it->started >= (it->futures * 50 + 99) / 100) &&
               is_time(it->p90_ms, it->started >= (it->futures * 90 + 99) / 100);
}

static int take_forecast(const char *at, struct forecast *ret_forecast, struct err *err)
{
        int64_t numbers[4];
        char word[24];

        for (unsigned n = 0; n < ARRAY_LEN(numbers); n++) {
                if (!take_word(&at, word))
                        return err_set(err, ERR_INPUT, "a forecast of fewer than four numbers");
                int rc = num_i64(word, -1, n < 2 ? FORECAST_FUTURES : FORECAST_HORIZON_MS,
                                 &numbers[n], err);
                if (rc < 0)
                        return rc;
        }
        struct forecast it = {.futures = numbers[0] < 0 ? 0 : (unsigned)numbers[0],
                              .started = numbers[1] < 0 ? UINT32_MAX : (unsigned)numbers[1],
                              .p50_ms = numbers[2],
                              .p90_ms = numbers[3]};
        if (*at != '\0' || !holds(&it))
                return err_set(err, ERR_INPUT, "a forecast whose numbers cannot be");
        *ret_forecast = it;
        return 0;
}

int forecast_answer_parse(const char *bytes, size_t size, struct forecast *ret_forecast,
                          struct err *err)
{
        char line[FORECAST_LINE_MAX + 2];

        if (size < 2 || size > FORECAST_LINE_MAX || memchr(bytes, '\n', size) != bytes + size - 1)
                return err_set(err, ERR_INPUT, "no line, or more than one");
        if (memchr(bytes, '\0', size))
                return err_set(err, ERR_INPUT, "a line with a NUL");
        memcpy(line, bytes, size);
        line[size] = '\0';
        if (strncmp(line, none, strlen(none)) == 0)
                return take_sentence(line + strlen(none), size - 1 - strlen(none), err);
        if (strncmp(line, made, strlen(made)) != 0)
                return err_set(err, ERR_INPUT, "a line that begins with no known word");
        line[size - 1] = ' ';           /* behind the last number, too */
        return take_forecast(line + strlen(made), ret_forecast, err);
}
