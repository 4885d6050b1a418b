/* fuzz_words.c - the small languages of one line, each against the plainest reading of it.
 *
 * The first byte says which: a placement, a label condition, a pattern of models, placements or
 * seeds of a scenario, a time or a span from now. The rest is text; where two are wanted, a newline parts them.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"
#include "engine/calendar.h"
#include "engine/model.h"
#include "engine/policy.h"
#include "engine/vocab.h"
#include "proto/model_doc.h"
#include "proto/scenario.h"
#include "proto/when.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TEXT_MAX = 300 };

static void check_refusal(int rc, const struct err *err)
{
        assert(rc < 0);
        assert(err->code == (enum err_code) - rc);
        assert(err->text[0] != '\0');
}

/* Only digits, at least one and no 0 in front: the value, where it fits 64 bits. */
static bool plain_number(const char *text, uint64_t *ret_value)
{
        uint64_t value = 0;

        if (*text == '\0' || text[strspn(text, "0123456789")] != '\0' ||
            (*text == '0' && text[1] != '\0'))
                return false;
        for (; *text; text++)
                if (__builtin_mul_overflow(value, 10, &value) ||
                    __builtin_add_overflow(value, (uint64_t)(*text - '0'), &value))
                        return false;
        *ret_value = value;
        return true;
}

/* ---- placements ---- */

static bool plain_policy(const char *text, struct policy *ret_policy)
{
        *ret_policy = (struct policy){.seed = 1};
        for (unsigned p = 0; p < POLICIES_END; p++) {
                ret_policy->kind = (enum policy_kind)p;
                if (strcmp(policy_name(ret_policy->kind), text) == 0)
                        return true;
        }
        ret_policy->kind = POLICY_RANDOM;
        return strncmp(text, "random:", 7) == 0 && plain_number(text + 7, &ret_policy->seed);
}

static void try_policy(const char *text)
{
        struct policy policy = {POLICIES_END, 99}, wanted;
        struct err err = {0};
        int rc = policy_parse(text, &policy, &err);

        assert((rc == 0) == plain_policy(text, &wanted));
        if (rc == 0) {
                assert(policy.kind == wanted.kind);
                assert(policy.seed == wanted.seed);
        } else {
                check_refusal(rc, &err);
                assert(policy.kind == POLICIES_END && policy.seed == 99);
        }
}

/* The list, cut at its commas; -1 where a piece of it is no placement, or stands twice. */
static int plain_placements(const char *text, struct policy *ret_policies)
{
        char copy[TEXT_MAX + 1], *rest = copy, *word;
        int count = 0;

        snprintf(copy, sizeof copy, "%s", text);
        while ((word = strsep(&rest, ",")) != NULL) {
                if (count == SCENARIO_PLACEMENTS_MAX || !plain_policy(word, &ret_policies[count]))
                        return -1;
                for (int i = 0; i < count; i++)
                        if (ret_policies[i].kind == ret_policies[count].kind &&
                            ret_policies[i].seed == ret_policies[count].seed)
                                return -1;
                count++;
        }
        return count;
}

static void try_placements(const char *text)
{
        static struct scenario scenario, before;
        struct policy wanted[SCENARIO_PLACEMENTS_MAX];
        struct err err = {0};
        int count = plain_placements(text, wanted);

        scenario = before = (struct scenario){.placements_count = 1, .seed_first = 4};
        int rc = scenario_parse_placements(text, &scenario, &err);
        assert((rc == 0) == (count > 0));
        if (rc < 0) {
                check_refusal(rc, &err);
                assert(memcmp(&scenario, &before, sizeof before) == 0);
                return;
        }
        assert(scenario.placements_count == (uint32_t)count);
        for (int i = 0; i < count; i++) {
                assert(scenario.placements[i].kind == wanted[i].kind);
                assert(scenario.placements[i].seed == wanted[i].seed);
        }
}

static void try_seeds(const char *text)
{
        static struct scenario scenario;
        char copy[TEXT_MAX + 1];
        struct err err = {0};
        uint64_t first = 0, last = 0;

        snprintf(copy, sizeof copy, "%s", text);
        char *dots = strstr(copy, "..");
        if (dots)
                *dots = '\0';
        bool good = plain_number(copy, &first) && plain_number(dots ? dots + 2 : copy, &last) &&
                    last <= INT64_MAX && first <= last && last - first < SCENARIO_SEEDS_MAX;
        scenario.seed_first = scenario.seed_last = 7;
        int rc = scenario_parse_seeds(text, &scenario, &err);
        assert((rc == 0) == good);
        assert(scenario.seed_first == (good ? first : 7));
        assert(scenario.seed_last == (good ? last : 7));
        if (!good)
                check_refusal(rc, &err);
}

/* ---- patterns ---- */

static char lower(char c)
{
        return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

/* `steps` bounds what a star too many would cost; when it is used up, anything may be true. */
static bool plain_glob(const char *pattern, const char *text, bool nocase, unsigned *steps)
{
        if (*steps == 0)
                return false;
        --*steps;
        if (*pattern == '*')
                return plain_glob(pattern + 1, text, nocase, steps) ||
                       (*text && plain_glob(pattern, text + 1, nocase, steps));
        if (*pattern == '\0' || *text == '\0')
                return *pattern == *text;
        return (nocase ? lower(*pattern) == lower(*text) : *pattern == *text) &&
               plain_glob(pattern + 1, text + 1, nocase, steps);
}

static const struct model_table *known_models(void)
{
        static struct model_table *models;

        if (!models) {
                models = model_table_new();
                if (!models || model_doc_builtin(models, NULL) < 0)
                        abort();
        }
        return models;
}

/* -1: refused for its form. */
static int plain_match(const char *text, uint64_t *ret_models, unsigned *steps)
{
        char copy[TEXT_MAX + 1], *rest = copy, *part;

        *ret_models = 0;
        snprintf(copy, sizeof copy, "%s", text);
        while ((part = strsep(&rest, "|")) != NULL) {
                if (*part == '\0' || strlen(part) >= MODEL_NAME_MAX)
                        return -1;
                for (unsigned id = 0; id < model_count(known_models()); id++)
                        if (plain_glob(part, model_get(known_models(), id)->name, true, steps))
                                *ret_models |= 1ull << id;
        }
        return 0;
}

static void try_match(const char *text)
{
        uint64_t models = 99, wanted;
        unsigned steps = 200000;
        struct err err = {0};
        int plain = plain_match(text, &wanted, &steps);
        int rc = model_match(known_models(), text, &models, &err);

        if (rc < 0) {
                check_refusal(rc, &err);
                assert(models == 99);
        }
        assert((rc == -ERR_INPUT) == (plain < 0));
        if (steps == 0 || plain < 0)
                return;
        assert((rc == 0) == (wanted != 0));
        assert(rc < 0 || models == wanted);
}

/* An equal name, an equal alias, or else the longest pattern that matches, the first of these. */
static int plain_find(const char *text, unsigned *steps)
{
        const struct model_table *table = known_models();
        size_t longest = 0;
        int best = -1;

        for (unsigned id = 0; id < model_count(table); id++) {
                const struct model *model = model_get(table, id);
                if (strcasecmp(model->name, text) == 0)
                        return (int)id;
        }
        for (unsigned id = 0; id < model_count(table); id++) {
                const struct model *model = model_get(table, id);
                for (unsigned a = 0; a < model->aliases_count; a++) {
                        size_t length = strlen(model->aliases[a]);
                        if (strcasecmp(model->aliases[a], text) == 0)
                                length += 1000;
                        if (length > longest && plain_glob(model->aliases[a], text, true, steps)) {
                                longest = length;
                                best = (int)id;
                        }
                }
        }
        return best;
}

static void try_find(const char *text)
{
        unsigned steps = 200000;
        struct err err = {0};
        int wanted = plain_find(text, &steps);
        int rc = model_find(known_models(), text, &err);

        if (rc < 0)
                check_refusal(rc, &err);
        if (steps > 0)
                assert(wanted < 0 ? rc == -ERR_NOT_FOUND : rc == wanted);
}

/* ---- label conditions ---- */

/* Digits, dot, digits ... */
static bool is_version(const char *text)
{
        for (;;) {
                size_t digits = strspn(text, "0123456789");
                if (digits == 0)
                        return false;
                if (text[digits] == '\0')
                        return true;
                if (text[digits] != '.')
                        return false;
                text += digits + 1;
        }
}

/* The next number of a version, in front of a row of zeros so that text order is its order. */
static void padded_number(const char **at, char ret_number[TEXT_MAX + 1])
{
        size_t digits = strspn(*at, "0123456789");

        memset(ret_number, '0', TEXT_MAX);
        ret_number[TEXT_MAX] = '\0';
        memcpy(ret_number + TEXT_MAX - digits, *at, digits);
        *at += digits;
        if (**at == '.')
                ++*at;
}

static int plain_compare(const char *a, const char *b)
{
        while (*a || *b) {
                char x[TEXT_MAX + 1], y[TEXT_MAX + 1];
                padded_number(&a, x);
                padded_number(&b, y);
                int order = strcmp(x, y);
                if (order)
                        return order;
        }
        return 0;
}

/* `value` NULL: no such label. */
static bool plain_meets(const char *value, const char *condition, unsigned *steps)
{
        bool order = *condition == '<' || *condition == '>', below = *condition == '<';
        bool not = strncmp(condition, "!=", 2) == 0, equal = order && condition[1] == '=';
        const char *wanted = condition + (not || equal ? 2 : order || *condition == '=');

        wanted += strspn(wanted, " ");
        if (!order)
                return (value && plain_glob(wanted, value, false, steps)) != not;
        if (!value || !is_version(value) || !is_version(wanted))
                return false;
        int compared = plain_compare(value, wanted);
        return compared == 0 ? equal : (compared < 0) == below;
}

static void check_where(struct vocab *vocab, const struct where *where, const char *value,
                        const char *condition)
{
        struct label label = {.key = where->key};
        int labels = 0, wheres = vocab_wheres(vocab, where, 1, NULL);
        unsigned steps = 200000;

        assert(wheres > 0);
        bool wanted = plain_meets(NULL, condition, &steps);
        assert(vocab_meets(vocab, 0, (unsigned)wheres) == wanted);
        int word = vocab_word(vocab, value, NULL);
        if (word < 0)
                return;
        label.value = (uint16_t)word;
        labels = vocab_labels(vocab, &label, 1, NULL);
        assert(labels > 0);
        wanted = plain_meets(value, condition, &steps);
        if (steps > 0)
                assert(vocab_meets(vocab, (unsigned)labels, (unsigned)wheres) == wanted);
}

static void try_where(char *text)
{
        struct vocab *vocab = vocab_new();
        char *value = strchr(text, '\n');
        struct where where = {99, 99, 99};
        struct err err = {0};

        if (!vocab)
                abort();
        if (value)
                *value++ = '\0';
        int rc = vocab_where_parse(vocab, "driver", text, &where, &err);
        if (rc == 0) {
                check_where(vocab, &where, value ? value : "570.86.15", text);
        } else {
                check_refusal(rc, &err);
                assert(where.key == 99 && where.value == 99 && where.op == 99);
        }
        vocab_free(vocab);
}

/* ---- times as they are told ---- */

/* The same by other means: 0 and the time, or what is refused. */
static bool model_told(const char *text, bool ahead, int64_t now_ms, int64_t *ret_ms)
{
        bool is_signed = text[0] == '-' || text[0] == '+';
        int64_t span_ms = 0;

        if (strcmp(text, "now") == 0) {
                *ret_ms = now_ms;
                return true;
        }
        if ((is_signed || ahead) && text[is_signed] != '-' &&
            num_duration_ms(text + is_signed, is_signed ? 0 : 1, INT64_MAX / 4, &span_ms,
                            NULL) == 0) {
                *ret_ms = now_ms + (text[0] == '-' ? -span_ms : span_ms);
                return *ret_ms >= 0 && *ret_ms <= CALENDAR_MS_MAX;
        }
        return when_parse_local(text, NULL, ret_ms, NULL) == 0;
}

static void try_told(const char *text)
{
        static const int64_t nows[] = {0, 1767225600000, CALENDAR_MS_MAX};

        for (size_t n = 0; n < 2 * (sizeof nows / sizeof nows[0]); n++) {
                int64_t now_ms = nows[n / 2], ms = -7, known_ms = -7, back_ms = -7;
                bool ahead = n % 2;
                char buf[WHEN_TEXT_MAX];
                struct err err = {0};
                int rc = ahead ? when_ahead(text, now_ms, &ms, &err)
                               : when_told(text, now_ms, &ms, &err);
                assert((rc == 0) == model_told(text, ahead, now_ms, &known_ms));
                if (rc < 0) {
                        check_refusal(rc, &err);
                        assert(ms == -7);
                        continue;
                }
                assert(ms == known_ms);
                assert(when_parse(when_text(ms, buf), &back_ms, NULL) == 0);
                assert(back_ms == ms - ms % 1000);
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        char text[TEXT_MAX + 1];

        if (size == 0 || size - 1 >= sizeof text)
                return 0;
        memcpy(text, data + 1, size - 1);
        text[size - 1] = '\0';
        switch (data[0]) {
        case 'p':
                try_policy(text);
                break;
        case 'l':
                try_placements(text);
                break;
        case 's':
                try_seeds(text);
                break;
        case 'm':
                try_match(text);
                break;
        case 'f':
                try_find(text);
                break;
        case 'w':
                try_where(text);
                break;
        case 'a':
                try_told(text);
                break;
        default:
                break;
        }
        return 0;
}
