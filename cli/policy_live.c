#include "cli/policy_live.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/num.h"
#include "base/str.h"
#include "base/text.h"
#include "cli/json_in.h"
#include "cli/json_out.h"
#include "cli/listing.h"
#include "cli/talk.h"
#include "net/client.h"
#include "proto/retention.h"

/* Only a replay's figures go into a file. */
static bool names_a_file(const struct command_call *call)
{
        const char *json = command_value(call, "json");

        if (!json || str_equal(json, "-"))
                return false;
        fprintf(stderr, "berth policy: --json of %s goes to standard output only\n",
                call->action->name);
        return true;
}

static bool is_said(const json_t *retention, const char *word)
{
        const json_t *said = json_object_get(retention, "by_policy");

        for (size_t i = 0; i < json_array_size(said); i++) {
                const char *one = json_string_value(json_array_get(said, i));
                if (one && str_equal(one, word))
                        return true;
        }
        return false;
}

/* "# kept: records 30d, ended 90d (policy), review 13mo": what holds, whoever says it. */
static void put_kept(const json_t *retention)
{
        char buf[JSON_IN_MAX];

        if (!retention)
                return;                 /* an older controller does not say */
        for (unsigned k = 0; k < RETENTIONS_END; k++)
                printf("%s %s %s%s", k == 0 ? "# kept:" : ",", retention_words[k],
                       json_in_clean(retention, retention_words[k], buf),
                       is_said(retention, retention_words[k]) ? " (policy)" : "");
        putchar('\n');
}

static int show(const struct talk *talk, const struct client_answer *answer, json_t *retention,
                struct err *err)
{
        bool has_revision = answer->etag[0] == '"'; /* an ETag is the revision in quotes */

        if (talk_is_json(talk))
                return json_out_file(
                        json_pack("{s:I, s:O?, s:s%}", "revision",
                                  (json_int_t)(has_revision ? atoll(answer->etag + 1) : 0),
                                  "retention", retention, "document", answer->body, answer->size),
                        "-", err);
        if (has_revision)
                printf("# revision %.*s\n", (int)strcspn(answer->etag + 1, "\""),
                       answer->etag + 1);
        put_kept(retention);
        talk_put(answer, stdout);
        return 0;
}

static bool take_revision(const struct command_call *call, uint64_t *ret_revision)
{
        struct err err = {0};

        if (num_u64(call->arguments[0], 1, INT64_MAX, ret_revision, &err) == 0)
                return true;
        fprintf(stderr,
                "berth policy: the revision: %s; `berth policy revisions` lists "
                "them\n",
                err.text);
        return false;
}

/* The document as it was applied: a file that `berth policy check` and `diff` read. */
int policy_show(const struct command_call *call)
{
        bool is_then = call->arguments_count > 0;       /* not the one in force */
        struct client_answer answer = {0};
        json_t *pool = NULL;
        struct err err = {0};
        struct talk talk;
        char path[64] = "/v1/policy";
        uint64_t revision;

        if (names_a_file(call) || (is_then && !take_revision(call, &revision)))
                return EXIT_BAD_INPUT;
        if (is_then)
                snprintf(path, sizeof path, "/v1/policy?revision=%" PRIu64, revision);
        int rc = talk_open(call, &talk, &err);
        if (rc == 0)
                rc = talk_get(&talk, path, &answer, &err);
        if (rc == 0 && !is_then)
                rc = talk_get_json(&talk, "/v1/pool", &pool, &err);
        if (rc == 0)
                rc = show(&talk, &answer, json_object_get(pool, "retention"), &err);
        json_decref(pool);
        client_answer_done(&answer);
        return talk_close(&talk, rc, &err);
}

static int print_revisions(const json_t *answer, const struct talk *talk, FILE *file,
                           struct err *err)
{
        static const struct listing_column columns[] = {
                {"revision", "revision", LISTING_NUMBER},
                {"set", "set", LISTING_TEXT},
                {"by", "by", LISTING_TEXT},
                {"reason", "reason", LISTING_CUT},
                {0},
        };

        return listing_print(json_object_get(answer, "revisions"), columns, 1,
                             "no policy has been set yet", &talk->screen, file, err);
}

int policy_revisions(const struct command_call *call)
{
        struct text path = {0};

        if (names_a_file(call))
                return EXIT_BAD_INPUT;
        text_add(&path, "/v1/policy/revisions");
        return talk_show(call, &path, print_revisions);
}

static int print_rolled_back(const json_t *answer, const struct talk *talk, FILE *file,
                             struct err *err)
{
        char revision[JSON_IN_MAX];

        (void)err;
        fprintf(file, "policy is revision %s, the same as %s\n",
                json_in_words(answer, "revision", revision), talk->call->arguments[0]);
        return 0;
}

int policy_rollback(const struct command_call *call)
{
        uint64_t revision = 0;
        char body[64];

        if (names_a_file(call) || !take_revision(call, &revision))
                return EXIT_BAD_INPUT;
        int size = snprintf(body, sizeof body, "{\"revision\": %" PRIu64 "}", revision);
        const struct talk_change change = {
                .method = "POST",
                .path = "/v1/policy/rollback",
                .body = body,
                .body_size = (size_t)size,
                .reason = command_value(call, "reason"),
        };
        return talk_act(call, &change, print_rolled_back);
}
