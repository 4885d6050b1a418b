/* case.h - random histories of a small or middling pool, named by their seed.
 *
 * A history is a list of inputs that can be cut anywhere: an input that has lost what
 * it refers to is an error the engine must name, and nothing else. Needs the models of
 * case_models() and a fresh vocabulary that case_words() has filled.
 */
#pragma once

#include "engine/fact.h"
#include "engine/model.h"
#include "engine/price.h"
#include "engine/vocab.h"
#include "sim/rng.h"

enum { CASE_STEPS_MAX = 1024, CASE_PLANS = 2 };

/* Their ids in the table of case_models(). */
enum case_model {
        CASE_A100_40,
        CASE_A30,
        CASE_T4,       /* plain, memory known */
        CASE_UNLISTED, /* plain, nothing known */
        CASE_MI300X,
        CASE_RTX_PRO_6000, /* counts media engines */
        CASE_MODELS
};

/* The ids a vocabulary gives when case_words() fills it: always the same. */
struct case_words {
        uint32_t names[64];
        uint16_t planes[2];
        uint16_t nvlinks[8], racks[4], blocks[2];
        uint16_t labels[3]; /* sets */
        uint16_t wheres[4]; /* sets */
        uint16_t profiles[12], profiles_count;
};

struct case_size {
        unsigned nodes_min, nodes_max; /* up to 64 */
        unsigned devices_max;          /* of all nodes together */
        unsigned workloads_max;        /* ids in use */
        unsigned steps_min, steps_max; /* after the nodes joined */
        unsigned members_max;
        bool plans; /* demand plans are set and taken away */
};

struct history {
        uint64_t seed;
        unsigned count;
        struct input steps[CASE_STEPS_MAX];
        struct price_plan *plans; /* CASE_PLANS of them, borrowed by the steps */
};

/* NULL: out of memory, or a built-in model is missing. */
struct model_table *case_models(void);
int case_words_enter(struct vocab *vocab, struct case_words *ret_words);

/* `history` keeps its plans' memory from case to case; zero it before the first. */
void history_make(struct history *history, const struct case_size *size,
                  const struct case_words *words, uint64_t seed);

/* One input as a sentence. */
void step_print(char *ret_text, size_t size, const struct input *step, const struct vocab *vocab,
                const struct model_table *models);
void request_print(char *ret_text, size_t size, const struct request *request,
                   const struct vocab *vocab);
