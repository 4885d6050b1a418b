/* talk.h - a command's talk with the pool.
 *
 * Not pure: the network. One thread. What fails leaves the exit code that fits in `code`, and a
 * sentence with the way out in `err`.
 */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "cli/command.h"
#include "cli/place.h"
#include "cli/screen.h"

struct client;
struct client_answer;
struct err;
struct text;

struct talk {
        const struct command_call *call;
        struct place place;
        struct client *client;
        struct screen screen;
        enum exit_code code;    /* EXIT_FINE until something fails */
};

/* Chooses the pool and makes the client; connects to nobody yet. */
int talk_open(const struct command_call *call, struct talk *ret_live, struct err *err);
/* The same for a talk that may be quiet: so long without a byte is an end (0: the usual 60 s). */
int talk_open_quiet(const struct command_call *call, int64_t silence_ms_max,
                    struct talk *ret_live, struct err *err);
/* Another client for the same pool, for another thread; the caller's. */
int talk_second(const struct talk *talk, struct client **ret_client, struct err *err);
/* Prints "berth NAME: sentence" where something failed. The exit code; `talk` is done. */
int talk_close(struct talk *talk, int rc, const struct err *err);

/* A request that changes something. It is sent with an idempotency key of its own, and once more
 * when the answer did not come. */
struct talk_change {
        const char *method, *path;
        const char *type;       /* NULL: "application/json" */
        const char *body;       /* NULL: none */
        size_t body_size;
        const char *if_match, *reason;  /* NULL: none */
};

/* Both refuse answers that are no success. *ret_answer is freed with client_answer_done(). */
int talk_get(struct talk *talk, const char *path, struct client_answer *ret_answer,
             struct err *err);
int talk_send(struct talk *talk, const struct talk_change *change,
              struct client_answer *ret_answer, struct err *err);

/* The body as JSON, freed with json_decref(). -ERR_IO: it is none. */
int talk_parse(struct talk *talk, const struct client_answer *answer, json_t **ret_value,
               struct err *err);
int talk_get_json(struct talk *talk, const char *path, json_t **ret_value, struct err *err);

/* Writes the body as it came, with a line break at its end. */
void talk_put(const struct client_answer *answer, FILE *file);

/* Whether --json was given. */
bool talk_is_json(const struct talk *talk);

/* Prints what was answered. 0 or a negative code. */
typedef int talk_printer(const json_t *answer, const struct talk *talk, FILE *file,
                         struct err *err);

/* A whole command: asks for `path` (taken; freed), prints the answer, with --json as it came. The
 * exit code. */
int talk_show(const struct command_call *call, struct text *path, talk_printer *print);
/* The same for a question that the server answers in words: `path` lacks only format=. */
int talk_show_text(const struct command_call *call, struct text *path);
/* The same for one change; `print` may be NULL: says nothing. */
int talk_act(const struct command_call *call, const struct talk_change *change,
             talk_printer *print);

#define TALK_MEMBERS_MAX 4096 /* of a workload */

/* A whole command about one member of a workload: checks --member, and lets Ctrl-C end what `body`
 * does. The exit code. */
typedef int talk_body(struct talk *talk, struct err *err);
int talk_with_member(const struct command_call *call, talk_body *body);

/* For help: how a TIME is written (proto/when.h), and one that is to come. */
#define TALK_TIME       "now, -1h, -7d, 2027-01-04 or 2027-01-04T08:00Z"
#define TALK_TIME_AHEAD "2h (from now), 7d, 2027-01-04 or 2027-01-04T08:00Z"

/* ---- paths ---- */

/* Adds "/segment", or "?name=value" ("&name=value" where there is a question mark), encoded. A
 * NULL value adds nothing. What is too long fails the text. */
void talk_path_segment(struct text *path, const char *segment);
void talk_path_query(struct text *path, const char *name, const char *value);
/* name=value of the option of that name, if it was given. */
void talk_path_option(struct text *path, const struct command_call *call, const char *option);
