#include "cli/tokens.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/json_in.h"
#include "cli/json_out.h"
#include "cli/listing.h"
#include "net/client.h"
#include "net/token.h"

static const struct command_option options[] = {
        {"principal", 0, "NAME", "make: who it speaks for; the default is yourself"},
        {"role", 0, "ROLE", "make: viewer, submitter, manager; auditor, operator; agent of a node"},
        {"node", 0, "NODE", "make: of --role agent: the one node that it may speak for"},
        {"tenant", 't', "PATH", "make: of this tenant and those below it"},
        {"expires", 0, "TIME", "make: valid until then: 2027-06-30, or 2027-01-04T08:00Z"},
        {"out", 'o', "FILE", "make: write the token there (yours alone), not to the output"},
        COMMAND_LIVE_OPTIONS,
        {0},
};

static const char details[] =
        "make    a bearer token; its text is told this once, and never again\n"
        "list    the tokens that you may see, without their texts\n"
        "revoke  a token is worth nothing from now on\n"
        "\n"
        "A token goes into a file that only its owner can read; BERTH_TOKEN_FILE or\n"
        "`berth context set NAME --token-file FILE` names it.\n"
        "\n"
        "examples:\n"
        "  berth token make --principal ana --role submitter --tenant research/nlp --out "
        "ana.token\n"
        "  berth token make --role agent --node gpu-01 --out gpu-01.token\n"
        "  berth token list\n"
        "  berth token revoke 12\n";

/* ---- make ---- */

/* A new file, so that nobody has it open, or may read it. */
static int write_secret(const char *path, const char *secret, struct err *err)
{
        int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        struct text text = {0};

        if (fd < 0)
                return err_set(err, errno == EEXIST ? ERR_INPUT : ERR_IO,
                               "%s: %s; the token was made, and is lost: revoke it", path,
                               strerror(errno));
        text_add(&text, "%s\n", secret);
        bool is_written = !text.failed && write(fd, text.bytes, text.size) == (ssize_t)text.size &&
                          fsync(fd) == 0;
        if (text.bytes)
                token_wipe(text.bytes, text.size);
        text_done(&text);
        return close(fd) == 0 && is_written
                       ? 0
                       : err_set(err, ERR_IO,
                                 "%s could not be written: the token is lost; revoke it", path);
}

static int put_token(struct talk *talk, const struct client_answer *answer, struct err *err)
{
        const char *out = command_value(talk->call, "out");
        char id[JSON_IN_MAX];
        json_t *value = NULL;
        int rc = talk_parse(talk, answer, &value, err);

        if (rc == 0 && !json_in_text(value, "token")[0])
                rc = err_set(err, ERR_IO, "the answer holds no token");
        if (rc == 0 && out)
                rc = write_secret(out, json_in_text(value, "token"), err);
        if (rc == 0 && !out)
                printf("%s\n", json_in_text(value, "token"));
        if (rc == 0 && json_in_has(value, "id"))
                fprintf(stderr, "token %s%s%s; `berth token revoke %s` ends it\n",
                        json_in_words(value, "id", id), out ? " is in " : "", out ? out : "", id);
        json_decref(value);
        return rc;
}

/* Before anything is made: where it is to go. */
static int check_out(const struct command_call *call, struct err *err)
{
        const char *out = command_value(call, "out");

        if (!out || access(out, F_OK) != 0)
                return 0;
        return err_set(err, ERR_INPUT, "--out %s: is there already; name a new file", out);
}

static int make(const struct command_call *call, const char *path, json_t *body)
{
        struct client_answer answer = {0};
        struct err err = {0};
        struct talk talk;
        char *text = NULL;
        size_t size = 0;
        int rc = talk_open(call, &talk, &err);

        if (rc == 0)
                rc = check_out(call, &err);
        if (rc == 0)
                rc = json_out_add(json_incref(body), JSON_COMPACT, &text, &size, &err);
        if (rc == 0) {
                const struct talk_change change = {
                        .method = "POST", .path = path, .body = text, .body_size = size};
                rc = talk_send(&talk, &change, &answer, &err);
        }
        if (rc == 0 && talk_is_json(&talk))
                talk_put(&answer, stdout);
        else if (rc == 0)
                rc = put_token(&talk, &answer, &err);
        if (answer.body)
                token_wipe(answer.body, answer.size);
        client_answer_done(&answer);
        mem_free(text);
        json_decref(body);
        return talk_close(&talk, rc, &err);
}

static int run_make(const struct command_call *call)
{
        static const char *const keys[] = {"principal", "role", "tenant", "node", "expires"};
        json_t *body = json_object();

        for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
                const char *value = command_value(call, keys[i]);
                if (value)
                        json_object_set_new(body, keys[i], json_string(value));
        }
        return make(call, "/v1/tokens", body);
}

/* ---- list, revoke ---- */

int tokens_print(const json_t *answer, const struct talk *talk, FILE *file, struct err *err)
{
        static const struct listing_column columns[] = {
                {"id", "id", LISTING_TEXT},           {"principal", "principal", LISTING_TEXT},
                {"role", "role", LISTING_TEXT},       {"tenant", "tenant", LISTING_TEXT},
                {"expires", "expires", LISTING_TEXT}, {"made", "made", LISTING_TEXT},
                {"used", "last used", LISTING_TEXT},  {0},
        };

        return listing_print(json_object_get(answer, "tokens"), columns, 1,
                             "there is no token that you may see", &talk->screen, file, err);
}

static int run_list(const struct command_call *call)
{
        struct text path = {0};

        text_add(&path, "/v1/tokens");
        return talk_show(call, &path, tokens_print);
}

static int run_revoke(const struct command_call *call)
{
        struct text path = {0};

        text_add(&path, "/v1/tokens");
        talk_path_segment(&path, call->arguments[0]);
        const struct talk_change change = {.method = "DELETE",
                                           .path = path.failed ? "" : path.bytes};
        int code = talk_act(call, &change, NULL);
        if (code == EXIT_FINE && !command_value(call, "json"))
                printf("token %s is worth nothing from now on\n", call->arguments[0]);
        text_done(&path);
        return code;
}

static const struct command_action actions[] = {
        {"make", "", 0, 0, run_make},
        {"list", "", 0, 0, run_list},
        {"revoke", "ID", 1, 1, run_revoke},
        {0},
};

const struct command token_command = {
        .name = "token",
        .group = GROUP_OPERATE,
        .is_live = true,
        .summary = "make, list and revoke bearer tokens",
        .details = details,
        .options = options,
        .actions = actions,
};
