#include "cli/tokens.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
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

#define NODES_MAX 2048 /* in one go, as the controller has it */

static const struct command_option options[] = {
        {"principal", 0, "NAME", "make: who it speaks for; the default is yourself"},
        {"role", 0, "ROLE", "make: viewer, submitter, tenant-admin; auditor, operator; agent"},
        {"join", 0, NULL, "make: lets a node enrol, once; good for an hour where nothing is said"},
        {"node", 0, "NODE", "make, revoke: of this node (--join, --role agent); its certificates"},
        {"nodes", 0, "LIST", "make: one for each of gpu-[01-04], or none at all"},
        {"tenant", 't', "PATH", "make: of this tenant and those below it"},
        {"expires", 0, "TIME", "make: valid until then: " TALK_TIME_AHEAD},
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

/* What is to be made, and where it goes. */
struct making {
        struct talk *talk;
        json_t *body;                   /* owned */
        const char *out;                /* a file; with --nodes a folder; NULL: the output */
        const char *nodes;              /* NULL: there is one token */
        bool made_folder;
        size_t files;                   /* that were made for it, in the order of the nodes */
};

typedef int on_file(const char *path, struct err *err);

/* The file of a node's token, or of the only one. */
static int path_of(const struct making *making, const char *node, char ret_path[PATH_MAX],
                   struct err *err)
{
        int size = making->nodes ? snprintf(ret_path, PATH_MAX, "%s/%s.token", making->out, node)
                                 : snprintf(ret_path, PATH_MAX, "%s", making->out);

        return size < PATH_MAX ? 0 : err_set(err, ERR_INPUT, "--out: the path is too long");
}

/* A new file, empty, so that nobody has it open, or may read it. */
static int create(const char *path, struct err *err)
{
        int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

        if (fd >= 0)
                return close(fd) == 0 ? 0 : err_set(err, ERR_IO, "%s: %s", path, strerror(errno));
        if (errno == EEXIST)
                return err_set(err, ERR_INPUT,
                               "--out %s: is there already; name a new file", path);
        return err_set(err, ERR_IO, "--out %s: %s", path, strerror(errno));
}

/* One that holds no token. */
static int take_back(const char *path, struct err *err)
{
        struct stat status;

        (void)err;
        if (stat(path, &status) == 0 && status.st_size == 0)
                (void)unlink(path);
        return 0;
}

static int write_secret(const char *path, const char *secret, struct err *err)
{
        int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
        struct text text = {0};

        if (fd < 0)
                return err_set(err, ERR_IO, "%s: %s", path, strerror(errno));
        text_add(&text, "%s\n", secret);
        bool is_written = !text.failed && write(fd, text.bytes, text.size) == (ssize_t)text.size &&
                          fsync(fd) == 0;
        if (text.bytes)
                token_wipe(text.bytes, text.size);
        text_done(&text);
        return close(fd) == 0 && is_written ? 0
                                            : err_set(err, ERR_IO, "%s could not be written", path);
}

/* ---- files, all of them before anything is made ---- */

struct files {
        struct making *making;
        on_file *each;
        size_t left;
};

/* A hostlist_take. */
static int each_file(void *arg, const char *node, struct err *err)
{
        struct files *files = arg;
        char path[PATH_MAX];

        if (files->left == 0)
                return 0;
        files->left--;
        int rc = path_of(files->making, node, path, err);
        if (rc == 0)
                rc = files->each(path, err);
        if (rc == 0 && files->each == create)
                files->making->files++;
        return rc;
}

/* For the first `count` of the files. */
static int for_files(struct making *making, size_t count, on_file *each, struct err *err)
{
        struct files files = {making, each, count};

        return making->nodes ? hostlist_expand(making->nodes, NODES_MAX, each_file, &files, err)
                             : each_file(&files, "", err);
}

/* Those that were made before one failed are for the caller to take back. */
static int make_files(struct making *making, struct err *err)
{
        if (!making->out)
                return 0;
        making->made_folder = making->nodes && mkdir(making->out, 0700) == 0;
        if (making->nodes && !making->made_folder && errno != EEXIST)
                return err_set(err, ERR_INPUT, "--out %s: %s", making->out, strerror(errno));
        return for_files(making, NODES_MAX, create, err);
}

static void leave_nothing(struct making *making)
{
        if (making->files > 0)
                (void)for_files(making, making->files, take_back, NULL);
        if (making->made_folder)
                (void)rmdir(making->out);       /* it may hold tokens that were made */
}

/* ---- what came of it ---- */

/* One whose text is kept nowhere is revoked, where that can be. */
static int give_up(struct making *making, const char *id, struct err *err)
{
        struct client_answer answer = {0};
        struct text revoke = {0};
        struct err other;

        text_add(&revoke, "/v1/tokens");
        talk_path_segment(&revoke, id);
        const struct talk_change change = {.method = "DELETE",
                                           .path = revoke.failed ? "" : revoke.bytes};
        if (talk_send(making->talk, &change, &answer, &other) == 0)
                fprintf(stderr, "%s; token %s is revoked again\n", err->text, id);
        else
                fprintf(stderr, "%s; end it with `berth token revoke %s`\n", err->text, id);
        client_answer_done(&answer);
        text_done(&revoke);
        making->talk->code = EXIT_TROUBLE;
        return err_set(err, ERR_IO, "not every token could be kept");
}

static int put_token(struct making *making, const char *node, const json_t *token, struct err *err)
{
        const char *secret = json_in_text(token, "token");
        char id[JSON_IN_MAX], path[PATH_MAX] = "";
        int rc = 0;

        json_in_words(token, "id", id);
        if (making->out && (rc = path_of(making, node, path, err)) < 0)
                return rc;
        if (!secret[0])                 /* the first answer got lost; no other has it */
                rc = err_set(err, ERR_IO, "the text of token %s did not come", id);
        else if (making->out)
                rc = write_secret(path, secret, err);
        if (rc < 0) {
                if (making->out)        /* the part of a token, at most */
                        (void)unlink(path);
                return give_up(making, id, err);
        }
        if (!making->out)
                printf("%s%s%s\n", node, node[0] ? " " : "", secret);
        fprintf(stderr, "token %s%s%s; `berth token revoke %s` ends it\n", id,
                making->out ? " is in " : "", path, id);
        return 0;
}

struct putting {
        struct making *making;
        const json_t *tokens;
        size_t at;
        struct err first;               /* what went wrong with one; the others go on */
        int rc;
};

/* A hostlist_take: names are those that were asked for, whatever the answer says. */
static int put_next(void *arg, const char *node, struct err *err)
{
        struct putting *putting = arg;
        const json_t *token = json_array_get(putting->tokens, putting->at++);

        if (!token || !str_equal(json_in_text(token, "node"), node))
                return err_set(err, ERR_IO, "the answer holds no token for %s", node);
        int rc = put_token(putting->making, node, token, err);
        if (rc < 0 && putting->rc == 0) {
                putting->rc = rc;
                putting->first = *err;
        }
        return 0;
}

static int put_tokens(struct making *making, const struct client_answer *answer, struct err *err)
{
        struct putting putting = {.making = making};
        json_t *value = NULL;
        int rc = talk_parse(making->talk, answer, &value, err);

        if (rc < 0)
                return rc;
        putting.tokens = json_object_get(value, "tokens");
        if (!making->nodes && !json_in_has(value, "id"))
                rc = err_set(err, ERR_IO, "the answer holds no token");
        else if (!making->nodes)
                rc = put_token(making, "", value, err);
        else
                rc = hostlist_expand(making->nodes, NODES_MAX, put_next, &putting, err);
        json_decref(value);
        if (rc < 0 || putting.rc == 0)
                return rc;
        *err = putting.first;
        return putting.rc;
}

static json_t *body_of(const struct command_call *call)
{
        static const char *const keys[] = {"principal", "role", "tenant", "node", "nodes",
                                           "expires"};
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

/* In one request: all of them are made, or none. */
static int make(struct making *making, struct err *err)
{
        struct client_answer answer = {0};
        char *text = NULL;
        size_t size = 0;
        int rc = make_files(making, err);

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
                rc = put_tokens(making, &answer, err);
        if (rc < 0)
                leave_nothing(making);
        if (answer.body)
                token_wipe(answer.body, answer.size);
        client_answer_done(&answer);
        mem_free(text);
        return rc;
}

static int check_make(const struct command_call *call, struct err *err)
{
        bool joins = command_value(call, "join") != NULL;
        bool one = command_value(call, "node") != NULL, more = command_value(call, "nodes") != NULL;
        const char *role = command_value(call, "role");
        bool is_agent = role && str_equal(role, "agent");

        if (joins && command_value(call, "role"))
                return err_set(err, ERR_INPUT, "--join is a role itself: it goes without --role");
        if (more && !joins && !is_agent)
                return err_set(err, ERR_INPUT, "--nodes goes with --join, or --role agent");
        if (command_value(call, "out") && command_value(call, "json"))
                return err_set(err, ERR_INPUT,
                               "--json prints the answer, the token in it: it goes without --out");
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
        making.out = command_value(call, "out");
        making.nodes = command_value(call, "nodes");
        if (rc == 0)
                rc = check_make(call, &err);
        if (rc == 0)
                rc = make(&making, &err);
        json_decref(making.body);
        return talk_close(&talk, rc, &err);
}

/* ---- list, revoke ---- */

static void add_expired(json_t *row)
{
        if (json_in_flag(row, "expired"))
                json_object_set_new(row, "is", json_string("expired"));
}

int tokens_print(const json_t *answer, const struct talk *talk, FILE *file, struct err *err)
{
        static const struct listing_column columns[] = {
                {"id", "id", LISTING_TEXT},           {"principal", "principal", LISTING_TEXT},
                {"role", "role", LISTING_TEXT},       {"tenant", "tenant", LISTING_TEXT},
                {"node", "node", LISTING_TEXT},       {"is", "is", LISTING_TEXT},
                {"expires", "expires", LISTING_TEXT}, {"made", "made", LISTING_TEXT},
                {"made_by", "by", LISTING_TEXT},      {0},
        };

        return listing_print_with(json_object_get(answer, "tokens"), add_expired, columns, 1,
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
