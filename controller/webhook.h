/* webhook.h - posts bodies to an address, one after the other, from a thread of its own.
 *
 * Not pure: the network, a thread. All functions are the owner's thread's; none waits for the
 * network, but webhook_free() for up to a second.
 *
 * A body is posted until it is taken (any 2xx), in the order in which they came: after a failure
 * the same one again, later and later (WEBHOOK_PAUSE_MS, doubled up to WEBHOOK_PAUSE_MS_MAX). What
 * a server refuses by itself (4xx other than 408 and 429) WEBHOOK_REFUSALS_MAX times in a row is
 * given up, so that one body cannot keep all others back. A body may arrive twice; its id is the
 * same.
 *
 *     POST PATH                                Content-Type: application/json
 *     Berth-Event-Id: ID                       the same of the same change, for ever
 *     Berth-Signature: t=UNIX,v1=HEX           HMAC-SHA256 with the secret over "UNIX.BODY"
 *
 * The secret's file is read before each try, so that it may be changed; its last line break does
 * not count. It may be read by nobody but its owner and group.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct webhook;

#define WEBHOOK_QUEUE_MAX     64
#define WEBHOOK_BODY_MAX      8192      /* bytes */
#define WEBHOOK_PAUSE_MS      1000
#define WEBHOOK_PAUSE_MS_MAX  60000
#define WEBHOOK_TIMEOUT_MS    10000     /* of one try */
#define WEBHOOK_REFUSALS_MAX  20
#define WEBHOOK_SECRET_MAX    4096      /* bytes */

/* `pause_ms`: 0: WEBHOOK_PAUSE_MS; tests are in a hurry. 0, -ERR_NOMEM, -ERR_IO (no thread). */
int webhook_new(int64_t pause_ms, struct webhook **ret_webhook, struct err *err);
void webhook_free(struct webhook *webhook);             /* NULL is fine; what waits is dropped */

/* Where to, from the next try on. `url` "": nowhere, and what waits stays. */
void webhook_set(struct webhook *webhook, const char *url, const char *secret_file);

/* Copies the body; `tag` comes back with webhook_done(). -ERR_FULL: try again later. */
int webhook_push(struct webhook *webhook, uint64_t tag, const char *id, const char *body,
                 size_t size, struct err *err);
/* One that was taken, or given up, in order. False: none (more). */
bool webhook_done(struct webhook *webhook, uint64_t *ret_tag);

struct webhook_figures {
        uint64_t posted, failed, given_up;
        int64_t failing_since_ms;       /* Unix time of the first failure since the last success;
                                         * 0: the last try went well, or there was none */
        char failure[200];              /* the newest one; "" where it went well */
};
void webhook_figures(struct webhook *webhook, struct webhook_figures *ret_figures);

/* "t=UNIX,v1=HEX" of the body. */
#define WEBHOOK_SIGNATURE_MAX 96
void webhook_sign(const char *secret, size_t secret_size, int64_t unix_s, const char *body,
                  size_t size, char ret_signature[WEBHOOK_SIGNATURE_MAX]);
