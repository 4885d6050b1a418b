#include "agent/keeper.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "agent/keeper_impl.h"
#include "agent/say.h"
#include "base/cond.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/time.h"
#include "net/token.h"
#include "proto/when.h"

#define PAUSE_MS_FIRST 1000
#define PAUSE_MS_MAX   600000
#define LOOK_MS        10000 /* at the clock, which may be set, and the token's file */

int64_t keeper_renew_at_ms(int64_t from_ms, int64_t until_ms, uint32_t chance)
{
        int64_t life_ms = until_ms - from_ms;

        return until_ms - life_ms / 3 - life_ms / 12 * (int64_t)(chance % 1024) / 1024;
}

int keeper_read_token(const char *path, char **ret_token, struct err *err)
{
        size_t size;
        int rc = file_read(path, KEEPER_TOKEN_MAX, ret_token, &size, err);

        if (rc == 0)
                (*ret_token)[strcspn(*ret_token, "\r\n \t")] = '\0';
        return rc;
}

static void free_token(char *token)
{
        if (token)
                token_wipe(token, strlen(token));
        mem_free(token);
}

void keeper_take(struct keeper *keeper, const struct identity *identity)
{
        uint32_t chance = 0;

        if (getrandom(&chance, sizeof chance, GRND_NONBLOCK) < 0)
                chance = (uint32_t)time_monotonic_ms();
        keeper->identity = *identity;
        keeper->renew_at_ms = keeper_renew_at_ms(identity->from_ms, identity->until_ms, chance);
        keeper->is_refused = false;
        keeper->failures = 0;
        keeper->setup.changed(keeper->setup.arg);
}

/* ---- what is to be done ---- */

static void pause_after_failure(struct keeper *keeper)
{
        unsigned doublings = keeper->failures < 16 ? keeper->failures : 16;
        int64_t pause_ms = (int64_t)PAUSE_MS_FIRST << doublings;
        int64_t left_ms = keeper->identity.until_ms - time_wall_ms();

        if (pause_ms > PAUSE_MS_MAX)
                pause_ms = PAUSE_MS_MAX;
        /* Some tries before it runs out, however short its life. */
        if (left_ms > 0 && pause_ms > left_ms / 8)
                pause_ms = left_ms / 8 > PAUSE_MS_FIRST ? left_ms / 8 : PAUSE_MS_FIRST;
        keeper->failures++;
        keeper->try_at_ms = time_monotonic_ms() + pause_ms;
}

static void renew(struct keeper *keeper)
{
        char key[IDENTITY_PEM_MAX], until[WHEN_TEXT_MAX];
        unsigned status = 0;
        struct err err = {0};
        int rc = identity_key_make(key, &err);

        if (rc == 0)
                rc = keeper_get_certificate(keeper, NULL, key, &status, &err);
        token_wipe(key, sizeof key);
        if (rc == 0) {
                say(SAY_INFO, "certificate renewed", "until=%s",
                    when_text(keeper->identity.until_ms, until));
                return;
        }
        keeper->is_refused = status == 401 || status == 403;
        say(SAY_WARN,
            keeper->is_refused ? "certificate refused" : "certificate not renewed; it goes on",
            "until=%s error=\"%s\"", when_text(keeper->identity.until_ms, until), err.text);
        pause_after_failure(keeper);
}

static void say_lost(struct keeper *keeper, const char *why)
{
        char until[WHEN_TEXT_MAX] = "";

        if (keeper->was_said)
                return;
        keeper->was_said = true;
        if (keeper->identity.until_ms)
                when_text(keeper->identity.until_ms, until);
        say(SAY_ERROR, "not enrolled; runs go on, and nothing new is heard of",
            "certificate_until=%s why=\"%s\" do=\"berth token make --join --node %s, its text into "
            "the file of --join-token-file\"",
            until, why, keeper->setup.node);
}

/* The token in the file; NULL: there is none that would help. */
static char *fresh_token(struct keeper *keeper)
{
        char *token;
        struct err err = {0};

        if (!keeper->setup.token_file) {
                say_lost(keeper, "no --join-token-file is given");
                return NULL;
        }
        if (keeper_read_token(keeper->setup.token_file, &token, &err) < 0) {
                say_lost(keeper, err.text);
                return NULL;
        }
        if (token[0] && (!keeper->refused_token || !str_equal(token, keeper->refused_token)))
                return token;
        say_lost(keeper, token[0] ? "the token in the file was refused before"
                                  : "the file holds no token");
        free_token(token);
        return NULL;
}

static void enrol(struct keeper *keeper, char *token)
{
        char key[IDENTITY_PEM_MAX], until[WHEN_TEXT_MAX];
        unsigned status = 0;
        struct err err = {0};
        int rc = keeper_first_key(keeper, key, &err);

        if (rc == 0)
                rc = keeper_get_certificate(keeper, token, key, &status, &err);
        token_wipe(key, sizeof key);
        if (rc == 0) {
                keeper->was_said = false;
                free_token(token);
                say(SAY_INFO, "enrolled", "node=%s enrolment=%" PRIu64 " until=%s",
                    keeper->setup.node, keeper->identity.enrolment,
                    when_text(keeper->identity.until_ms, until));
                return;
        }
        say(SAY_ERROR, "not enrolled", "error=\"%s\"", err.text);
        /* What a token is refused for does not pass; what else is wrong may be put right. */
        bool is_final = status == 401 || status == 403 || status == 409;
        if (is_final) {
                free_token(keeper->refused_token);
                keeper->refused_token = token;
        } else {
                free_token(token);
        }
        pause_after_failure(keeper);
}

/* Somebody may have put right what was wrong: all is tried, and said, anew. */
static bool take_doubt(struct keeper *keeper)
{
        pthread_mutex_lock(&keeper->lock);
        bool is_doubted = keeper->is_doubted;
        keeper->is_doubted = false;
        pthread_mutex_unlock(&keeper->lock);
        if (!is_doubted)
                return false;
        free_token(keeper->refused_token);
        keeper->refused_token = NULL;
        keeper->was_said = false;
        return true;
}

static void step(struct keeper *keeper)
{
        int64_t now_ms = time_wall_ms();
        bool is_doubted = take_doubt(keeper);

        if (!is_doubted && time_monotonic_ms() < keeper->try_at_ms)
                return;
        bool is_good = !keeper->is_refused && now_ms < keeper->identity.until_ms;
        if (is_good && !is_doubted && now_ms < keeper->renew_at_ms)
                return;
        if (is_doubted && keeper->identity.until_ms > now_ms)
                is_good = true;
        if (is_good)
                renew(keeper);
        if (is_good && !keeper->is_refused)
                return;
        char *token = fresh_token(keeper);
        if (token)
                enrol(keeper, token);
}

/* ---- the thread ---- */

static int64_t wait_ms(const struct keeper *keeper)
{
        int64_t wait_ms = LOOK_MS, until_try_ms = keeper->try_at_ms - time_monotonic_ms(),
                until_renewal_ms = keeper->renew_at_ms - time_wall_ms();

        if (until_try_ms > 0 && until_try_ms < wait_ms)
                wait_ms = until_try_ms;
        if (until_renewal_ms > 0 && until_renewal_ms < wait_ms)
                wait_ms = until_renewal_ms;
        return wait_ms;
}

static void wait_a_while(struct keeper *keeper)
{
        int64_t until_ms = time_monotonic_ms() + wait_ms(keeper);

        while (!keeper->is_stopping && !keeper->is_doubted &&
               cond_wait_until(&keeper->changed, &keeper->lock, until_ms))
                ;
}

static void *keep(void *arg)
{
        struct keeper *keeper = arg;

        pthread_mutex_lock(&keeper->lock);
        while (!keeper->is_stopping) {
                pthread_mutex_unlock(&keeper->lock);
                step(keeper);
                pthread_mutex_lock(&keeper->lock);
                wait_a_while(keeper);
        }
        pthread_mutex_unlock(&keeper->lock);
        return NULL;
}

int keeper_start(const struct keeper_setup *setup, struct keeper **ret_keeper, struct err *err)
{
        struct keeper *keeper = mem_new(1, sizeof *keeper);

        if (!keeper)
                return err_set(err, ERR_NOMEM, "out of memory");
        keeper->setup = *setup;
        pthread_mutex_init(&keeper->lock, NULL);
        cond_init(&keeper->changed);
        snprintf(keeper->path, sizeof keeper->path, "%s/" KEEPER_IDENTITY, setup->state);
        snprintf(keeper->path_new, sizeof keeper->path_new, "%s/identity.new", setup->state);
        int rc = keeper_load(keeper, err);
        if (rc == 0 && pthread_create(&keeper->thread, NULL, keep, keeper) != 0)
                rc = err_set(err, ERR_IO, "no thread can be started");
        keeper->is_started = rc == 0;
        if (rc < 0)
                keeper_stop(keeper);
        else
                *ret_keeper = keeper;
        return rc;
}

void keeper_doubt(struct keeper *keeper)
{
        if (!keeper)
                return;
        pthread_mutex_lock(&keeper->lock);
        keeper->is_doubted = true;
        pthread_cond_signal(&keeper->changed);
        pthread_mutex_unlock(&keeper->lock);
}

void keeper_stop(struct keeper *keeper)
{
        if (!keeper)
                return;
        pthread_mutex_lock(&keeper->lock);
        keeper->is_stopping = true;
        if (keeper->client)
                client_stop(keeper->client);
        pthread_cond_signal(&keeper->changed);
        pthread_mutex_unlock(&keeper->lock);
        if (keeper->is_started)
                pthread_join(keeper->thread, NULL);
        pthread_cond_destroy(&keeper->changed);
        pthread_mutex_destroy(&keeper->lock);
        free_token(keeper->refused_token);
        mem_free(keeper);
}
