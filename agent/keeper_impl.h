/* keeper_impl.h - shared by keeper.c (the thread; what is to be done), keeper_call.c (asking the
 * controller) and keeper_files.c (what lies in the state folder). All of it in the keeper's thread,
 * but keeper_load(). 0 or a negative code.
 */
#pragma once

#include <pthread.h>

#include "agent/keeper.h"
#include "net/identity.h"

#define KEEPER_PATH_ROOM 1280

struct keeper {
        struct keeper_setup setup;
        char path[KEEPER_PATH_ROOM], path_new[KEEPER_PATH_ROOM];
        pthread_t thread;
        bool is_started;

        /* The thread's own: */
        struct identity identity;       /* until_ms 0: none */
        int64_t renew_at_ms, try_at_ms; /* the latter on the steady clock */
        unsigned failures;              /* in a row */
        char *refused_token;            /* not shown again; NULL: none */
        bool is_refused;                /* the certificate is: only a token helps */
        bool was_said;                  /* that there is nothing to enrol with */

        pthread_mutex_t lock;           /* of all below */
        pthread_cond_t changed;
        bool is_stopping, is_doubted;
        struct client *client;          /* in a call; NULL: in none */
};

/* keeper.c: this certificate, which lies in the file, is the node's from here on. */
void keeper_take(struct keeper *keeper, const struct identity *identity);

/* keeper_files.c: takes what is there from before, if anything. */
int keeper_load(struct keeper *keeper, struct err *err);
/* The key that is to be certified first: that of the try before, or a new one. It is on the disk
 * before it is shown. */
int keeper_first_key(struct keeper *keeper, char ret_key[IDENTITY_PEM_MAX], struct err *err);
int keeper_write_both(struct keeper *keeper, const char *key, const char *certificate,
                      struct err *err);

/* keeper_call.c: a certificate for the key, by the token or (NULL) the certificate there is; it is
 * written and taken. The status of the answer in *ret_status; 0: there was none. */
int keeper_get_certificate(struct keeper *keeper, const char *token, const char *key,
                           unsigned *ret_status, struct err *err);
