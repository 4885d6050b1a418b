#include "tests/unit/check.h"

#include "base/mem.h"
#include "base/text.h"
#include "controller/event_text.h"
#include "engine/model.h"
#include "engine/vocab.h"

static struct vocab *vocab;
static struct model_table *models;

static int make_words(void **state)
{
        (void)state;
        vocab = vocab_new();
        models = model_table_new();
        return vocab_word(vocab, "training", NULL) == 1 ? 0 : -1;
}

static int free_words(void **state)
{
        (void)state;
        vocab_free(vocab);
        model_table_free(models);
        return 0;
}

static const char *written(const struct fact *fact, enum event_view view)
{
        static struct text texts[2];
        const struct event_about about = {.at_ms = 1798761600123,
                                          .name = "sft",
                                          .tenant = "research/nlp",
                                          .user = "ana",
                                          .node = "gpu-01",
                                          .vocab = vocab,
                                          .models = models};
        struct text *text = &texts[view];
        text->size = 0;
        event_write(fact, &about, view, text);
        assert_false(text->failed);
        return text->bytes;
}

#define AT "{\"at\":\"2027-01-01T00:00:00.123Z\""
#define OF AT ",\"workload\":7,\"name\":\"sft\",\"tenant\":\"research/nlp\",\"user\":\"ana\""

static const struct row {
        struct fact fact;
        const char *all, *own;          /* own NULL: the same; "": no tenant sees it */
} rows[] = {
        {{.kind = FACT_QUEUED, .queued = {.workload = 7, .form = {.members = 2}}},
         OF ",\"members\":2}", NULL},
        {{.kind = FACT_REFUSED, .refused = {.workload = 7, .gate = GATE_LIMIT}},
         OF ",\"gate\":\"LIMIT\"}", NULL},
        {{.kind = FACT_ALLOCATED,
          .allocated = {.workload = 7, .node = 3, .member = 1, .standing = STANDING_SPARE,
                        .parts_count = 2, .parts = {{.device = 4}, {.device = 5}}}},
         OF ",\"node\":\"gpu-01\",\"member\":1,\"standing\":\"spare\",\"devices\":[4,5],"
            "\"method\":\"whole\"}", NULL},
        {{.kind = FACT_RELEASED, .released = {7, RELEASE_FAILED, 250}},
         OF ",\"cause\":\"failed\",\"lost_ms\":250}", NULL},
        {{.kind = FACT_REQUEUED,
          .requeued = {.workload = 7, .cause = RELEASE_STOPPED, .attained_ms = 5, .counts = true}},
         OF ",\"cause\":\"stopped\",\"lost_ms\":0,\"attained_ms\":5,\"counts\":true}", NULL},
        {{.kind = FACT_HOLDS_SET, .holds = {7, HOLD_USER | HOLD_START}},
         OF ",\"holds\":[\"user\",\"start\"]}", NULL},
        /* What a plan takes from others is not the beneficiary's to know, nor who it is for. */
        {{.kind = FACT_PLANNED,
          .planned = {.beneficiary = 7, .plan = 2, .cause = PLAN_PROTECT, .victims = 3,
                      .places = 1, .until_ms = 1798761600000}},
         OF ",\"cause\":\"protect\",\"until\":\"2027-01-01T00:00:00.000Z\",\"plan\":2,"
            "\"victims\":3,\"places\":1}",
         OF ",\"cause\":\"protect\",\"until\":\"2027-01-01T00:00:00.000Z\"}"},
        {{.kind = FACT_PLACE_KEPT,
          .kept = {2, {.workload = 7, .node = 3, .parts_count = 1, .parts = {{.device = 4}}}}},
         OF ",\"node\":\"gpu-01\",\"member\":0,\"plan\":2,\"devices\":[4],\"method\":\"whole\"}",
         OF ",\"member\":0}"},
        {{.kind = FACT_NOTICED,
          .noticed = {.workload = 7, .plan = 2, .cause = NOTICE_PLAN, .until_ms = 1798761600000}},
         OF ",\"cause\":\"preemption\",\"until\":\"2027-01-01T00:00:00.000Z\",\"plan\":2}",
         OF ",\"cause\":\"preemption\",\"until\":\"2027-01-01T00:00:00.000Z\"}"},
        {{.kind = FACT_NODE_HELD, .node_held = {7, 3, 1798761600000}},
         OF ",\"node\":\"gpu-01\",\"until\":\"2027-01-01T00:00:00.000Z\"}",
         OF ",\"until\":\"2027-01-01T00:00:00.000Z\"}"},
        {{.kind = FACT_PLAN_ENDED, .plan_ended = {2, PLAN_WITHDRAWN}},
         AT ",\"plan\":2,\"end\":\"withdrawn\"}", ""},
        {{.kind = FACT_FREEZE_IN, .freeze = {1, true}},
         AT ",\"plane\":\"training\",\"frozen\":true}", ""},
        {{.kind = FACT_FREEZE_IN, .freeze = {0, false}}, AT ",\"plane\":null,\"frozen\":false}", ""},
        {{.kind = FACT_NODE_DOWN, .down = {3, false}}, AT ",\"node\":\"gpu-01\"}", ""},
        {{.kind = FACT_LAYOUT_STEP,
          .layout_step = {.node = 3, .epoch = 9, .device = 1, .op = LAYOUT_CREATE}},
         AT ",\"node\":\"gpu-01\",\"device\":1,\"epoch\":9,\"step\":\"create\"}", ""},
        {{.kind = FACT_TIME_SET, .now_ms = 1798761600123}, AT "}", ""},
        {{.kind = FACT_POLICY_IN}, AT "}", ""},
};

static void a_fact_becomes_names_and_a_tenant_sees_its_own(void **state)
{
        (void)state;
        for (size_t r = 0; r < ARRAY_LEN(rows); r++) {
                const struct row *row = &rows[r];
                bool same = !row->own || row->own[0] == '\0';
                assert_string_equal(written(&row->fact, EVENT_ALL), row->all);
                assert_int_equal(event_is_own(&row->fact), !row->own || row->own[0] != '\0');
                assert_int_equal(event_has_more(&row->fact), !same);
                if (!same || !row->own)
                        assert_string_equal(written(&row->fact, EVENT_OWN),
                                            row->own ? row->own : row->all);
        }
}

static void what_is_forgotten_is_null_and_names_are_escaped(void **state)
{
        (void)state;
        const struct fact fact = {.kind = FACT_RESCUED, .rescued = 9};
        const struct event_about about = {.at_ms = 1, .name = "a\"b\n", .vocab = vocab};
        struct text text = {0};
        event_write(&fact, &about, EVENT_ALL, &text);
        assert_string_equal(text.bytes, "{\"at\":\"1970-01-01T00:00:00.001Z\",\"workload\":9,"
                                        "\"name\":\"a\\\"b\\u000a\",\"tenant\":null,\"user\":null}");
        text_done(&text);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_fact_becomes_names_and_a_tenant_sees_its_own),
                cmocka_unit_test(what_is_forgotten_is_null_and_names_are_escaped),
        };
        return cmocka_run_group_tests(tests, make_words, free_words);
}
