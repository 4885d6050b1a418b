/* Documents of the command line, read at the start and at SIGHUP. */
#include "controller/daemon_impl.h"

#include <string.h>

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "proto/beside.h"

#define DOCUMENT_BYTES_MAX (16u << 20)

/* Whether putting it, with what stands beside the one in force, would change nothing. */
static bool is_in_force(const char *in_force, const char *text, enum beside beside)
{
        struct text whole = {0};
        bool is_it = beside_carry(text, in_force, beside_kind(beside), &whole, NULL) == 0 &&
                     whole.bytes && str_equal(whole.bytes, in_force);

        text_done(&whole);
        return is_it;
}

/* A document of the command line is put like any other, where it is not in force yet. */
static int put_file(struct daemon *daemon, const char *path, const char *in_force,
                    enum beside beside, struct err *err)
{
        struct document_put document = {0};
        struct act *act;
        char *text;
        size_t size;
        int rc = file_read(path, DOCUMENT_BYTES_MAX, &text, &size, err);

        if (rc)
                return rc;
        if (in_force && is_in_force(in_force, text, beside)) {
                mem_free(text);
                return 0;
        }
        document.text = text;
        document.by = "berthd";
        document.reason = path;
        act = core_begin(daemon->live.core, "berthd", path, api_now_ms(), err);
        rc = !act                            ? -ERR_IO
             : beside == BESIDE_RESERVATION ? live_put_policy(&daemon->live, act, &document, err)
                                            : live_put_pool(&daemon->live, act, &document, err);
        if (act)
                core_commit(act, api_ignore, NULL);
        for (size_t w = 0; w < json_array_size(document.warnings); w++)
                daemon_say("warning:", "%s",
                           json_string_value(json_array_get(document.warnings, w)));
        json_decref(document.warnings);
        mem_free(text);
        if (rc == -ERR_QUARANTINED) {   /* what is in force serves; what else is there is served */
                daemon_say("not set:", "%s: %s", path, err->text);
                return 0;
        }
        return rc ? err_prefix(err, "%s", path) : 0;
}

static char *document_in_force(struct daemon *daemon, enum object_kind kind, uint64_t revision)
{
        struct object_copy *copy;
        char *text = NULL;

        if (revision == 0 ||
            objects_get(core_view(daemon->live.core), kind, revision, &copy, NULL) < 0)
                return NULL;
        text = mem_new(copy->object.size + 1, 1);
        if (text)
                memcpy(text, copy->object.body, copy->object.size);
        mem_free(copy);
        return text;
}

int daemon_put_policy_file(struct daemon *daemon, struct err *err)
{
        char *there = document_in_force(daemon, OBJECT_POLICY,
                                        core_policy_revision(daemon->live.core));
        int rc = put_file(daemon, daemon->options->policy, there, BESIDE_RESERVATION, err);

        mem_free(there);
        return rc;
}

int daemon_put_documents(struct daemon *daemon, struct err *err)
{
        const struct daemon_options *options = daemon->options;
        int rc = 0;

        if (options->pool) {
                char *there = document_in_force(daemon, OBJECT_POOL, daemon->live.pool_revision);
                rc = put_file(daemon, options->pool, there, BESIDE_MAINTENANCE, err);
                mem_free(there);
        }
        if (rc == 0 && options->policy)
                rc = daemon_put_policy_file(daemon, err);
        return rc;
}

void daemon_read_policy_if_due(struct daemon *daemon)
{
        struct err err;
        int rc;

        if (!daemon->policy_due || core_may_act(daemon->live.core, NULL) < 0)
                return;
        rc = daemon_put_policy_file(daemon, &err);
        daemon->policy_due = rc == -ERR_EXISTS;
        if (rc < 0 && !daemon->policy_due)
                daemon_say("policy not taken:", "%s", err.text);
}
