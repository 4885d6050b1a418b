#include "cli/policy.h"

#include <stdio.h>

#include "base/doc.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "cli/json_out.h"
#include "cli/policy_live.h"
#include "cli/policy_out.h"
#include "cli/policy_try.h"
#include "cli/screen.h"
#include "proto/kind.h"
#include "proto/model_doc.h"
#include "proto/pool_doc.h"

static const struct command_option options[] = {
        {"pool", 0, "FILE", "check: hold promises and planes against this pool (kind: Pool)"},
        {"models", 0, "FILE",
         "check, diff, try: know these device models too (kind: DeviceModels)"},
        {"history", 0, "SCENARIO", "try: the jobs and the pool (kind: Replay, of a history)"},
        {"against", 0, "POLICY",
         "try: in force before: a file, default (the default) or fifo-skip"},
        {"seeds", 0, "A..B", "try: these seeds instead of the scenario's"},
        {"quiet", 'q', NULL, "try: no progress"},
        {"reason", 'r', "TEXT", "rollback: why; it is kept with who did it"},
        {"json", 0, "[FILE.json]", "print JSON instead; of try: or write it to that file, too"},
        {"context", 0, "NAME", "show, revisions, rollback: which pool"},
        {0},
};

static const char details[] =
        "check reads a policy (kind: Policy) and prints what comes out of it: every tenant after\n"
        "inheritance, every class with its terms in words, and warnings about what is legal but "
        "in\n"
        "vain, such as a limit that can never bind. A Pool document in the same file is taken as\n"
        "the pool. docs/policy.md describes all keys.\n"
        "\n"
        "diff says in words what changes for whom when policy A is replaced by policy B.\n"
        "\n"
        "try runs a recorded history under the policy in force (--against) and under FILE, and\n"
        "says by tenant who waits how long, whose work is stopped, and what that loses.\n"
        "\n"
        "show prints the policy in force in a pool, or an earlier one, as it was applied (`berth\n"
        "apply` puts one in force); revisions lists those there were, by whom and why; rollback\n"
        "puts an earlier one in force again, as a new revision.\n"
        "\n"
        "examples:\n"
        "  berth policy check examples/policy.yaml\n"
        "  berth policy check examples/policy-full.yaml --pool examples/pool.yaml\n"
        "  berth policy diff examples/policy.yaml examples/policy-full.yaml\n"
        "  berth policy try examples/policy.yaml --history examples/history.yaml\n"
        "  berth policy show > now.yaml\n"
        "  berth policy show 3 > then.yaml && berth policy diff now.yaml then.yaml\n"
        "  berth policy rollback 3 --reason 'web starves'\n"
        "\n"
        "exit status: 0 fine, also with warnings; 2 a document or option is wrong; 130 try was\n"
        "stopped by Ctrl-C, and what was finished has been printed; 3, 4, 5 of show, revisions\n"
        "and rollback: not there, refused, no answer; 1 anything else\n";

/* What one call works with. */
struct job {
        struct model_table *models;
        struct vocab *vocab;
        struct pool_doc *pool;
        struct policy_doc *policies[2];
};

static int load_models(const struct command_call *call, struct job *job, struct err *err)
{
        const char *file = command_value(call, "models");
        int rc;

        job->models = model_table_new();
        job->vocab = vocab_new();
        if (!job->models || !job->vocab)
                return err_set(err, ERR_NOMEM, "out of memory");
        if ((rc = model_doc_builtin(job->models, err)) < 0)
                return rc;
        return file ? model_doc_load(file, job->models, err) : 0;
}

static int load_pool(const char *path, struct job *job, struct err *err)
{
        const struct doc_node *root;
        struct doc *doc;
        int rc = doc_read_file(path, &doc, err);

        if (rc < 0)
                return rc;
        if ((rc = kind_need(doc, "Pool", &root, err)) == 0)
                rc = pool_doc_decode(root, job->models, job->vocab, &job->pool, err);
        doc_free(doc);
        return rc;
}

/* The policy of a file; its own pool too, where it has one and `takes_pool`. */
static int load_policy(const char *path, bool takes_pool, struct job *job,
                       struct policy_doc **ret_policy, struct err *err)
{
        const struct doc_node *root, *pool;
        struct doc *doc;
        int rc = doc_read_file(path, &doc, err);

        if (rc < 0)
                return rc;
        if ((rc = kind_need(doc, "Policy", &root, err)) < 0 ||
            (rc = kind_find(doc, "Pool", &pool, err)) < 0)
                goto out;
        if (pool && takes_pool && !job->pool &&
            (rc = pool_doc_decode(pool, job->models, job->vocab, &job->pool, err)) < 0)
                goto out;
        rc = policy_doc_decode(root, job->models, job->pool, ret_policy, err);
out:
        doc_free(doc);
        return rc;
}

static int run_check(const struct command_call *call, struct job *job, struct err *err)
{
        const char *pool = command_value(call, "pool");
        int rc;

        if (pool && (rc = load_pool(pool, job, err)) < 0)
                return rc;
        if ((rc = load_policy(call->arguments[0], true, job, &job->policies[0], err)) < 0)
                return rc;
        if (command_value(call, "json"))
                return json_out_file(policy_json(job->policies[0], job->models), "-", err);
        return policy_print(job->policies[0], job->models, job->pool, screen_text_width(), stdout,
                            err);
}

static int show_diff(const struct job *job, struct err *err)
{
        struct screen_page page;
        int rc = screen_page_open(&page, err);

        if (rc < 0)
                return rc;
        policy_print_diff(job->policies[0], job->policies[1], job->models, page.file);
        return screen_page_put(&page, screen_look().width, stdout, err);
}

static int run_diff(const struct command_call *call, struct job *job, struct err *err)
{
        int rc;

        for (unsigned i = 0; i < 2; i++)
                if ((rc = load_policy(call->arguments[i], false, job, &job->policies[i], err)) < 0)
                        return rc;
        if (command_value(call, "json"))
                return json_out_file(policy_diff_json(job->policies[0], job->policies[1],
                                                      job->models),
                                     "-", err);
        return show_diff(job, err);
}

static int run_job(const struct command_call *call, struct job *job, enum exit_code *ret_code,
                   struct err *err)
{
        const char *name = call->action->name, *json = command_value(call, "json");
        int rc = load_models(call, job, err);

        if (rc < 0)
                return rc;
        if (json && !str_equal(json, "-") && !str_equal(name, "try"))
                return err_set(err, ERR_INPUT, "--json of %s goes to standard output only", name);
        if (str_equal(name, "try"))
                return policy_try(call, job->models, screen_text_width(), ret_code, err);
        rc = str_equal(name, "check") ? run_check(call, job, err) : run_diff(call, job, err);
        if (rc == 0)
                *ret_code = EXIT_FINE;
        return rc;
}

static int run(const struct command_call *call)
{
        struct job job = {0};
        struct err err = {0};
        enum exit_code code = EXIT_BAD_INPUT;
        int rc = run_job(call, &job, &code, &err);

        if (rc < 0)
                fprintf(stderr, "berth policy: %s\n", err.text);
        policy_doc_free(job.policies[0]);
        policy_doc_free(job.policies[1]);
        pool_doc_free(job.pool);
        vocab_free(job.vocab);
        model_table_free(job.models);
        return (int)(rc == -ERR_NOMEM ? EXIT_TROUBLE : code);
}

static const struct command_action actions[] = {
        {"check", "FILE", 1, 1, NULL},
        {"diff", "A B", 2, 2, NULL},
        {"try", "FILE", 1, 1, NULL},
        {"show", "[REVISION]", 0, 1, policy_show},
        {"revisions", "", 0, 0, policy_revisions},
        {"rollback", "REVISION", 1, 1, policy_rollback},
        {0},
};

const struct command policy_command = {
        .name = "policy",
        .group = GROUP_PLAN,
        .summary = "check a policy, say what another one changes, try it, or see what is in force",
        .details = details,
        .options = options,
        .actions = actions,
        .run = run,
};
