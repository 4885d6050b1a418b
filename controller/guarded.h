/* guarded.h - each request is known while it is served, so that one that crashes the controller is
 * known again (crash.h, quarantine.h).
 *
 * Not pure. One thread: that of the loop.
 */
#pragma once

struct http_exchange;
struct quarantine;
struct routes;

#define GUARDED_HEAD_MAX 2048           /* of method and target; the rest tells none apart */

/* Its method and target: by them, and its body, it is known again. */
void guarded_head(const struct http_exchange *exchange, char ret_head[GUARDED_HEAD_MAX]);

struct guarded {
        struct routes *routes;          /* borrowed */
        struct quarantine *quarantine;  /* borrowed */
        char head[GUARDED_HEAD_MAX];    /* of the request that is being served */
};

/* A handler for http_new(), with a `struct guarded`: routes_serve(), or 422 to what is held. */
void guarded_serve(struct http_exchange *exchange, void *guarded);
