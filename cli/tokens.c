#include "cli/tokens.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "cli/json_in.h"
#include "cli/json_out.h"
#include "cli/listing.h"
#include "net/client.h"
#include "net/token.h"
#include "proto/hostlist.h"

#define NODES_MAX 4096 /* in one go */

static const struct command_option options[] = {
        {"principal", 0, "NAME", "make: who it speaks for; the default is yourself"},
        {"role", 0, "ROLE", "make: viewer, submitter, tenant-admin; auditor, operator; agent"},
        {"join", 0, NULL, "make: lets a node enrol, once; good for an hour where nothing is said"},
        {"node", 0, "NODE", "make, revoke: of this node (--join, --role agent); its certificates"},
        {"nodes", 0, "LIST", "make: with --join: one for each of gpu-[01-04]"},
        {"tenant", 't', "PATH", "make: of this tenant and those below it"},
        {"expires", 0, "TIME", "make: valid until then: 2027-01-04T08:00Z, or for so long: 30d"},
        {"out", 'o', "FILE", "make: write it there (yours alone); with --nodes: into this folder"},
        COMMAND_LIVE_OPTIONS,
        {0},
};

static const char details[] =
        "make    a bearer token; its text is told this once, and never again\n"
        "list    the tokens that you may see, without their texts\n"
        "revoke  a token is worth nothing from now on; --node: nor are the node's certificates\n"
        "\n"
        "A token goes into a file that only its owner can read; BERTH_TOKEN_FILE or\n"
        "`berth context set NAME --token-file FILE` names it.\n"
        "\n"
        "examples:\n"
        "  berth token make --principal ana --role submitter --tenant research/nlp --out "
        "ana.token\n"
        "  berth token make --join --node gpu-01 --out gpu-01.token\n"
        "  berth token make --join --nodes 'gpu-[01-04]' --expires 2h --out tokens\n"
        "  berth token make --role agent --node gpu-01 --out gpu-01.token\n"
        "  berth token list\n"
        "  berth token revoke 12\n"
        "  berth token revoke --node gpu-01\n";

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

/* One that is to be made, and where it goes. */
struct making {
        struct talk *talk;
        json_t *body;                   /* owned */
        const char *node;               /* of several; NULL: there is only this one */
        char out[PATH_MAX];             /* "": to the output */
};

static int put_token(const struct making *making, const struct client_answer *answer,
                     struct err *err)
{
        const char *out = making->out;
        char id[JSON_IN_MAX];
        json_t *value = NULL;
        int rc = talk_parse(making->talk, answer, &value, err);

        if (rc == 0 && !json_in_text(value, "token")[0])
                rc = err_set(err, ERR_IO, "the answer holds no token");
        if (rc == 0 && out[0])
                rc = write_secret(out, json_in_text(value, "token"), err);
        if (rc == 0 && !out[0])
                printf("%s%s%s\n", making->node ? making->node : "", making->node ? " " : "",
                       json_in_text(value, "token"));
        if (rc == 0 && json_in_has(value, "id"))
                fprintf(stderr, "token %s%s%s; `berth token revoke %s` ends it\n",
                        json_in_words(value, "id", id), out[0] ? " is in " : "", out, id);
        json_decref(value);
        return rc;
}

/* Before anything is made: where it is to go. */
static int check_out(const char *out, struct err *err)
{
        if (!out[0] || access(out, F_OK) != 0)
                return 0;
        return err_set(err, ERR_INPUT, "--out %s: is there already; name a new file", out);
}

static int make(const struct making *making, struct err *err)
{
        struct client_answer answer = {0};
        char *text = NULL;
        size_t size = 0;
        int rc = check_out(making->out, err);

        if (rc == 0)
                rc = json_out_add(json_incref(making->body), JSON_COMPACT, &text, &size, err);
        if (rc == 0) {
                const struct talk_change change = {
                        .method = "POST", .path = "/v1/tokens", .body = text, .body_size = size};
                rc = talk_send(making->talk, &change, &answer, err);
        }
        if (rc == 0 && talk_is_json(making->talk))
                talk_put(&answer, stdout);
        else if (rc == 0)
                rc = put_token(making, &answer, err);
        if (answer.body)
                token_wipe(answer.body, answer.size);
        client_answer_done(&answer);
        mem_free(text);
        return rc;
}

static json_t *body_of(const struct command_call *call)
{
        static const char *const keys[] = {"principal", "role", "tenant", "node", "expires"};
        json_t *body = json_object();

        for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
                const char *value = command_value(call, keys[i]);
                if (value)
                        json_object_set_new(body, keys[i], json_string(value));
        }
        if (command_value(call, "join"))
                json_object_set_new(body, "role", json_string("join"));
        return body;
}

/* A hostlist_take. */
static int make_for(void *arg, const char *node, struct err *err)
{
        struct making *making = arg;
        const char *folder = command_value(making->talk->call, "out");

        if (folder && snprintf(making->out, sizeof making->out, "%s/%s.token", folder, node) >=
                              (int)sizeof making->out)
                return err_set(err, ERR_INPUT, "--out: the path is too long");
        making->node = node;
        json_object_set_new(making->body, "node", json_string(node));
        return make(making, err);
}

static int make_all(struct making *making, const char *nodes, struct err *err)
{
        const char *out = command_value(making->talk->call, "out");

        if (!nodes)
                return out && !str_copy(making->out, sizeof making->out, out)
                               ? err_set(err, ERR_INPUT, "--out: the path is too long")
                               : make(making, err);
        if (out && mkdir(out, 0700) < 0 && errno != EEXIST)
                return err_set(err, ERR_INPUT, "--out %s: %s", out, strerror(errno));
        return hostlist_expand(nodes, NODES_MAX, make_for, making, err);
}

static int check_make(const struct command_call *call, struct err *err)
{
        bool joins = command_value(call, "join") != NULL;
        bool one = command_value(call, "node") != NULL, more = command_value(call, "nodes") != NULL;

        if (joins && command_value(call, "role"))
                return err_set(err, ERR_INPUT, "--join is a role itself: it goes without --role");
        if (more && !joins)
                return err_set(err, ERR_INPUT, "--nodes goes with --join");
        if (joins && one == more)
                return err_set(err, ERR_INPUT,
                               "--join: for which node? --node gpu-01, or --nodes 'gpu-[01-04]'");
        return 0;
}

static int run_make(const struct command_call *call)
{
        struct making making = {0};
        struct err err = {0};
        struct talk talk;
        int rc = talk_open(call, &talk, &err);

        making.talk = &talk;
        making.body = body_of(call);
        if (rc == 0)
                rc = check_make(call, &err);
        if (rc == 0)
                rc = make_all(&making, command_value(call, "nodes"), &err);
        json_decref(making.body);
        return talk_close(&talk, rc, &err);
}

/* ---- list, revoke ---- */

int tokens_print(const json_t *answer, const struct talk *talk, FILE *file, struct err *err)
{
        static const struct listing_column columns[] = {
                {"id", "id", LISTING_TEXT},           {"principal", "principal", LISTING_TEXT},
                {"role", "role", LISTING_TEXT},       {"tenant", "tenant", LISTING_TEXT},
                {"node", "node", LISTING_TEXT},
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

/* A token by its number, or all certificates of a node. */
static int run_revoke(const struct command_call *call)
{
        const char *node = command_value(call, "node"),
                   *id = call->arguments_count > 0 ? call->arguments[0] : NULL;
        struct text path = {0};

        if (!node == !id) {
                fprintf(stderr, "berth token revoke: name a token's number, or --node NODE\n");
                return EXIT_BAD_INPUT;
        }
        text_add(&path, node ? "/v1/nodes" : "/v1/tokens");
        talk_path_segment(&path, node ? node : id);
        if (node)
                talk_path_segment(&path, "certificate");
        const struct talk_change change = {.method = "DELETE",
                                           .path = path.failed ? "" : path.bytes};
        int code = talk_act(call, &change, NULL);
        if (code == EXIT_FINE && !command_value(call, "json")) {
                if (node)
                        printf("node %s is enrolled no longer: its runs go on, and its agent is "
                               "told nothing more\n",
                               node);
                else
                        printf("token %s is worth nothing from now on\n", id);
        }
        text_done(&path);
        return code;
}

static const struct command_action actions[] = {
        {"make", "", 0, 0, run_make},
        {"list", "", 0, 0, run_list},
        {"revoke", "[ID]", 0, 1, run_revoke},
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
