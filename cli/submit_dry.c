/* What a submission would come to: when, on which terms, at which price. */
#include <inttypes.h>

#include "base/mem.h"
#include "base/str.h"
#include "cli/json_in.h"
#include "cli/submit.h"
#include "cli/words.h"

/* Of so many drawn futures; what is not within their horizon has no time. */
static void put_futures(const json_t *forecast, FILE *file)
{
        char half[JSON_IN_MAX], late[JSON_IN_MAX], horizon[JSON_IN_MAX];
        int64_t futures = json_in_number(forecast, "futures");

        json_in_span(forecast, "horizon_ms", horizon);
        json_in_span(forecast, "starts_in_ms", half);
        json_in_span(forecast, "starts_in_p90_ms", late);
        if (!half[0])
                fprintf(file, "it does not start within %s, in most of %" PRId64 " drawn futures",
                        horizon, futures);
        else if (!late[0])
                fprintf(file, "it starts in %s, but not within %s in some of %" PRId64
                              " drawn futures", half, horizon, futures);
        else if (str_equal(half, late))
                fprintf(file, "it starts in %s, in %" PRId64 " drawn futures", half, futures);
        else
                fprintf(file, "it starts in %s, nine times in ten within %s, of %" PRId64
                              " drawn futures", half, late, futures);
}

static void put_forecast(const json_t *forecast, FILE *file)
{
        if (!json_is_object(forecast))
                return;
        fputs("forecast:  ", file);
        if (json_in_has(forecast, "none")) {
                fputs("none: ", file);
                json_in_put(forecast, "none", file);
        } else {
                put_futures(forecast, file);
                fputs(". Not measured; it assumes that ", file);
                json_in_put(forecast, "assumes", file);
        }
        fputc('\n', file);
}

static void put_like(const json_t *like, FILE *file)
{
        char id[JSON_IN_MAX], soon[JSON_IN_MAX], late[JSON_IN_MAX], percent[JSON_IN_MAX];

        if (!json_is_object(like))
                return;
        const json_t *eta = json_object_get(like, "eta");
        fprintf(file,
                "expected:  after workload %s, which asks for the same: that starts in %s (p90 "
                "%s), right in %s %% of cases\n",
                json_in_words(like, "workload", id), json_in_span(like, "starts_in_ms", soon),
                json_in_span(like, "starts_in_p90_ms", late),
                json_in_words(eta, "covered_pct", percent));
}

/* The word is the policy's: docs/policy.md has them. */
static const char *stop_text(const char *word, const char *standing)
{
        static const struct {
                const char *word, *text;
        } rows[] = {
                {"never", "is never stopped for others"},
                {"for_protect", "may be stopped for another tenant's promise, or to gather room"},
                {"always", "may be stopped for any other work that goes before it"},
        };

        if (str_equal(standing, "spare") && !str_equal(word, "never"))
                return "may be stopped for any other, as spare work";
        for (size_t r = 0; r < ARRAY_LEN(rows); r++)
                if (str_equal(word, rows[r].word))
                        return rows[r].text;
        return word;
}

/* "3 stops in 1,240 device-hours since ..., one in 413; 0.4 % of its time was lost" */
static void put_measured(const json_t *measured, const char *class, FILE *file)
{
        char since[JSON_IN_MAX], number[WORDS_MAX], percent[WORDS_MAX];
        double held, lost;

        if (!json_is_object(measured)) {
                fprintf(file, "measured:  nothing yet of class %s\n", class);
                return;
        }
        held = json_in_decimal(measured, "device_hours");
        lost = json_in_decimal(measured, "lost_device_hours");
        int64_t stops = json_in_number(measured, "stops");
        fprintf(file, "measured:  %" PRId64 " stop%s in %s device-hours of class %s", stops,
                stops == 1 ? "" : "s", words_whole(held, number), class);
        if (stops > 0)
                fprintf(file, " (one in %s)", words_whole(held / (double)stops, number));
        fprintf(file, ", %s of them lost; since %s\n", words_percent(lost, held, percent),
                json_in_clean(measured, "since", since));
}

static void put_terms(const json_t *terms, const char *standing, FILE *file)
{
        char class[JSON_IN_MAX], word[JSON_IN_MAX], span[JSON_IN_MAX];

        if (!json_is_object(terms))
                return;
        bool never = str_equal(json_in_clean(terms, "stop", word), "never");
        fprintf(file, "terms:     work of class %s %s%s", json_in_clean(terms, "class", class),
                !never && str_equal(standing, "protected")
                        ? "is stopped for nobody while it is protected; beyond that it "
                        : "",
                stop_text(word, standing));
        if (!never)
                fprintf(file, ", with %s notice", json_in_span(terms, "notice_ms", span));
        if (!never && json_in_number(terms, "exempt_ms") > 0)
                fprintf(file, ", not in its first %s", json_in_span(terms, "exempt_ms", span));
        if (!never && json_in_has(terms, "stops_per_day"))
                fprintf(file, ", at most %" PRId64 " times a day",
                        json_in_number(terms, "stops_per_day"));
        if (json_in_has(terms, "time_limit_ms"))
                fprintf(file, "; it ends after %s", json_in_span(terms, "time_limit_ms", span));
        fputc('\n', file);
        if (!never)
                put_measured(json_object_get(terms, "measured"), class, file);
}

static void put_price(const json_t *price, FILE *file)
{
        const json_t *models = json_object_get(price, "models");
        char currency[JSON_IN_MAX], model[JSON_IN_MAX], amount[JSON_IN_MAX];

        json_in_clean(price, "currency", currency);
        if (str_equal(currency, "XXX"))
                currency[0] = '\0';     /* none was said */
        for (size_t m = 0; m < json_array_size(models); m++) {
                const json_t *row = json_array_get(models, m);
                fprintf(file, "%s%s an hour on %s",
                        m == 0 ? "price:     " : ", ", json_in_clean(row, "per_hour", amount),
                        json_in_clean(row, "model", model));
                if (json_in_has(row, "for_time_limit"))
                        fprintf(file, " (%s for its time limit)",
                                json_in_clean(row, "for_time_limit", amount));
        }
        if (json_array_size(models) > 0)
                fprintf(file, "%s%s\n", currency[0] ? ", in " : "", currency);
}

/* What would start at once, and what could ever. */
static void put_nearest(const json_t *explanation, FILE *file)
{
        const json_t *nearest = json_object_get(explanation, "nearest"), *it;
        char text[JSON_IN_MAX];
        size_t n;

        if (json_in_clean(explanation, "possible", text)[0])
                fprintf(file, "possible:  at most %s\n", text);
        json_array_foreach(nearest, n, it)
                fprintf(file, "%s when %s\n", n == 0 ? "starts    " : "   or     ",
                        json_in_clean(it, "when", text));
}

bool submit_would_be_refused(const json_t *answer)
{
        const char *verdict = json_in_text(answer, "verdict");

        return str_equal(verdict, "REFUSED") || str_equal(verdict, "NEVER");
}

static void put_all(const json_t *answer, FILE *file)
{
        char verdict[JSON_IN_MAX], summary[JSON_IN_MAX], standing[JSON_IN_MAX];

        fprintf(file, "would be: %s", json_in_clean(answer, "verdict", verdict));
        if (json_in_clean(answer, "summary", summary)[0])
                fprintf(file, ". %s", summary);
        if (json_in_clean(answer, "standing", standing)[0])
                fprintf(file, " As %s work.", standing);
        fputc('\n', file);
        put_forecast(json_object_get(answer, "forecast"), file);
        if (verdict[0] == 'W')          /* it would wait */
                put_like(json_object_get(answer, "like"), file);
        put_nearest(json_object_get(answer, "explanation"), file);
        if (!submit_would_be_refused(answer)) {
                put_terms(json_object_get(answer, "terms"), standing, file);
                put_price(json_object_get(answer, "price"), file);
        }
        fputs("nothing was submitted\n", file);
}

int submit_print_dry(const json_t *answer, const struct talk *talk, FILE *file, struct err *err)
{
        struct screen_page page;
        int rc = screen_page_open(&page, err);

        if (rc < 0)
                return rc;
        put_all(answer, page.file);
        return screen_page_put(&page, talk->screen.width, file, err);
}
