#include "tests/property/shrink.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/property/case.h"

/* Written by the child, read by the parent. */
struct board {
        uint64_t seed, done;
        struct counts counts;
        bool failed;
        char why[1024];
};

static double seconds_since(const struct timespec *start)
{
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (double)(now.tv_sec - start->tv_sec) + (double)(now.tv_nsec - start->tv_nsec) / 1e9;
}

static void add_all(struct step_set *set)
{
        memset(set, 0xff, sizeof *set);
}

static void run_seeds(const struct shrink *shrink, const struct step_set *keep, uint64_t first,
                      uint64_t last, struct board *board)
{
        for (uint64_t seed = first; seed <= last; seed++) {
                board->seed = seed;
                if (!shrink->run(seed, keep, &board->counts, board->why, sizeof board->why)) {
                        board->failed = true;
                        return;
                }
                board->done++;
        }
}

/* True: all went well. The board tells more. */
static bool run_apart(const struct shrink *shrink, const struct step_set *keep, uint64_t first,
                      uint64_t last, bool quiet, struct board *board)
{
        memset(board, 0, sizeof *board);
        fflush(stdout);
        pid_t child = fork();
        if (child < 0) {
                snprintf(board->why, sizeof board->why, "no process could be started");
                return false;
        }
        if (child == 0) {
                if (quiet) {
                        int nowhere = open("/dev/null", O_WRONLY);
                        if (nowhere >= 0)
                                dup2(nowhere, STDERR_FILENO);
                }
                alarm(quiet ? 20 : 0);
                run_seeds(shrink, keep, first, last, board);
                _exit(board->failed ? 1 : 0);
        }
        int status = 0;
        if (waitpid(child, &status, 0) < 0)
                return false;
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && !board->failed)
                return true;
        if (!board->failed)
                snprintf(board->why, sizeof board->why,
                         "the program stopped itself (%s %d): an assert, a sanitizer's finding or "
                         "no end; its own words stand above",
                         WIFSIGNALED(status) ? "signal" : "status",
                         WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
        return false;
}

/* The same sentence but for its numbers: a shorter list that fails otherwise is another bug. */
static bool is_same_kind(const char *a, const char *b)
{
        for (;; a++, b++) {
                while (*a >= '0' && *a <= '9')
                        a++;
                while (*b >= '0' && *b <= '9')
                        b++;
                if (*a != *b)
                        return false;
                if (*a == '\0')
                        return true;
        }
}

static void drop_range(struct step_set *set, unsigned from, unsigned count)
{
        for (unsigned i = from; i < from + count && i < SHRINK_STEPS_MAX; i++)
                set->words[i / 64] &= ~(1ull << i % 64);
}

/* Leaves out steps, many at a time and then one by one, as long as it still fails. */
static void shrink_case(const struct shrink *shrink, uint64_t seed, struct board *board,
                        struct step_set *keep)
{
        unsigned last = board->counts.step;
        struct board *attempt = board + 1;
        bool smaller;

        add_all(keep);
        drop_range(keep, last + 1, SHRINK_STEPS_MAX);
        for (unsigned size = (last + 1) / 2 ? (last + 1) / 2 : 1;; size = size > 1 ? size / 2 : 1) {
                smaller = false;
                for (unsigned from = 0; from <= last; from += size) {
                        struct step_set without = *keep;
                        drop_range(&without, from, size);
                        if (memcmp(&without, keep, sizeof *keep) == 0 ||
                            run_apart(shrink, &without, seed, seed, true, attempt) ||
                            !is_same_kind(board->why, attempt->why))
                                continue;
                        *keep = without;
                        *board = *attempt;
                        smaller = true;
                }
                if (size == 1 && !smaller)
                        break;
        }
}

static void report(const struct shrink *shrink, struct board *board)
{
        struct step_set keep;
        uint64_t seed = board->seed;

        printf("%s: seed %" PRIu64 " fails at step %u: %s\n", shrink->name, seed,
               board->counts.step + 1, board->why);
        shrink_case(shrink, seed, board, &keep);
        unsigned kept = 0;
        for (unsigned i = 0; i <= board->counts.step; i++)
                kept += step_set_has(&keep, i);
        printf("\nThe shortest list that still fails has %u of %u steps; the last one fails:\n"
               "  %s\n",
               kept, board->counts.steps_made, board->why);
        shrink->print(seed, &keep, board->counts.step);
        printf("\nAgain: %s %" PRIu64 "\n", shrink->name, seed);
}

static bool read_seeds(const char *text, uint64_t *ret_first, uint64_t *ret_last)
{
        char *end;

        *ret_first = strtoull(text, &end, 10);
        *ret_last = *ret_first;
        if (end != text && strncmp(end, "..", 2) == 0)
                *ret_last = strtoull(end + 2, &end, 10);
        return *end == '\0' && end != text && *ret_first <= *ret_last;
}

void shrink_print_steps(const struct history *history, const struct step_set *keep, unsigned last,
                        const struct vocab *vocab, const struct model_table *models)
{
        unsigned number = 0;

        for (unsigned i = 0; i < history->count && i <= last; i++) {
                char text[1024];
                if (!step_set_has(keep, i))
                        continue;
                step_print(text, sizeof text, &history->steps[i], vocab, models);
                printf("  %2u. %s\n", ++number, text);
        }
}

static int run_all(const struct shrink *shrink, int argc, char **argv)
{
        const char *seeds = argc > 1 ? argv[1] : getenv("BERTH_SEEDS");
        const char *cases = getenv("BERTH_CASES");
        uint64_t first = 1, last = cases ? strtoull(cases, NULL, 10) : shrink->cases;
        struct timespec start;

        if (seeds && !read_seeds(seeds, &first, &last)) {
                fprintf(stderr, "%s: '%s' is no seed and no range FIRST..LAST\n", shrink->name,
                        seeds);
                return 2;
        }
        struct board *boards = mmap(NULL, 2 * sizeof *boards, PROT_READ | PROT_WRITE,
                                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (boards == MAP_FAILED)
                return 1;
        struct step_set all;
        add_all(&all);
        clock_gettime(CLOCK_MONOTONIC, &start);
        bool good = run_apart(shrink, &all, first, last, false, boards);
        struct board *board = boards;
        if (good && shrink->summary) {
                printf("%s: seeds %" PRIu64 "..%" PRIu64 " in %.1f s: ", shrink->name, first, last,
                       seconds_since(&start));
                shrink->summary(&board->counts);
        } else if (good)
                printf("%s: seeds %" PRIu64 "..%" PRIu64 " in %.1f s: %" PRIu64 " placed, %" PRIu64
                       " refused (%" PRIu64 " for ever), %" PRIu64
                       " times somebody waited, %" PRIu64 " searches, %" PRIu64
                       " too big to finish\n",
                       shrink->name, first, last, seconds_since(&start), board->counts.placed,
                       board->counts.refused, board->counts.infeasible, board->counts.waits,
                       board->counts.searches, board->counts.undecided);
        else
                report(shrink, board);
        munmap(boards, 2 * sizeof *boards);
        return good ? 0 : 1;
}

int shrink_main(const struct shrink *shrink, int argc, char **argv)
{
        if (!shrink->models)
                return run_all(shrink, argc, argv);
        *shrink->models = case_models();
        if (!*shrink->models)
                return 1;
        int rc = run_all(shrink, argc, argv);
        model_table_free(*shrink->models);
        return rc;
}
