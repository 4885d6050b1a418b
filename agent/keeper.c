#include "agent/keeper.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "agent/say.h"
#include "base/cond.h"
#include "base/doc.h"
#include "base/durable.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "base/time.h"
#include "net/identity.h"
#include "net/token.h"
#include "net/uri.h"
#include "proto/when.h"

#define PATH_ROOM      1280
#define CALL_MS        15000
#define PAUSE_MS_FIRST 1000
#define PAUSE_MS_MAX   600000
#define LOOK_MS        10000            /* at the clock, which may be set, and the token's file */
#define SKEW_MS_SAID   60000            /* a clock that is off by more is said */

struct keeper {
        struct keeper_setup setup;
        char path[PATH_ROOM], path_new[PATH_ROOM];
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

/* ---- the files ---- */

static void take(struct keeper *keeper, const struct identity *identity)
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

/* What is there from before, if anything. */
static int load(struct keeper *keeper, struct err *err)
{
        struct identity identity;
        char *bytes;
        size_t size;
        int rc = file_read(keeper->path, 2 * IDENTITY_PEM_MAX, &bytes, &size, err);

        if (rc == -ERR_NOT_FOUND)
                return keeper->setup.token_file
                               ? 0
                               : err_set(err, ERR_INPUT,
                                         "this node has no certificate yet: 'berth token make "
                                         "--join --node %s' makes what --join-token-file needs",
                                         keeper->setup.node);
        if (rc < 0)
                return rc;
        rc = identity_read(bytes, &identity, err);
        token_wipe(bytes, size);
        mem_free(bytes);
        if (rc < 0)
                return err_prefix(err, "%s", keeper->path);
        if (!str_equal(identity.node, keeper->setup.node))
                return err_set(err, ERR_INPUT,
                               "%s is of node '%s', and this is '%s': each node needs a state "
                               "folder of its own",
                               keeper->path, identity.node, keeper->setup.node);
        take(keeper, &identity);
        return 0;
}

/* The key that is to be certified first: that of the try before, or a new one. It is on the disk
 * before it is shown. */
static int first_key(struct keeper *keeper, char ret_key[IDENTITY_PEM_MAX], struct err *err)
{
        char *bytes, request[IDENTITY_PEM_MAX];
        size_t size;

        if (file_read(keeper->path_new, IDENTITY_PEM_MAX - 1, &bytes, &size, NULL) == 0) {
                bool is_good = identity_request(bytes, request, NULL) == 0 &&
                               str_copy(ret_key, IDENTITY_PEM_MAX, bytes);
                token_wipe(bytes, size);
                mem_free(bytes);
                if (is_good)
                        return 0;
        }
        int rc = identity_key_make(ret_key, err);
        return rc ? rc : durable_write(keeper->path_new, ret_key, strlen(ret_key), 0600, err);
}

static int write_both(struct keeper *keeper, const char *key, const char *certificate,
                      struct err *err)
{
        struct text text = {0};

        text_add(&text, "%s%s", key, certificate);
        int rc = text.failed ? err_set(err, ERR_NOMEM, "out of memory")
                             : durable_write(keeper->path, text.bytes, text.size, 0600, err);
        if (text.bytes)
                token_wipe(text.bytes, text.size);
        text_done(&text);
        if (rc == 0)
                (void)unlink(keeper->path_new);
        return rc;
}

/* ---- the call ---- */

/* For keeper_stop(). False: it came already. */
static bool set_client(struct keeper *keeper, struct client *client)
{
        pthread_mutex_lock(&keeper->lock);
        keeper->client = client;
        bool goes_on = !keeper->is_stopping;
        pthread_mutex_unlock(&keeper->lock);
        return goes_on;
}

/* With the token, or (NULL) the certificate there is. */
static int send_request(struct keeper *keeper, const char *token, const char *body, size_t size,
                        struct client_answer *ret_answer, struct err *err)
{
        struct client_setup setup = keeper->setup.client;
        struct client *client;
        char node[400], path[480];

        setup.token = token;
        setup.certificate_file = setup.key_file = token ? NULL : keeper->path;
        setup.timeout_ms = CALL_MS;
        if (!uri_encode(keeper->setup.node, node, sizeof node))
                return err_set(err, ERR_INPUT, "the node's name is too long");
        snprintf(path, sizeof path, "/v1/nodes/%s/certificate", node);
        const struct client_request request = {
                .method = "POST", .path = path, .body = body, .body_size = size};
        int rc = client_new(&setup, &client, err);
        if (rc < 0)
                return rc;
        rc = set_client(keeper, client) ? client_call(client, &request, ret_answer, err)
                                        : err_set(err, ERR_CANCELLED, "stopped");
        (void)set_client(keeper, NULL);
        client_free(client);
        return rc;
}

/* What is wrong with a clock shows in many ways; the reader is to think of it. */
static void hint_at_clock(struct err *err)
{
        char now[WHEN_TEXT_MAX], text[400];

        if (!strstr(err->text, "not yet valid") && !strstr(err->text, "not activated") &&
            !strstr(err->text, "expired"))
                return;
        snprintf(text, sizeof text, "%s", err->text);
        err_set(err, err->code, "%s (this node's clock says %s: is it right?)", text,
                when_text(time_wall_ms(), now));
}

static int check_times(const struct identity *identity, int64_t their_ms, struct err *err)
{
        int64_t now_ms = time_wall_ms(), skew_ms = now_ms - their_ms;
        char ours[WHEN_TEXT_MAX], theirs[WHEN_TEXT_MAX];

        if (now_ms < identity->from_ms || now_ms >= identity->until_ms)
                return err_set(err, ERR_RANGE,
                               "this node's clock says %s, the controller's %s: no certificate of "
                               "its is valid here; set the clock (chrony or the like)",
                               when_text(now_ms, ours), when_text(their_ms, theirs));
        if (skew_ms > SKEW_MS_SAID || skew_ms < -SKEW_MS_SAID)
                say(SAY_WARN, "clocks differ; set this node's (chrony or the like)",
                    "here=%s controller=%s", when_text(now_ms, ours),
                    when_text(their_ms, theirs));
        return 0;
}

static int read_fields(const struct doc_node *root, const char **ret_certificate,
                       int64_t *ret_their_ms, struct err *err)
{
        const struct doc_node *certificate, *now;
        const char *now_text;
        int rc;

        if ((rc = doc_check_map(root, err)) < 0 ||
            (rc = doc_need(root, "certificate", &certificate, err)) < 0 ||
            (rc = doc_need(root, "now", &now, err)) < 0 ||
            (rc = doc_text(certificate, 1, IDENTITY_PEM_MAX - 1, ret_certificate, err)) < 0 ||
            (rc = doc_text(now, 1, 48, &now_text, err)) < 0)
                return rc;
        return when_parse_local(now_text, NULL, ret_their_ms, err);
}

/* The certificate that came is the node's from here on. */
static int take_answer(struct keeper *keeper, const struct client_answer *answer, const char *key,
                       struct err *err)
{
        const char *certificate = NULL;
        struct identity identity;
        int64_t their_ms = 0;
        struct doc *doc;
        int rc = doc_read_json("answer", answer->body, answer->size, &doc, err);

        if (rc < 0)
                return rc;
        if ((rc = read_fields(doc_root(doc, 0), &certificate, &their_ms, err)) == 0 &&
            (rc = identity_read(certificate, &identity, err)) == 0 &&
            (rc = check_times(&identity, their_ms, err)) == 0) {
                if (!str_equal(identity.node, keeper->setup.node))
                        rc = err_set(err, ERR_INPUT, "the certificate is of node '%s'",
                                     identity.node);
                else
                        rc = write_both(keeper, key, certificate, err);
        }
        doc_free(doc);
        if (rc == 0)
                take(keeper, &identity);
        return rc;
}

/* The status of the answer in *ret_status; 0: there was none. */
static int get_certificate(struct keeper *keeper, const char *token, const char *key,
                           unsigned *ret_status, struct err *err)
{
        struct client_answer answer = {0};
        char request[IDENTITY_PEM_MAX];
        struct text body = {0};
        int rc = identity_request(key, request, err);

        *ret_status = 0;
        if (rc < 0)
                return rc;
        text_add(&body, "{\"request\": ");
        text_add_json(&body, request);
        text_add(&body, "}");
        rc = body.failed ? err_set(err, ERR_NOMEM, "out of memory")
                         : send_request(keeper, token, body.bytes, body.size, &answer, err);
        text_done(&body);
        if (rc == 0) {
                *ret_status = answer.status;
                rc = client_check(&answer, err);
        }
        if (rc == 0)
                rc = take_answer(keeper, &answer, key, err);
        else
                hint_at_clock(err);
        client_answer_done(&answer);
        return rc;
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
                rc = get_certificate(keeper, NULL, key, &status, &err);
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
        int rc = first_key(keeper, key, &err);

        if (rc == 0)
                rc = get_certificate(keeper, token, key, &status, &err);
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
        int rc = load(keeper, err);
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
