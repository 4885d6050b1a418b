/* shrink.h - runs cases named by seeds in a child process; on a failure, shrinks and prints it.
 *
 * Arguments: FIRST..LAST or SEED; else BERTH_SEEDS in the same form; else 1..BERTH_CASES, or as
 * many as the test says. Reads the clock only to say how long it took.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SHRINK_STEPS_MAX = 1024 };

/* The steps of a case that are carried out. */
struct step_set {
        uint64_t words[SHRINK_STEPS_MAX / 64];
};

static inline bool step_set_has(const struct step_set *set, unsigned step)
{
        return set->words[step / 64] >> step % 64 & 1;
}

/* What a run saw; lies in memory that both processes share. */
struct counts {
        unsigned step, steps_made; /* of the case under way */
        uint64_t placed, waits, refused, infeasible, searches, undecided;
        uint64_t others[64]; /* what a test counts for its own summary */
};

struct model_table;

struct shrink {
        const char *name;
        uint64_t cases;
        struct model_table **models;    /* made and freed around the cases; NULL: not needed */
        /* True: nothing is wrong. Else `why` says what, for a person. */
        bool (*run)(uint64_t seed, const struct step_set *keep, struct counts *counts, char *why,
                    size_t why_size);
        /* Prints the steps of the set, up to step `last`, one a line. */
        void (*print)(uint64_t seed, const struct step_set *keep, unsigned last);
        /* What was counted when all went well; NULL: the counts above. */
        void (*summary)(const struct counts *counts);
};

struct history;
struct vocab;

/* What `print` is made of: the steps of the history that are in the set, up to `last`. */
void shrink_print_steps(const struct history *history, const struct step_set *keep, unsigned last,
                        const struct vocab *vocab, const struct model_table *models);

int shrink_main(const struct shrink *shrink, int argc, char **argv); /* exit status */
