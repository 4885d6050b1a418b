/* client.h - a client that waits for its answers: for the command and the agent.
 *
 * Not pure: the network. A client belongs to one thread at a time; it keeps its connection alive
 * between calls. client_stop() alone may come from another thread or a signal handler.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/sse.h"

struct client;
struct err;

#define CLIENT_PIN_MAX 64 /* "sha256//" and 44 digits of base64, NUL */

/* Where, and who we are. Texts are borrowed for the call. */
struct client_setup {
        const char *url;   /* "unix:/run/berth/api.sock", "https://host:7070", and "http://" to this
                              machine only */
        const char *token; /* NULL: none. Never sent over http to another machine */
        /* Which server to believe: an authority's file, or the server's public key as
         * client_pin_of() writes it; neither: the system's authorities. */
        const char *ca_file;
        const char *pin;
        const char *certificate_file, *key_file; /* of ours, PEM; NULL: none */
        const char *agent;                       /* the header User-Agent; NULL: "berth" */
        int64_t timeout_ms;                      /* of a whole call; 0: 30 s */
        int64_t silence_ms_max;    /* of a stream: heard nothing for so long; 0: 60 s */
        uint64_t answer_bytes_max; /* 0: 64 MiB */
};

/* 0, -ERR_INPUT (what the url says cannot be), -ERR_NOMEM. */
int client_new(const struct client_setup *setup, struct client **ret_client, struct err *err);
void client_free(struct client *client); /* NULL is fine */

/* The pin of a certificate (PEM): "sha256//base64 of the public key's SHA-256".
 * 0, -ERR_INPUT. */
int client_pin_of(const char *certificate_pem, char ret_pin[CLIENT_PIN_MAX], struct err *err);

struct client_request {
        const char *method; /* NULL: "GET" */
        const char *path;   /* "/v1/workloads?tenant=web", encoded (uri.h) */
        const char *type;   /* of the body; NULL: "application/json" */
        const void *body;   /* NULL: none */
        size_t body_size;
        const char *idempotency_key; /* NULL: none */
        const char *if_match;        /* NULL: none */
        const char *const *headers;  /* more of them, "Name: value", ended by NULL; NULL: none */
        const char *reason;          /* the header Berth-Reason, one line; NULL: none */
        int64_t timeout_ms;          /* 0: the client's */
};

struct client_answer {
        unsigned status;
        char type[128]; /* "" when the server said none */
        char etag[128];
        int64_t retry_after_s; /* -1: not said */
        char *body;            /* with a NUL behind it; freed by client_answer_done() */
        size_t size;
};
void client_answer_done(struct client_answer *answer); /* a zeroed one is fine */

/* One request. Whatever status came is an answer, and 0 is returned: see client_check().
 * -ERR_IO: none came (nobody there, broken off), -ERR_CANCELLED: too slow, or client_stop();
 * -ERR_RANGE: the answer is too large; -ERR_INPUT: also where somebody is there whom the authority
 * or the pin does not vouch for; -ERR_NOMEM.
 * *ret_answer is only written on success. */
int client_call(struct client *client, const struct client_request *request,
                struct client_answer *ret_answer, struct err *err);

/* A header of the newest answer of client_call(), until the next call; "": it has none, or none
 * that fits. And as a whole number from 0; false: it is none. */
void client_header(const struct client *client, const char *name, char *ret_value, size_t size);
bool client_header_u64(const struct client *client, const char *name, uint64_t *ret_value);

/* 0 when the status is 2xx; else the problem's own sentence, made fit for a terminal (base/str.h),
 * and the code nearest to it. */
int client_check(const struct client_answer *answer, struct err *err);

/* Follows a stream of events from behind `last_id` ("": from where the server begins), over as many
 * connections as it takes: what broke off is taken up again, with the last id seen, after a pause
 * that grows to 30 s. Always ends with a negative value: what `on_event` returned; -ERR_CANCELLED
 * after client_stop(); the code of a refusal that does not pass (4xx but 429, see client_check());
 * -ERR_IO or -ERR_CANCELLED after `tries_max` tries (0: no bound) without an event between them. */
int client_watch(struct client *client, const char *path, const char *last_id, unsigned tries_max,
                 sse_on_event *on_event, void *arg, struct err *err);

/* The next call is made over a new connection, for which the certificate's files are read again: a
 * server goes on knowing an old connection by what was shown when it began. */
void client_reconnect(struct client *client);

/* Ends the call that is going on (within a second), and all that come. */
void client_stop(struct client *client);
