/* Asking the controller for a certificate. */
#include "agent/keeper_impl.h"

#include <stdio.h>
#include <string.h>

#include "agent/say.h"
#include "base/doc.h"
#include "base/err.h"
#include "base/str.h"
#include "base/text.h"
#include "base/time.h"
#include "net/uri.h"
#include "proto/when.h"

#define CALL_MS      15000
#define SKEW_MS_SAID 60000              /* a clock that is off by more is said */

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
                        rc = keeper_write_both(keeper, key, certificate, err);
        }
        doc_free(doc);
        if (rc == 0)
                keeper_take(keeper, &identity);
        return rc;
}

int keeper_get_certificate(struct keeper *keeper, const char *token, const char *key,
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
