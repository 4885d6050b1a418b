#include "cli/talk.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/str.h"
#include "base/text.h"
#include "cli/stop.h"
#include "net/client.h"
#include "net/token.h"
#include "net/uri.h"

#define UNIX_SCHEME "unix:"
#define KEY_BYTES   16
#define KEY_MAX     (2 * KEY_BYTES + 1)
#define TRIES       3
#define PAUSE_MS    300
#define ENCODED_MAX (3 * URI_VALUE_MAX)

/* ---- opening and closing ---- */

static const char *or_null(const char *text)
{
        return text[0] ? text : NULL;
}

static enum exit_code code_of(int rc)
{
        switch ((enum err_code) - rc) {
        case ERR_INPUT:
        case ERR_RANGE:
        case ERR_NOT_FOUND: /* a file, a context: what the pool lacks has a code of its own */
                return EXIT_BAD_INPUT;
        case ERR_IO:
        case ERR_CANCELLED:
        case ERR_FULL:
        case ERR_EXISTS:
                return EXIT_NO_ANSWER;
        case ERR_DENIED:
        case ERR_QUARANTINED:
        case ERR_LIMIT:
                return EXIT_REFUSED;
        case ERR_NOMEM:
        case ERR_OK:
        case ERR_CODES_END:
                break;
        }
        return EXIT_TROUBLE;
}

static int make_client(const struct place *place, int64_t silence_ms_max,
                       struct client **ret_client, struct err *err)
{
        char token[TOKEN_TEXT_MAX] = "";
        int rc = place->token_file[0] ? place_token(place->token_file, token, sizeof token, err)
                                      : 0;

        if (rc == 0) {
                const struct client_setup setup = {
                        .url = place->url,
                        .token = or_null(token),
                        .ca_file = or_null(place->ca_file),
                        .pin = or_null(place->pin),
                        .certificate_file = or_null(place->certificate),
                        .key_file = or_null(place->key),
                        .silence_ms_max = silence_ms_max,
                };
                rc = client_new(&setup, ret_client, err);
        }
        token_wipe(token, sizeof token);
        return rc;
}

int talk_open_quiet(const struct command_call *call, int64_t silence_ms_max, struct talk *ret_live,
                    struct err *err)
{
        struct talk talk = {.call = call, .screen = screen_look()};
        int rc = place_choose(command_value(call, "context"), &talk.place, err);

        if (rc == 0)
                rc = make_client(&talk.place, silence_ms_max, &talk.client, err);
        *ret_live = talk;
        return rc;
}

int talk_second(const struct talk *talk, struct client **ret_client, struct err *err)
{
        return make_client(&talk->place, 0, ret_client, err);
}

int talk_open(const struct command_call *call, struct talk *ret_live, struct err *err)
{
        return talk_open_quiet(call, 0, ret_live, err);
}

int talk_close(struct talk *talk, int rc, const struct err *err)
{
        if (rc < 0 && talk->code == EXIT_FINE)
                talk->code = stop_asked() ? EXIT_STOPPED : code_of(rc);
        if (rc < 0 && !(talk->code == EXIT_STOPPED && rc == -ERR_CANCELLED))
                fprintf(stderr, "berth %s: %s\n", talk->call->command->name, err->text);
        client_free(talk->client);
        talk->client = NULL;
        return (int)talk->code;
}

/* ---- requests ---- */

/* What is the matter with a socket; for TCP what the network said. */
static const char *reason_of(const struct talk *talk, const struct err *err)
{
        const char *path = talk->place.url + strlen(UNIX_SCHEME);

        if (strncmp(talk->place.url, UNIX_SCHEME, strlen(UNIX_SCHEME)) != 0 ||
            err->code == ERR_CANCELLED)
                return err->text;
        if (access(path, W_OK) == 0)
                return "the socket is there";
        return errno == ENOENT ? "there is no such socket" : strerror(errno);
}

/* Nobody answered: says where, and what may be the matter. */
static int no_answer(struct talk *talk, int rc, struct err *err)
{
        char text[sizeof err->text];

        if (stop_asked()) {
                talk->code = EXIT_STOPPED;
                return rc;
        }
        if (rc != -ERR_IO && rc != -ERR_CANCELLED)
                return rc;
        talk->code = EXIT_NO_ANSWER;
        (void)str_copy(text, sizeof text, reason_of(talk, err));
        return err_set(err, ERR_IO, "nobody answers at %s%s%s (%s); is berthd running? %s",
                       talk->place.url, talk->place.name[0] ? ", context " : "", talk->place.name,
                       text,
                       talk->place.name[0] ? "`berth context list` shows other pools"
                                           : "Another pool is chosen by --context or BERTH_URL");
}

/* What the server refused: its sentence, and the exit code. */
static int check(struct talk *talk, const struct client_answer *answer, struct err *err)
{
        int rc = client_check(answer, err);

        if (rc == 0)
                return 0;
        switch (answer->status) {
        case 400:
        case 413:
        case 414:
        case 415:
        case 422:
        case 431:
                talk->code = EXIT_BAD_INPUT;
                break;
        case 404:
        case 410:
                talk->code = EXIT_NOT_FOUND;
                break;
        case 401:
        case 403:
        case 405:
        case 409:
        case 412:
        case 428:
                talk->code = EXIT_REFUSED;
                break;
        default:
                talk->code = EXIT_NO_ANSWER;
        }
        if (answer->status == 401 && !talk->place.token_file[0])
                err_set(err, ERR_IO, "%s",
                        "the pool does not know who asks; name a file with your "
                        "token in BERTH_TOKEN_FILE, or by `berth context set NAME --token-file`");
        return rc;
}

/* What came of a call that ended with `rc`; of a refusal no answer is left. */
static int settle(struct talk *talk, int rc, struct client_answer *answer, struct err *err)
{
        if (rc < 0)
                return no_answer(talk, rc, err);
        rc = check(talk, answer, err);
        if (rc < 0)
                client_answer_done(answer);
        return rc;
}

int talk_get(struct talk *talk, const char *path, struct client_answer *ret_answer, struct err *err)
{
        const struct client_request request = {.path = path};
        int rc = client_call(talk->client, &request, ret_answer, err);

        return settle(talk, rc, ret_answer, err);
}

static int make_key(char ret_key[KEY_MAX], struct err *err)
{
        unsigned char bytes[KEY_BYTES];

        if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
                return err_set(err, ERR_IO, "no random bytes: %s", strerror(errno));
        for (size_t i = 0; i < sizeof bytes; i++)
                snprintf(ret_key + 2 * i, 3, "%02x", bytes[i]);
        return 0;
}

int talk_send(struct talk *talk, const struct talk_change *change, struct client_answer *ret_answer,
              struct err *err)
{
        char key[KEY_MAX];
        int rc = make_key(key, err);
        const struct client_request request = {
                .method = change->method,
                .path = change->path,
                .type = change->type,
                .body = change->body,
                .body_size = change->body_size,
                .idempotency_key = key,
                .if_match = change->if_match,
                .reason = change->reason,
        };

        if (rc == 0 && change->reason && strpbrk(change->reason, "\r\n"))
                rc = err_set(err, ERR_INPUT, "a reason is one line; write it without line breaks");
        if (rc < 0)
                return rc;
        /* The key makes a second sending harmless: it gets the first one's answer. */
        for (unsigned t = 1;; t++) {
                rc = client_call(talk->client, &request, ret_answer, err);
                bool is_busy = rc == 0 && ret_answer->status == 503;
                if ((rc != -ERR_IO && !is_busy) || t == TRIES || stop_asked())
                        break;
                if (is_busy)
                        client_answer_done(ret_answer);
                stop_pause_ms(PAUSE_MS);
        }
        return settle(talk, rc, ret_answer, err);
}

/* ---- answers ---- */

int talk_parse(struct talk *talk, const struct client_answer *answer, json_t **ret_value,
               struct err *err)
{
        json_error_t error;
        json_t *value = json_loadb(answer->body, answer->size, JSON_REJECT_DUPLICATES, &error);

        if (!value) {
                talk->code = EXIT_NO_ANSWER;
                (void)str_make_fit(error.text, strlen(error.text), false);
                return err_set(err, ERR_IO, "%s answered what is no JSON (%s); is berthd there?",
                               talk->place.url, error.text);
        }
        *ret_value = value;
        return 0;
}

int talk_get_json(struct talk *talk, const char *path, json_t **ret_value, struct err *err)
{
        struct client_answer answer = {0};
        int rc = talk_get(talk, path, &answer, err);

        if (rc == 0)
                rc = talk_parse(talk, &answer, ret_value, err);
        client_answer_done(&answer);
        return rc;
}

void talk_put(const struct client_answer *answer, FILE *file)
{
        fwrite(answer->body, 1, answer->size, file);
        if (answer->size > 0 && answer->body[answer->size - 1] != '\n')
                fputc('\n', file);
}

bool talk_is_json(const struct talk *talk)
{
        for (const struct command_option *option = talk->call->command->options; option->name;
             option++)
                if (strcmp(option->name, "json") == 0)
                        return command_value(talk->call, "json");
        return false;
}

static int put(struct talk *talk, const struct client_answer *answer, talk_printer *print,
               struct err *err)
{
        json_t *value = NULL;

        if (talk_is_json(talk)) {
                talk_put(answer, stdout);
                return 0;
        }
        if (!print)
                return 0;
        int rc = talk_parse(talk, answer, &value, err);
        if (rc == 0)
                rc = print(value, talk, stdout, err);
        json_decref(value);
        return rc;
}

/* ---- whole commands ---- */

int talk_show(const struct command_call *call, struct text *path, talk_printer *print)
{
        struct client_answer answer = {0};
        struct err err = {0};
        struct talk talk;
        int rc = talk_open(call, &talk, &err);

        if (rc == 0 && path->failed)
                rc = err_set(&err, ERR_RANGE, "what is asked for is too long");
        if (rc == 0)
                rc = talk_get(&talk, path->bytes, &answer, &err);
        if (rc == 0)
                rc = put(&talk, &answer, print, &err);
        client_answer_done(&answer);
        text_done(path);
        return talk_close(&talk, rc, &err);
}

int talk_show_text(const struct command_call *call, struct text *path)
{
        struct client_answer answer = {0};
        struct err err = {0};
        struct talk talk;
        int rc = talk_open(call, &talk, &err);

        talk_path_query(path, "format", talk_is_json(&talk) ? "json" : "text");
        if (rc == 0 && path->failed)
                rc = err_set(&err, ERR_RANGE, "what is asked for is too long");
        if (rc == 0)
                rc = talk_get(&talk, path->bytes, &answer, &err);
        if (rc == 0 && talk_is_json(&talk))
                talk_put(&answer, stdout);
        else if (rc == 0)
                screen_put_wrapped(answer.body, str_make_fit(answer.body, answer.size, true),
                                   talk.screen.width, stdout);
        client_answer_done(&answer);
        text_done(path);
        return talk_close(&talk, rc, &err);
}

int talk_act(const struct command_call *call, const struct talk_change *change, talk_printer *print)
{
        struct client_answer answer = {0};
        struct err err = {0};
        struct talk talk;
        int rc = talk_open(call, &talk, &err);

        if (rc == 0)
                rc = talk_send(&talk, change, &answer, &err);
        if (rc == 0)
                rc = put(&talk, &answer, print, &err);
        client_answer_done(&answer);
        return talk_close(&talk, rc, &err);
}

static int check_member(const char *member, struct err *err)
{
        uint64_t number;
        int rc = member ? num_u64(member, 0, TALK_MEMBERS_MAX - 1, &number, err) : 0;

        return rc < 0 ? err_prefix(err, "--member") : 0;
}

int talk_with_member(const struct command_call *call, talk_body *body)
{
        struct err err = {0};
        struct talk talk;
        int rc = talk_open(call, &talk, &err);

        if (rc == 0)
                rc = check_member(command_value(call, "member"), &err);
        if (rc == 0) {
                stop_catch(talk.client);
                rc = body(&talk, &err);
        }
        return talk_close(&talk, rc, &err);
}

/* ---- paths ---- */

static void add_encoded(struct text *path, const char *value)
{
        char encoded[ENCODED_MAX];

        if (uri_encode(value, encoded, sizeof encoded))
                text_add(path, "%s", encoded);
        else
                path->failed = true;
}

void talk_path_segment(struct text *path, const char *segment)
{
        text_add(path, "/");
        add_encoded(path, segment);
}

void talk_path_query(struct text *path, const char *name, const char *value)
{
        if (!value)
                return;
        bool is_first = !path->bytes || !strchr(path->bytes, '?');
        text_add(path, "%c%s=", is_first ? '?' : '&', name);
        add_encoded(path, value);
}

void talk_path_option(struct text *path, const struct command_call *call, const char *option)
{
        talk_path_query(path, option, command_value(call, option));
}
