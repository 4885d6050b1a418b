#include "proto/log_group.h"

#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "engine/maintenance.h"
#include "engine/model.h"
#include "proto/log_fact.h"
#include "proto/log_plan.h"
#include "proto/state_fields.h"
#include "proto/state_image.h"

static const char *const word_kinds[VOCAB_KINDS_END] = {
        [VOCAB_WORDS] = "word",
        [VOCAB_NAMES] = "name",
        [VOCAB_LABELS] = "labels",
        [VOCAB_WHERES] = "wheres",
};

static json_t *parse(const void *body, size_t size, struct err *err)
{
        json_error_t why;
        json_t *object = json_loadb(body, size, JSON_REJECT_DUPLICATES, &why);

        if (!object || !json_is_object(object)) {
                json_decref(object);
                (void)err_set(err, ERR_INPUT, "a record of the log is no JSON object: %s",
                              object ? "it is something else" : why.text);
                return NULL;
        }
        return object;
}

/* ---- inputs ---- */

static void add_windows(const struct maintenance *maintenance, struct text *body)
{
        text_add(body, ",\"windows\":[");
        for (uint32_t w = 0; w < maintenance->count; w++) {
                text_add(body, "%s{\"name\":", w ? "," : "");
                text_add_json(body, maintenance->windows[w].name);
                fields_write(&state_window_fields, &maintenance->windows[w], body);
                text_add(body, "}");
        }
        text_add(body, "]");
}

void log_input_record(const struct input *input, const struct log_beside *beside,
                      struct text *ret_body)
{
        text_add(ret_body, "{");
        log_input_write(input, ret_body);
        if (beside && beside->revision) {
                text_add(ret_body, ",\"revision\":");
                text_add_i64(ret_body, (int64_t)beside->revision);
        }
        if (beside && beside->bounds) {
                /* Its fields follow as members of their own object, the first behind a comma. */
                text_add(ret_body, ",\"pool\":{\"version\":1");
                fields_write(&state_bounds_fields, beside->bounds, ret_body);
                text_add(ret_body, "}");
        }
        if (input->kind == INPUT_MAINTENANCE_SET)
                add_windows(input->maintenance, ret_body);
        if (input->kind == INPUT_PLAN_SET && input->plan) {
                text_add(ret_body, ",\"plan\":");
                log_plan_write(input->plan, ret_body);
        }
        if (beside && beside->document) {
                text_add(ret_body, ",\"document\":");
                text_add_json(ret_body, beside->document);
        }
        text_add(ret_body, "}");
}

static int read_windows(const json_t *list, struct maintenance *maintenance, struct err *err)
{
        static const char *const beside[] = {"name", NULL};
        size_t count = json_array_size(list);

        if (!json_is_array(list) || count > MAINTENANCE_MAX)
                return err_set(err, ERR_INPUT, "field 'windows' is no list of %d at most",
                               MAINTENANCE_MAX);
        for (size_t w = 0; w < count; w++) {
                struct maintenance_window *window = &maintenance->windows[w];
                json_t *item = json_array_get(list, w);
                const char *name = json_string_value(json_object_get(item, "name"));
                int rc = fields_read(&state_window_fields, item, beside, window, err);
                if (rc)
                        return rc;
                if (!name || !str_copy(window->name, sizeof window->name, name))
                        return err_set(err, ERR_INPUT, "a window has no name that fits");
        }
        maintenance->count = (uint32_t)count;
        return 0;
}

static int read_bounds(struct logged_input *logged, struct err *err)
{
        static const char *const beside[] = {"version", NULL};
        json_t *pool = json_object_get(logged->object, "pool");

        logged->has_bounds = pool != NULL;
        if (!pool)
                return 0;
        int rc = fields_read(&state_bounds_fields, pool, beside, &logged->bounds, err);
        if (rc == 0 && !state_image_bounds_good(&logged->bounds))
                rc = err_set(err, ERR_INPUT, "its tables are larger than any pool's, or empty");
        return rc ? err_prefix(err, "field 'pool'") : 0;
}

static int read_plan(struct logged_input *logged, struct err *err)
{
        json_t *plan = json_object_get(logged->object, "plan");
        int rc = plan ? log_plan_read(plan, &logged->plan, err) : 0;

        logged->input.plan = logged->plan;
        return rc;
}

static int read_input(struct logged_input *logged, struct err *err)
{
        static const char *const beside[] = {"document", "revision", "windows",
                                             "pool",     "plan",     NULL};
        int rc = log_input_read(logged->object, beside, &logged->input, err);

        if (rc || (rc = read_bounds(logged, err)) < 0)
                return rc;
        logged->document = json_string_value(json_object_get(logged->object, "document"));
        logged->revision =
                (uint64_t)json_integer_value(json_object_get(logged->object, "revision"));
        if (logged->input.kind == INPUT_PLAN_SET)
                return read_plan(logged, err);
        if (logged->input.kind != INPUT_MAINTENANCE_SET)
                return 0;
        logged->maintenance = mem_new(1, sizeof *logged->maintenance);
        if (!logged->maintenance)
                return err_set(err, ERR_NOMEM, "out of memory");
        logged->input.maintenance = logged->maintenance;
        return read_windows(json_object_get(logged->object, "windows"), logged->maintenance, err);
}

int log_input_parse(const void *body, size_t size, struct logged_input *ret_input, struct err *err)
{
        struct logged_input logged = {.object = parse(body, size, err)};
        int rc = logged.object ? read_input(&logged, err) : -ERR_INPUT;

        if (rc)
                logged_input_done(&logged);
        else
                *ret_input = logged;
        return rc;
}

void logged_input_done(struct logged_input *input)
{
        json_decref(input->object);
        mem_free(input->maintenance);
        mem_free(input->plan);
        *input = (struct logged_input){0};
}

/* ---- words ---- */

static void add_word(const struct vocab *vocab, enum vocab_kind kind, uint32_t id,
                     struct text *body)
{
        size_t size;
        const void *bytes = vocab_bytes(vocab, kind, id, &size);

        if (kind == VOCAB_WORDS || kind == VOCAB_NAMES) {
                text_add_json(body, bytes);
                return;
        }
        text_add_bytes(body, "[", 1);
        for (size_t at = 0; at < size; at += sizeof(uint16_t)) {
                uint16_t number;
                memcpy(&number, (const char *)bytes + at, sizeof number);
                if (at > 0)
                        text_add_bytes(body, ",", 1);
                text_add_i64(body, number);
        }
        text_add_bytes(body, "]", 1);
}

static bool has_new(const struct vocab *vocab, const struct logged_words *logged)
{
        bool any = false;

        for (unsigned kind = 0; kind < VOCAB_KINDS_END; kind++)
                any |= vocab_count(vocab, kind) > logged->counts[kind];
        return any;
}

static void add_words(const struct vocab *vocab, struct logged_words *logged, struct text *body)
{
        const uint32_t *counts = logged->counts;

        text_add(body, "\"words\":{\"from\":[%u,%u,%u,%u]", counts[0], counts[1], counts[2],
                 counts[3]);
        for (unsigned kind = 0; kind < VOCAB_KINDS_END; kind++) {
                uint32_t known = vocab_count(vocab, kind);
                if (known == counts[kind])
                        continue;
                text_add(body, ",\"%s\":[", word_kinds[kind]);
                for (uint32_t id = counts[kind] + 1; id <= known; id++) {
                        if (id > counts[kind] + 1)
                                text_add_bytes(body, ",", 1);
                        add_word(vocab, kind, id, body);
                }
                text_add_bytes(body, "]", 1);
        }
        text_add(body, "},");
        for (unsigned kind = 0; kind < VOCAB_KINDS_END; kind++)
                logged->counts[kind] = vocab_count(vocab, kind);
}
_Static_assert(VOCAB_KINDS_END == 4, "each kind has its number in \"from\"");

static int enter_word(json_t *json, struct vocab *vocab, enum vocab_kind kind, struct err *err)
{
        uint16_t numbers[VOCAB_LABELS_MAX * 3];
        size_t count = json_array_size(json);

        if (json_is_string(json))
                return vocab_enter(vocab, kind, json_string_value(json), json_string_length(json),
                                   err);
        if (!json_is_array(json) || count > ARRAY_LEN(numbers))
                return err_set(err, ERR_INPUT, "an entry of the vocabulary is damaged");
        for (size_t i = 0; i < count; i++) {
                const json_t *number = json_array_get(json, i);
                if (!json_is_integer(number) ||
                    !field_set(&numbers[i], FIELD_U16, (uint64_t)json_integer_value(number)))
                        return err_set(err, ERR_INPUT, "an entry of the vocabulary is damaged");
        }
        return vocab_enter(vocab, kind, numbers, count * sizeof *numbers, err);
}

/* Entries get the numbers that they had: where one is there already, the log does not follow. */
static int enter_words(const json_t *words, struct vocab *vocab, struct logged_words *logged,
                       struct err *err)
{
        const json_t *from = json_object_get(words, "from");

        for (unsigned kind = 0; words && kind < VOCAB_KINDS_END; kind++) {
                const json_t *list = json_object_get(words, word_kinds[kind]);
                json_int_t id = json_integer_value(json_array_get(from, kind));
                if (list && vocab_count(vocab, kind) != (uint64_t)id)
                        return err_set(err, ERR_INPUT,
                                       "the vocabulary of the log has a gap or an overlap");
                for (size_t i = 0; i < json_array_size(list); i++) {
                        int rc = enter_word(json_array_get(list, i), vocab, kind, err);
                        if (rc < 0)
                                return rc;
                        if (rc != ++id)
                                return err_set(err, ERR_INPUT,
                                               "an entry of the vocabulary stands twice");
                }
                logged->counts[kind] = vocab_count(vocab, kind);
        }
        return 0;
}

/* ---- models that no table knew ---- */

static void add_models(const struct model_table *models, struct logged_words *logged,
                       struct text *body)
{
        text_add(body, "\"models\":{\"from\":%u,\"names\":[", logged->models);
        for (uint32_t m = logged->models; m < model_count(models); m++) {
                if (m > logged->models)
                        text_add_bytes(body, ",", 1);
                text_add_json(body, model_get(models, m)->name);
        }
        text_add(body, "]},");
        logged->models = (uint32_t)model_count(models);
}

/* A table that was added to since keeps its numbers. */
static int enter_models(const json_t *entered, struct model_table *models,
                        struct logged_words *logged, struct err *err)
{
        const json_t *names = json_object_get(entered, "names");
        json_int_t id = json_integer_value(json_object_get(entered, "from"));

        for (size_t i = 0; i < json_array_size(names); i++, id++) {
                const char *name = json_string_value(json_array_get(names, i));
                int rc = name ? model_add_unlisted(models, name, err)
                              : err_set(err, ERR_INPUT, "a device model of the log has no name");
                if (rc < 0)
                        return rc;
                if (rc != id)
                        return err_set(err, ERR_INPUT,
                                       "device model '%s' has another number than in the log: it "
                                       "was made with another list of models",
                                       name);
                logged->models = (uint32_t)id + 1;
        }
        return 0;
}

/* ---- facts ---- */

void log_facts_begin(const struct vocab *vocab, const struct model_table *models,
                     struct logged_words *logged, struct text *ret_body)
{
        text_add_bytes(ret_body, "{", 1);
        if (model_count(models) > logged->models)
                add_models(models, logged, ret_body);
        if (has_new(vocab, logged))
                add_words(vocab, logged, ret_body);
        text_add(ret_body, "\"facts\":[");
}

void log_facts_add(const struct fact *fact, struct text *body)
{
        if (!body->failed && body->bytes[body->size - 1] != '[')
                text_add_bytes(body, ",", 1);
        log_fact_write(fact, body);
}

void log_facts_end(struct text *body)
{
        text_add_bytes(body, "]}", 2);
}

static int read_words(const json_t *object, struct vocab *vocab, struct model_table *models,
                      struct logged_words *logged, struct err *err)
{
        int rc = enter_models(json_object_get(object, "models"), models, logged, err);

        return rc ? rc : enter_words(json_object_get(object, "words"), vocab, logged, err);
}

static int read_facts(json_t *object, struct vocab *vocab, struct model_table *models,
                      struct logged_words *logged, log_fact_see *see, void *arg, struct err *err)
{
        const json_t *list = json_object_get(object, "facts");
        int rc = read_words(object, vocab, models, logged, err);

        if (rc == 0 && !json_is_array(list))
                rc = err_set(err, ERR_INPUT, "a record of facts has none");
        for (size_t i = 0; rc == 0 && i < json_array_size(list); i++) {
                struct fact fact;
                rc = log_fact_read(json_array_get(list, i), &fact, err);
                if (rc == 0)
                        rc = see(arg, &fact, err);
        }
        return rc;
}

int log_facts_parse(const void *body, size_t size, struct vocab *vocab,
                    struct model_table *models, struct logged_words *logged, log_fact_see *see,
                    void *arg, struct err *err)
{
        json_t *object = parse(body, size, err);
        int rc = object ? read_facts(object, vocab, models, logged, see, arg, err) : -ERR_INPUT;

        json_decref(object);
        return rc;
}

/* Most records bring none, and begin with their facts. */
int log_words_parse(const void *body, size_t size, struct vocab *vocab,
                    struct model_table *models, struct logged_words *logged, struct err *err)
{
        static const char facts[] = "{\"facts\":[";
        json_t *object;
        int rc;

        if (size >= sizeof facts - 1 && memcmp(body, facts, sizeof facts - 1) == 0)
                return 0;
        object = parse(body, size, err);
        rc = object ? read_words(object, vocab, models, logged, err) : -ERR_INPUT;
        json_decref(object);
        return rc;
}
