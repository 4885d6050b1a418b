/* policy_log.h - facts and states go through what the log keeps of them. */
#pragma once

#include <stdbool.h>

struct book;
struct fact;
struct state;

/* Writes the fact down and reads it again; what is large in it is put back. */
bool log_told(struct book *book, struct fact *fact);

/* A state of the bytes that the state was written as takes its place. */
bool log_restored(struct book *book, struct state **state);
