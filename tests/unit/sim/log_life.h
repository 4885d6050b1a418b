/* log_life.h - a folder for the stores of a test, and a random life of a pool in one of them.
 *
 * One thread. Ends the test when a step fails that none wants to see fail.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct store;

/* The folder: setup and teardown of a group of tests. */
int log_life_begin(void **state);
int log_life_end(void **state);
/* Of a file there; good for four calls. */
const char *log_life_path(const char *name);
struct store *log_life_open(const char *path);
void log_life_remove(const char *path);         /* a store */

/* Protects 4 devices of research (nlp and vision below it); web is the other tenant. */
extern const char log_life_policy[];

/* `steps` of it in a new store, named by a seed; it is restarted now and then. */
struct log_life {
        uint64_t seed;
        unsigned steps;
        bool with_snapshots;
        bool with_failures;             /* devices break, and agents end what lies there, later;
                                         * others lose contact */
};
void log_life_live(const char *path, struct log_life life);

/* Takes away what lies before its second snapshot, and says where that is. */
uint64_t log_life_prune(const char *path);
