#include "engine/vocab.h"

#include <assert.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"

/* A set is at most 32 entries of at most 3 numbers. */
#define SET_NUMBERS_MAX (VOCAB_LABELS_MAX * 3)

struct entry {
        const void *bytes;
        uint32_t size;
};

/* Content-addressed byte strings: ids from 1. */
struct pot {
        struct entry *entries;          /* entry of id n stands at n - 1 */
        uint32_t count, room, max;
        struct map by_hash;
};

struct vocab {
        struct arena *arena;
        struct pot pots[VOCAB_KINDS_END];
};

static uint64_t bytes_hash(const void *bytes, size_t size)
{
        const unsigned char *at = bytes;
        uint64_t hash = size;

        for (size_t i = 0; i < size; i++)
                hash = (hash ^ at[i]) * 0x100000001b3u;
        return map_mix(hash);
}

/* Equal hashes of different bytes move on to the next key. */
static uint32_t pot_find(const struct pot *pot, const void *bytes, size_t size, uint64_t *ret_key)
{
        uint64_t key = bytes_hash(bytes, size);

        for (;; key++) {
                uint32_t id = map_get(&pot->by_hash, key);
                if (id == MAP_NONE) {
                        *ret_key = key;
                        return 0;
                }
                const struct entry *entry = &pot->entries[id - 1];
                if (entry->size == size && memcmp(entry->bytes, bytes, size) == 0)
                        return id;
        }
}

static int pot_enter(struct vocab *vocab, struct pot *pot, const void *bytes, size_t size,
                     struct err *err)
{
        uint64_t key;
        uint32_t id = pot_find(pot, bytes, size, &key);

        if (id)
                return (int)id;
        if (pot->count == pot->max)
                return err_set(err, ERR_FULL, "the vocabulary is full: %u different entries",
                               pot->max);
        if (pot->count == pot->room) {
                uint32_t room = pot->room ? pot->room * 2 : 64;
                struct entry *grown = mem_resize(pot->entries, pot->room, room,
                                                 sizeof *pot->entries);
                if (!grown)
                        return err_set(err, ERR_NOMEM, "out of memory");
                pot->entries = grown;
                pot->room = room;
        }
        char *copy = arena_text(vocab->arena, bytes, size);
        if (!copy || map_set(&pot->by_hash, key, pot->count + 1) != 0)
                return err_set(err, ERR_NOMEM, "out of memory");
        pot->entries[pot->count] = (struct entry){copy, (uint32_t)size};
        return (int)++pot->count;
}

static void pot_init(struct pot *pot, uint32_t max)
{
        pot->max = max;
        map_init(&pot->by_hash, max);
}

struct vocab *vocab_new(void)
{
        struct vocab *vocab = mem_new(1, sizeof *vocab);

        if (!vocab)
                return NULL;
        for (unsigned kind = 0; kind < VOCAB_KINDS_END; kind++)
                pot_init(&vocab->pots[kind],
                         kind == VOCAB_NAMES ? VOCAB_NAMES_MAX : VOCAB_WORDS_MAX);
        vocab->arena = arena_new(0, 0);
        if (!vocab->arena) {
                vocab_free(vocab);
                return NULL;
        }
        return vocab;
}

static void pot_done(struct pot *pot)
{
        mem_free(pot->entries);
        map_done(&pot->by_hash);
}

void vocab_free(struct vocab *vocab)
{
        if (!vocab)
                return;
        for (unsigned kind = 0; kind < VOCAB_KINDS_END; kind++)
                pot_done(&vocab->pots[kind]);
        arena_free(vocab->arena);
        mem_free(vocab);
}

static int enter_text(struct vocab *vocab, struct pot *pot, const char *text, struct err *err)
{
        size_t size = strlen(text);

        if (size == 0)
                return err_set(err, ERR_INPUT, "a name is empty");
        if (size >= VOCAB_WORD_MAX)
                return err_set(err, ERR_INPUT, "'%.32s...' is longer than %d bytes", text,
                               VOCAB_WORD_MAX - 1);
        return pot_enter(vocab, pot, text, size, err);
}

static const char *text_of(const struct pot *pot, unsigned id)
{
        if (id == 0)
                return "";
        if (id > pot->count)
                return "?";             /* an id from outside that nobody was given */
        return pot->entries[id - 1].bytes;
}

int vocab_word(struct vocab *vocab, const char *text, struct err *err)
{
        return enter_text(vocab, &vocab->pots[VOCAB_WORDS], text, err);
}

int vocab_find(const struct vocab *vocab, const char *text)
{
        uint64_t key;

        return (int)pot_find(&vocab->pots[VOCAB_WORDS], text, strlen(text), &key);
}

const char *vocab_text(const struct vocab *vocab, unsigned word)
{
        return text_of(&vocab->pots[VOCAB_WORDS], word);
}

int vocab_name(struct vocab *vocab, const char *text, struct err *err)
{
        return enter_text(vocab, &vocab->pots[VOCAB_NAMES], text, err);
}

int vocab_name_find(const struct vocab *vocab, const char *text)
{
        uint64_t key;

        return (int)pot_find(&vocab->pots[VOCAB_NAMES], text, strlen(text), &key);
}

const char *vocab_name_text(const struct vocab *vocab, unsigned name)
{
        return text_of(&vocab->pots[VOCAB_NAMES], name);
}

/* Sorts rows of `width` numbers, so that sets compare as bytes. */
static void sort_rows(uint16_t *numbers, size_t rows, size_t width)
{
        for (size_t i = 1; i < rows; i++) {
                uint16_t row[3];
                memcpy(row, numbers + i * width, width * sizeof *row);
                size_t at = i;
                for (; at > 0; at--) {
                        const uint16_t *before = numbers + (at - 1) * width;
                        size_t k = 0;
                        while (k < width && before[k] == row[k])
                                k++;
                        if (k == width || before[k] < row[k])
                                break;
                        memmove(numbers + at * width, before, width * sizeof *row);
                }
                memcpy(numbers + at * width, row, width * sizeof *row);
        }
}

int vocab_labels(struct vocab *vocab, const struct label *labels, size_t count, struct err *err)
{
        uint16_t numbers[SET_NUMBERS_MAX];

        if (count > VOCAB_LABELS_MAX)
                return err_set(err, ERR_INPUT, "%zu labels on one node; at most %d are possible",
                               count, VOCAB_LABELS_MAX);
        for (size_t i = 0; i < count; i++) {
                numbers[2 * i] = labels[i].key;
                numbers[2 * i + 1] = labels[i].value;
        }
        sort_rows(numbers, count, 2);
        for (size_t i = 1; i < count; i++)
                if (numbers[2 * i] == numbers[2 * i - 2])
                        return err_set(err, ERR_INPUT, "label '%s' stands twice",
                                       vocab_text(vocab, numbers[2 * i]));
        if (count == 0)
                return 0;
        return pot_enter(vocab, &vocab->pots[VOCAB_LABELS], numbers, count * 2 * sizeof *numbers,
                         err);
}

int vocab_wheres(struct vocab *vocab, const struct where *wheres, size_t count, struct err *err)
{
        uint16_t numbers[SET_NUMBERS_MAX];

        if (count > VOCAB_WHERES_MAX)
                return err_set(err, ERR_INPUT, "%zu label conditions; at most %d are possible",
                               count, VOCAB_WHERES_MAX);
        for (size_t i = 0; i < count; i++) {
                numbers[3 * i] = wheres[i].key;
                numbers[3 * i + 1] = wheres[i].value;
                numbers[3 * i + 2] = wheres[i].op;
        }
        sort_rows(numbers, count, 3);
        if (count == 0)
                return 0;
        return pot_enter(vocab, &vocab->pots[VOCAB_WHERES], numbers, count * 3 * sizeof *numbers,
                         err);
}

/* ---- entries as bytes ---- */

uint32_t vocab_count(const struct vocab *vocab, enum vocab_kind kind)
{
        return vocab->pots[kind].count;
}

const void *vocab_bytes(const struct vocab *vocab, enum vocab_kind kind, uint32_t id,
                        size_t *ret_size)
{
        assert(id > 0);
        assert(id <= vocab->pots[kind].count);
        *ret_size = vocab->pots[kind].entries[id - 1].size;
        return vocab->pots[kind].entries[id - 1].bytes;
}

/* Sets are rows of word ids, and in where conditions an operator. */
static bool is_set(const struct vocab *vocab, enum vocab_kind kind, const void *bytes, size_t size)
{
        size_t width = kind == VOCAB_LABELS ? 2 : 3;
        size_t rows_max = kind == VOCAB_LABELS ? VOCAB_LABELS_MAX : VOCAB_WHERES_MAX;
        uint16_t numbers[SET_NUMBERS_MAX];

        if (size == 0 || size % (width * sizeof *numbers) != 0 ||
            size > rows_max * width * sizeof *numbers)
                return false;
        memcpy(numbers, bytes, size);
        for (size_t i = 0; i < size / sizeof *numbers; i++)
                if (i % width == 2 ? numbers[i] > WHERE_BELOW
                                   : numbers[i] == 0 || numbers[i] > vocab->pots[VOCAB_WORDS].count)
                        return false;
        return true;
}

int vocab_enter(struct vocab *vocab, enum vocab_kind kind, const void *bytes, size_t size,
                struct err *err)
{
        bool right = kind == VOCAB_LABELS || kind == VOCAB_WHERES
                             ? is_set(vocab, kind, bytes, size)
                             : size > 0 && size < VOCAB_WORD_MAX && !memchr(bytes, '\0', size);

        if (!right)
                return err_set(err, ERR_INPUT, "these bytes are no entry of a vocabulary");
        return pot_enter(vocab, &vocab->pots[kind], bytes, size, err);
}

/* The value behind the sign. */
static const char *read_op(const char *condition, enum where_op *ret_op)
{
        static const struct {
                const char *sign;
                enum where_op op;
        } signs[] = {
                {">=", WHERE_AT_LEAST}, {"<=", WHERE_AT_MOST}, {"!=", WHERE_IS_NOT},
                {">", WHERE_ABOVE},     {"<", WHERE_BELOW},    {"=", WHERE_IS},
        };

        *ret_op = WHERE_IS;
        for (unsigned i = 0; i < ARRAY_LEN(signs); i++) {
                size_t length = strlen(signs[i].sign);
                if (strncmp(condition, signs[i].sign, length) == 0) {
                        *ret_op = signs[i].op;
                        condition += length;
                        break;
                }
        }
        while (*condition == ' ')
                condition++;
        return condition;
}

int vocab_where_parse(struct vocab *vocab, const char *key, const char *condition,
                      struct where *ret_where, struct err *err)
{
        enum where_op op;
        const char *value = read_op(condition, &op);
        int key_id = vocab_word(vocab, key, err);
        if (key_id < 0)
                return key_id;
        int value_id = vocab_word(vocab, value, err);
        if (value_id < 0)
                return value_id;
        *ret_where = (struct where){(uint16_t)key_id, (uint16_t)value_id, (uint16_t)op};
        return 0;
}

/* One number of a dotted version: its digits from the first that is not 0, however many. */
struct number {
        const char *digits;
        size_t count;
};

/* Reads a number and the dot behind it; false when that is not what stands there. */
static bool version_step(const char **at, struct number *ret_number)
{
        const char *p = *at;

        if (*p < '0' || *p > '9')
                return false;
        while (*p == '0')
                p++;
        ret_number->digits = p;
        while (*p >= '0' && *p <= '9')
                p++;
        ret_number->count = (size_t)(p - ret_number->digits);
        if (*p == '.' && p[1] != '\0')
                p++;
        else if (*p != '\0')
                return false;
        *at = p;
        return true;
}

static int number_compare(const struct number *a, const struct number *b)
{
        if (a->count != b->count)
                return a->count < b->count ? -1 : 1;
        return memcmp(a->digits, b->digits, a->count);
}

/* False: one of them is no dotted number. "570" equals "570.0". */
static bool version_compare(const char *a, const char *b, int *ret_order)
{
        int order = 0;

        while (*a || *b) {
                struct number x = {"", 0}, y = {"", 0};
                if ((*a && !version_step(&a, &x)) || (*b && !version_step(&b, &y)))
                        return false;
                if (order == 0)
                        order = number_compare(&x, &y);
        }
        *ret_order = order;
        return true;
}

static bool order_holds(enum where_op op, int order)
{
        switch (op) {
        case WHERE_AT_LEAST:
                return order >= 0;
        case WHERE_ABOVE:
                return order > 0;
        case WHERE_AT_MOST:
                return order <= 0;
        case WHERE_BELOW:
                return order < 0;
        case WHERE_IS:
        case WHERE_IS_NOT:
                break;
        }
        assert(false);
        return false;
}

static bool label_meets(const struct vocab *vocab, uint16_t value, enum where_op op,
                        const char *wanted)
{
        int order;

        if (op == WHERE_IS || op == WHERE_IS_NOT)
                return value && str_glob(wanted, vocab_text(vocab, value)) ? op == WHERE_IS
                                                                           : op == WHERE_IS_NOT;
        if (!value || !version_compare(vocab_text(vocab, value), wanted, &order))
                return false;
        return order_holds(op, order);
}

bool vocab_meets(const struct vocab *vocab, unsigned labels, unsigned wheres)
{
        if (wheres == 0)
                return true;
        if (wheres > vocab->pots[VOCAB_WHERES].count || labels > vocab->pots[VOCAB_LABELS].count)
                return false;
        const struct entry *set = &vocab->pots[VOCAB_WHERES].entries[wheres - 1];
        const struct entry *have = labels ? &vocab->pots[VOCAB_LABELS].entries[labels - 1] : NULL;
        uint16_t numbers[SET_NUMBERS_MAX], pairs[SET_NUMBERS_MAX];
        size_t pair_count = have ? have->size / (2 * sizeof *pairs) : 0;

        memcpy(numbers, set->bytes, set->size);
        if (have)
                memcpy(pairs, have->bytes, have->size);
        for (size_t i = 0; i < set->size / (3 * sizeof *numbers); i++) {
                uint16_t value = 0;
                for (size_t k = 0; k < pair_count; k++)
                        if (pairs[2 * k] == numbers[3 * i])
                                value = pairs[2 * k + 1];
                if (!label_meets(vocab, value, (enum where_op)numbers[3 * i + 2],
                                 vocab_text(vocab, numbers[3 * i + 1])))
                        return false;
        }
        return true;
}

bool vocab_meets_condition(const struct vocab *vocab, unsigned labels, const char *key,
                           const char *condition)
{
        uint16_t pairs[SET_NUMBERS_MAX], value = 0;
        int key_id = vocab_find(vocab, key);
        enum where_op op;
        const char *wanted = read_op(condition, &op);

        if (labels > vocab->pots[VOCAB_LABELS].count)
                return false;
        if (labels && key_id) {
                const struct entry *have = &vocab->pots[VOCAB_LABELS].entries[labels - 1];
                memcpy(pairs, have->bytes, have->size);
                for (size_t k = 0; k < have->size / (2 * sizeof *pairs); k++)
                        if (pairs[2 * k] == key_id)
                                value = pairs[2 * k + 1];
        }
        return label_meets(vocab, value, op, wanted);
}
