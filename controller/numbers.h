/* numbers.h - the numbers that work is given by, in a log that may be older than what nodes have
 * seen: one restored from a backup, imported from an export, or rolled back with its disk.
 *
 * Pure, apart from the heap for the text of a note. One owner at a time.
 *
 * Nodes start an epoch at most once, and none that is not newer than what they started of the same
 * member. So an epoch must not come twice with two meanings, whichever history of the log gave it:
 *
 *   epoch of record n = base + n
 *
 * and every start of the controller begins a new base, so high that its first epoch is at least
 * the time of that start in us since 1970. A log grows slower than a record each us, so the epochs
 * of one start end before those of the next one begin, also when the next one is of an older copy
 * of the log: what it gives is newer than all that nodes have seen, and they need not be asked. A
 * node that has not spoken yet, or comes back in a month, makes no difference.
 *
 * That leans on a clock that was not set back. Where it was:
 *   - no epoch has two meanings all the same: the base jumps by chance (some of 2^32) above what
 *     the log has, so two histories that go on from one copy do not meet;
 *   - agents say the newest epoch they started, and the highest number of a workload
 *     (exchange_given.c): the base jumps above that before anything is given to that node;
 *   - work that was placed on a node before it spoke is refused there as superseded, and is placed
 *     again under an epoch from above (exchange.c). It has cost time, and nothing else.
 *
 * The log has it as a note before the first input of each start, which is committed with it:
 * {"numbers":{"log":"9f86d081884c7d65","base":1798761600000000,"workload":1}}. A log without one
 * (of 0.1.0) has the base 0. `log` is its name, by chance, given once: an agent that works for
 * another log is refused. `workload`: new ones have at least this number.
 *
 * A *period* is what one note began. Epochs between two periods stand in no record of this log: a
 * node that has started one was given it by what was lost (numbers_know()).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct text;

/* What clocks and agents are believed; above it there is room for a million starts that jump by
 * chance, and all of it is exact in whatever reads JSON. */
#define NUMBERS_EPOCH_MAX    (UINT64_C(1) << 52)        /* as time: the year 2112 */
#define NUMBERS_EPOCH_END    (UINT64_C(1) << 53)
#define NUMBERS_WORKLOAD_MAX (UINT64_C(1) << 46)        /* agents take up to 2^47 */
/* So many workloads nobody submits between a backup and its use: who says more is wrong. */
#define NUMBERS_WORKLOADS_AHEAD_MAX UINT64_C(100000000)
#define NUMBERS_CHANCE_MIN   (1u << 20)
#define NUMBERS_PERIODS_MAX  64         /* remembered; epochs of older ones count as known */
#define NUMBERS_WORDS_MAX    (2 + 2 * NUMBERS_PERIODS_MAX)
#define NUMBERS_LOG_TEXT_MAX 17

struct numbers {
        uint64_t log;                   /* its name; 0: it has none yet */
        uint64_t workload_min;
        uint32_t periods_count;
        struct numbers_period {
                uint64_t first_seq, base;
        } periods[NUMBERS_PERIODS_MAX]; /* the oldest first */
};

/* Of record `seq`, which is of the newest period. */
uint64_t numbers_epoch(const struct numbers *numbers, uint64_t seq);
/* Whether that epoch is of a record up to `last_seq` of this log. */
bool numbers_know(const struct numbers *numbers, uint64_t epoch, uint64_t last_seq);

/* What a start of the controller wants; zeroed: nothing. */
struct numbers_wish {
        uint64_t log;                   /* the log's name, if it has none */
        uint64_t epoch_min, workload_min;       /* up to the bounds above */
        uint32_t chance;                /* how far a base jumps where the clock does not decide;
                                           0: epochs are as they were, there is no base */
};
/* Of a start on a log with these numbers that ends with record `last_seq`: above all of it. */
void numbers_wish_above(struct numbers_wish *wish, const struct numbers *numbers,
                        uint64_t last_seq);
/* Record `seq` becomes the note that brings this. False: the numbers are so already. */
bool numbers_begin(struct numbers *numbers, const struct numbers_wish *wish, uint64_t seq);

/* The note of the newest period, and back, from record `seq`. 1; 0: it is another note; -ERR_INPUT:
 * it is damaged. */
void numbers_note_write(const struct numbers *numbers, struct text *out);
int numbers_note_read(struct numbers *numbers, const void *body, size_t size, uint64_t seq,
                      struct err *err);

/* As words in a snapshot: how many, up to NUMBERS_WORDS_MAX. And back: 0, -ERR_INPUT. */
size_t numbers_write(const struct numbers *numbers, uint64_t words[NUMBERS_WORDS_MAX]);
int numbers_read(struct numbers *numbers, const uint64_t *words, size_t count, struct err *err);

/* The log's name as 16 hex digits, and back. False: it is none. */
const char *numbers_log_text(uint64_t log, char buf[NUMBERS_LOG_TEXT_MAX]);
bool numbers_log_parse(const char *text, uint64_t *ret_log);
