/* attach.h - terminals beside runs: what goes between the controller and a program beside a run.
 *
 * Not pure: network, and two threads for each session: one reads the program and says what it
 * wrote, the other waits for what was typed. A program that nobody reads is not read here either,
 * so it waits. A session ends with its program, when the controller no longer has it, or when it
 * has not answered for ATTACH_RETRY_MS; then the program is hung up. attaches_start() is safe from
 * any thread, the rest is the agent's.
 */
#pragma once

#include "net/client.h"

struct attaches;
struct exchange_attach;
struct folder;

#define ATTACHES_MAX    32
#define ATTACH_RETRY_MS 10000

/* All borrowed. `node`: encoded for a path. NULL: out of memory. */
struct attaches *attaches_new(const struct client_setup *client, const char *node,
                              const struct folder *folder);
/* Hangs up all that are there. NULL is fine. */
void attaches_free(struct attaches *attaches);

/* Starts a session, unless it was before: the controller asks until it hears of it. What cannot be
 * started is told to whoever asked; with ATTACHES_MAX there, it stays unanswered. */
void attaches_start(struct attaches *attaches, const struct exchange_attach *wanted);
