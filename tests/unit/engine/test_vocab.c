#include "base/err.h"
#include "base/mem.h"
#include "engine/vocab.h"
#include "tests/unit/check.h"

static struct vocab *vocab;

static int open_vocab(void **state)
{
        (void)state;
        vocab = vocab_new();
        return vocab ? 0 : -1;
}

static int close_vocab(void **state)
{
        (void)state;
        vocab_free(vocab);
        return 0;
}

static uint16_t word(const char *text)
{
        int id = vocab_word(vocab, text, NULL);

        assert_true(id > 0);
        return (uint16_t)id;
}

static void a_text_has_one_id(void **state)
{
        (void)state;
        assert_int_equal(vocab_find(vocab, "rack-1"), 0);
        uint16_t id = word("rack-1");
        assert_int_equal(word("rack-1"), id);
        assert_int_not_equal(word("rack-2"), id);
        assert_int_not_equal(word("Rack-1"), id);
        assert_int_equal(vocab_find(vocab, "rack-1"), id);
        assert_string_equal(vocab_text(vocab, id), "rack-1");
        assert_string_equal(vocab_text(vocab, 0), "");

        int name = vocab_name(vocab, "node-1", NULL);
        assert_true(name > 0);
        assert_int_equal(vocab_name(vocab, "node-1", NULL), name);
        assert_int_equal(vocab_name_find(vocab, "node-1"), name);
        assert_int_equal(vocab_name_find(vocab, "node-2"), 0);
        assert_string_equal(vocab_name_text(vocab, (unsigned)name), "node-1");
        assert_string_equal(vocab_name_text(vocab, 0), "");
}

static void empty_and_long_words_are_refused(void **state)
{
        (void)state;
        char text[VOCAB_WORD_MAX + 1];
        struct err err = {0};

        assert_int_equal(vocab_word(vocab, "", &err), -ERR_INPUT);
        assert_int_equal(vocab_name(vocab, "", &err), -ERR_INPUT);
        memset(text, 'x', sizeof text);
        text[VOCAB_WORD_MAX - 1] = '\0';
        assert_true(vocab_word(vocab, text, &err) > 0);
        assert_true(vocab_name(vocab, text, &err) > 0);
        text[VOCAB_WORD_MAX - 1] = 'x';
        text[VOCAB_WORD_MAX] = '\0';
        assert_int_equal(vocab_word(vocab, text, &err), -ERR_INPUT);
        assert_int_equal(vocab_name(vocab, text, &err), -ERR_INPUT);
        assert_true(err.text[0] != '\0');
}

static void words_are_bounded(void **state)
{
        (void)state;
        struct err err = {0};
        char text[32];
        unsigned entered = 0;

        for (;; entered++) {
                snprintf(text, sizeof text, "w%u", entered);
                if (vocab_word(vocab, text, &err) < 0)
                        break;
                assert_true(entered <= VOCAB_WORDS_MAX);
        }
        assert_int_equal(err.code, ERR_FULL);
        assert_int_equal(entered, VOCAB_WORDS_MAX);
        assert_true(vocab_word(vocab, "w7", &err) > 0);         /* known ones still have their id */
}

static void sets_do_not_hang_on_their_order(void **state)
{
        (void)state;
        struct label a = {word("zone"), word("a")}, b = {word("disk"), word("ssd")};
        struct label ab[] = {a, b}, ba[] = {b, a}, twice[] = {a, {a.key, word("b")}};
        struct err err = {0};

        assert_int_equal(vocab_labels(vocab, NULL, 0, &err), 0);
        assert_int_equal(vocab_wheres(vocab, NULL, 0, &err), 0);
        int id = vocab_labels(vocab, ab, 2, &err);
        assert_true(id > 0);
        assert_int_equal(vocab_labels(vocab, ba, 2, &err), id);
        assert_int_not_equal(vocab_labels(vocab, ab, 1, &err), id);
        assert_int_equal(vocab_labels(vocab, twice, 2, &err), -ERR_INPUT);
        check_has(err.text, "zone");

        struct where x = {a.key, a.value, WHERE_IS}, y = {b.key, b.value, WHERE_IS_NOT};
        struct where xy[] = {x, y}, yx[] = {y, x};
        id = vocab_wheres(vocab, xy, 2, &err);
        assert_true(id > 0);
        assert_int_equal(vocab_wheres(vocab, yx, 2, &err), id);
}

static void sets_are_bounded(void **state)
{
        (void)state;
        struct label labels[VOCAB_LABELS_MAX + 1];
        struct where wheres[VOCAB_WHERES_MAX + 1];
        struct err err = {0};
        char text[16];

        for (unsigned i = 0; i <= VOCAB_LABELS_MAX; i++) {
                snprintf(text, sizeof text, "key%u", i);
                labels[i] = (struct label){word(text), word("v")};
        }
        for (unsigned i = 0; i <= VOCAB_WHERES_MAX; i++)
                wheres[i] = (struct where){labels[i].key, labels[i].value, WHERE_IS};
        assert_true(vocab_labels(vocab, labels, VOCAB_LABELS_MAX, &err) > 0);
        assert_true(vocab_labels(vocab, labels, VOCAB_LABELS_MAX + 1, &err) < 0);
        assert_true(vocab_wheres(vocab, wheres, VOCAB_WHERES_MAX, &err) > 0);
        assert_true(vocab_wheres(vocab, wheres, VOCAB_WHERES_MAX + 1, &err) < 0);
}

static void conditions_hold_or_not(void **state)
{
        (void)state;
        static const struct { const char *value, *condition; bool meets; } rows[] = {
                { "570",       ">=550",   true },
                { "550",       ">=550",   true },
                { "545.23",    ">=550",   false },
                { "550",       ">550",    false },
                { "550.1",     ">550",    true },
                { "570.86",    "<580",    true },       /* number by number, as promised */
                { "570.86.10", "<570.124", true },      /* 86 < 124, though "8" > "1" */
                { "570.124",   "<570.86", false },
                { "9",         "<10",     true },
                { "550.0",     ">=550",   true },
                { "570",       "<=570",   true },
                { "570.1",     "<=570",   false },
                { "99999999999999999999", ">550", true },       /* longer than 64 bits */
                { "100000000000000000000", "<1000000000000000000000", true },
                { "20000000000000000001", ">20000000000000000000", true },
                { "0570",      "<=570",   true },
                { "570.",      ">=570",   false },      /* no number behind the dot */
                { "570",       ">=570.",  false },
                { "570..1",    ">=550",   false },
                { "570",       "570",     true },
                { "571",       "570",     false },
                { "570",       "!=570",   false },
                { "571",       "!=570",   true },
                { "ubuntu-22", "ubuntu-*", true },
                { "debian-12", "ubuntu-*", false },
                { "debian-12", "!=ubuntu-*", true },
                { "ubuntu-22", "!=ubuntu-*", false },
                { "abc",       ">=550",   false },      /* no order between words */
                { "abc",       "<550",    false },
                { "570",       ">=abc",   false },
                { "abc",       ">=abb",   false },
                { "",          ">=1",     false },      /* the label is missing */
                { "",          "570",     false },
                { "",          "*",       false },
                { "",          "!=570",   true },
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct err err = {0};
                struct where where;
                int labels = 0;
                int rc = vocab_where_parse(vocab, "driver", rows[i].condition, &where, &err);
                if (rc < 0 && strcmp(rows[i].condition, ">=abc") &&
                    strcmp(rows[i].condition, ">=abb"))
                        fail_msg("'%s': %s", rows[i].condition, err.text);
                if (rc < 0)
                        continue;       /* an order to a word may be refused at once */
                if (rows[i].value[0]) {
                        struct label label = {word("driver"), word(rows[i].value)};
                        labels = vocab_labels(vocab, &label, 1, &err);
                }
                int wheres = vocab_wheres(vocab, &where, 1, &err);
                assert_true(labels >= 0);
                assert_true(wheres > 0);
                if (vocab_meets(vocab, (unsigned)labels, (unsigned)wheres) != rows[i].meets)
                        fail_msg("driver '%s' %s '%s'", rows[i].value,
                                 rows[i].meets ? "should meet" : "should not meet",
                                 rows[i].condition);
        }
}

static void all_conditions_must_hold(void **state)
{
        (void)state;
        struct where wheres[2];
        struct label labels[] = {{word("driver"), word("570")}, {word("zone"), word("a")}};
        struct err err = {0};

        assert_int_equal(vocab_where_parse(vocab, "driver", ">=550", &wheres[0], &err), 0);
        assert_int_equal(vocab_where_parse(vocab, "zone", "a", &wheres[1], &err), 0);
        int both = vocab_wheres(vocab, wheres, 2, &err);
        int all = vocab_labels(vocab, labels, 2, &err), one = vocab_labels(vocab, labels, 1, &err);
        assert_true(vocab_meets(vocab, (unsigned)all, (unsigned)both));
        assert_false(vocab_meets(vocab, (unsigned)one, (unsigned)both));
        assert_true(vocab_meets(vocab, (unsigned)one, 0));
        assert_true(vocab_meets(vocab, 0, 0));
}

static void bad_conditions_are_refused(void **state)
{
        (void)state;
        static const struct { const char *key, *condition; } rows[] = {
                { "driver", "" },
                { "driver", ">=" },
                { "driver", "!=" },
                { "driver", "<" },
                { "", "570" },
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct err err = {0};
                struct where where;
                int rc = vocab_where_parse(vocab, rows[i].key, rows[i].condition, &where, &err);
                if (rc != -ERR_INPUT || err.text[0] == '\0')
                        fail_msg("'%s' '%s' is taken (%d)", rows[i].key, rows[i].condition, rc);
        }
}

int main(void)
{
#define FRESH(test) cmocka_unit_test_setup_teardown(test, open_vocab, close_vocab)
        const struct CMUnitTest tests[] = {
                FRESH(a_text_has_one_id),
                FRESH(empty_and_long_words_are_refused),
                FRESH(words_are_bounded),
                FRESH(sets_do_not_hang_on_their_order),
                FRESH(sets_are_bounded),
                FRESH(conditions_hold_or_not),
                FRESH(all_conditions_must_hold),
                FRESH(bad_conditions_are_refused),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
