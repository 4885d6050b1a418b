/* api.h - the HTTP API: one table of routes over the live pool.
 *
 * Not pure. One thread: that of the loop. docs/api.md says what each call takes and answers. Every
 * handler begins with api_begin(), so that who asks is known before anything is looked at; every
 * answer is given when all that was decided before it is durable.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "controller/access.h"
#include "net/routes.h"
#include "store/store.h"

struct act;
struct asides;
struct authority;
struct core;
struct events;
struct live;
struct metrics;
struct persons;
struct quarantine;
struct tokens;
struct work;

struct api {
        struct live *live;
        struct events *events;
        struct metrics *metrics;
        struct tokens *tokens;
        struct persons *persons;
        struct quarantine *quarantine;
        struct asides *asides;          /* what is answered beside the loop */
        struct authority *authority;    /* of nodes; NULL: there is no TLS for certificates */
        int64_t certificate_ms;         /* how long one of a node is good */
        uint32_t person_per_s;          /* requests of one person; 0: any number */
        uint32_t own_uid;
        const char *version;
};

extern const struct route api_routes[];
extern const size_t api_routes_count;

/* The node's exchange that waits is answered, where there is something new. For live->changed. */
struct node_entry;
void api_node_changed(void *api, struct node_entry *node);
/* The node's exchange that waits is given up: who waits there is let in no longer. */
void api_end_wait(struct node_entry *node);
/* Exchanges that have waited long enough are answered as things are. */
void api_end_waits(struct api *api, int64_t now_ms);
/* Who asked an agent for something and got no answer in time is told so. */
void api_end_wants(struct api *api, int64_t now_ms);

/* Terminals whose time is over end, and who waits long enough at one is answered; `all`: every one,
 * for the controller ends. */
void api_end_attachments(struct api *api, bool all);

/* ---- for the handlers: api.c ---- */

struct call {
        struct api *api;
        struct live *live;
        struct http_exchange *exchange;
        const struct route_match *match;
        struct who who;
        uint64_t token;                 /* that it was asked with; 0: none */
        int64_t token_until_ms;         /* 0: that does not expire */
        bool token_is_used;             /* it is the join token of the node's enrolment */
        const char *key;                /* Idempotency-Key; NULL: none */
        uint8_t request[STORE_HASH_BYTES];      /* with it: what is asked for */
};

/* False: it has been answered, for who asks is nobody, asks too often, or has asked before. */
bool api_begin(struct api *api, struct http_exchange *exchange, const struct route_match *match,
               struct call *ret_call);
/* What an agent does: it, for its own node, and operators. 0 or -ERR_DENIED. */
int api_need_node(struct call *call, struct err *err);
/* The wall clock. */
int64_t api_now_ms(void);

/* Answers with the problem. */
void api_fail(struct call *call, const struct err *err);
/* A core_done's rc < 0. Where what was decided before the answer never will be durable, a question
 * is asked again, of the state as it was made anew, for reads go on while the store fails. Anything
 * else is refused, and so is who found no room to wait. */
void api_undone(struct core *core, struct http_exchange *exchange, const struct err *err);
/* Answers, when all that was decided until now is durable; takes the value (NULL: out of
 * memory). */
void api_reply(struct call *call, unsigned status, json_t *json);
void api_reply_text(struct call *call, const char *type, const char *bytes, size_t size);
/* Answers when the act is durable; the same again to who repeats it with its Idempotency-Key. */
void api_commit(struct call *call, struct act *act, unsigned status, json_t *json);

/* The same, and who repeats it gets `kept` instead: where the answer may be kept nowhere. */
void api_commit_apart(struct call *call, struct act *act, unsigned status, json_t *json,
                      const char *kept);

/* An act in the name of who asks, with the reason they gave. NULL: answered. */
struct act *api_act(struct call *call);

/* The value in the query, or what stands in `ret_value`. False: answered. */
bool api_query(struct call *call, const char *name, char *ret_value, size_t size);
bool api_query_number(struct call *call, const char *name, int64_t min, int64_t max,
                      int64_t *ret_value);
bool api_query_flag(struct call *call, const char *name, bool *ret_flag);
/* What a list of words with commas between them asks for, "tenant,day": one flag for each word that
 * there is. */
struct api_word {
        const char *word;
        bool *flag;
};
int api_take_words(const char *name, const char *list, const struct api_word *words, size_t count,
                   struct err *err);
/* Whether a time lies between the queries 'from' and 'until': 0 or -ERR_INPUT. */
int api_check_span(int64_t from_ms, int64_t until_ms, struct err *err);
/* The tenant that is asked for, which who asks may see; "" for the whole pool, which only some may.
 * False: answered. */
bool api_tenant(struct call *call, char ret_tenant[TENANT_PATH_MAX]);
/* The body as an object of JSON; an empty one is {}. NULL: answered. */
json_t *api_body(struct call *call);
bool api_body_is_json(const struct call *call);
/* The number of the path's workload: {id} is one, or a name. 0: answered. */
uint64_t api_workload(struct call *call);
/* That live workload, which who asks may `action`. NULL: answered. */
struct work *api_live_work(struct call *call, enum action action);
/* Whether who asks may: to their own they may do what they like. 0 or -ERR_DENIED,
 * -ERR_NOT_FOUND. */
int api_need_work(struct call *call, const struct work *work, enum action action, struct err *err);

#define API_LIMIT_DEFAULT 100
#define API_LIMIT_MAX     1000
