/* keeper.h - keeps the node's certificate: gets the first one by a join token, and each next one in
 * time.
 *
 * Not pure: network, the state folder, and a thread of its own. Functions are called from the
 * agent's. Key and certificate lie in one file, so that they cannot come apart:
 *
 *     STATE/identity.pem   the key, and its certificate: what is shown to the controller
 *     STATE/identity.new   a key without one yet: the same is shown again when an answer was lost
 *
 * A certificate is renewed, with a new key, when two thirds of its life are over, a little earlier
 * by chance, so that nodes which enrolled together do not come together. Whatever fails is said and
 * tried again; the old one goes on to its end. One that has run out, or that the controller
 * refuses, is replaced by a join token, where the token's file has one that was not refused.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "net/client.h"

struct err;
struct keeper;

#define KEEPER_IDENTITY  "identity.pem"
#define KEEPER_TOKEN_MAX 4096           /* bytes of a token's file */

struct keeper_setup {
        struct client_setup client;     /* whom to ask, and whom to believe; who we are is added */
        const char *node;               /* borrowed, as all is */
        const char *state;              /* the state folder, which is there */
        const char *token_file;         /* NULL: none */
        /* There is another certificate in the file. From either thread. */
        void (*changed)(void *arg);
        void *arg;
};

/* With a certificate that is good, `changed` is called at once. 0; -ERR_INPUT: there is neither a
 * certificate nor a token's file, or the certificate is another node's; -ERR_IO, -ERR_NOMEM. */
int keeper_start(const struct keeper_setup *setup, struct keeper **ret_keeper, struct err *err);
void keeper_stop(struct keeper *keeper);                /* NULL is fine */

/* The controller refuses the certificate, or somebody wants a new one: it is renewed now, or the
 * node enrols anew. NULL is fine. */
void keeper_doubt(struct keeper *keeper);

/* When a certificate is to be renewed: at two thirds of its life, and by up to a twelfth of it
 * earlier. `chance` is any number. Pure. */
int64_t keeper_renew_at_ms(int64_t from_ms, int64_t until_ms, uint32_t chance);

/* The token that stands in the file, alone. *ret_token is freed with mem_free(). As file_read(). */
int keeper_read_token(const char *path, char **ret_token, struct err *err);
