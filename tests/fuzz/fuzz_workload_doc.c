/* fuzz_workload_doc.c - a workload that is accepted is a settled request, and its texts are whole.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/doc.h"
#include "base/err.h"
#include "engine/vocab.h"
#include "proto/kind.h"
#include "proto/workload_doc.h"
#include "tests/fuzz/known_models.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(const char *text, size_t size)
{
        assert(memchr(text, '\0', size));
}

/* What a node takes for a name can lead nowhere but into its folder. */
static void check_secret(const char *name)
{
        assert(name[0] != '\0');
        if (workload_is_secret(name))
                assert(!strchr(name, '/') && name[0] != '.' &&
                       strlen(name) <= WORKLOAD_SECRET_MAX);
}

static void check_run(const struct workload_run *run)
{
        for (uint32_t i = 0; i < run->command_count; i++)
                assert(run->command[i] && strlen(run->command[i]) <= WORKLOAD_TEXT_MAX);
        assert(run->command_count == 0 || run->command[0][0] != '\0');
        for (uint32_t i = 0; i < run->env_count; i++) {
                assert(run->env_names[i][0] != '\0' && !strchr(run->env_names[i], '='));
                assert(strncmp(run->env_names[i], "BERTH_", 6) != 0);
                assert(run->env_values[i]);
        }
        for (uint32_t i = 0; i < run->secrets_count; i++)
                check_secret(run->secrets[i]);
        assert(!run->workdir || run->workdir[0] == '/');
}

static void check_workload(const struct workload_doc *workload)
{
        struct request again = workload->request;

        assert(workload->name[0] != '\0' && workload->tenant[0] != '\0');
        check_text(workload->name, sizeof workload->name);
        check_text(workload->tenant, sizeof workload->tenant);
        check_text(workload->class_name, sizeof workload->class_name);
        check_text(workload->data, sizeof workload->data);
        /* Settled once is settled for good. */
        assert(request_settle(&again, NULL) == 0);
        assert(need_equal(&again.need, &workload->request.need));
        assert(form_equal(&again.form, &workload->request.form));
        assert(workload->models != 0 && workload->method <= CLASS_METHODS);
        assert(workload->array_first <= workload->array_last);
        assert(workload->array_last - workload->array_first < WORKLOAD_ARRAY_MAX);
        assert(workload->array_at_once <= WORKLOAD_ARRAY_MAX);
        assert(workload->retries <= WORKLOAD_RETRIES_MAX);
        assert(workload->time_limit_ms >= 0 && workload->start_ms >= 0);
        assert(workload->has_checkpoint ==
               (workload->checkpoint.every_ms > 0 || workload->checkpoint.signal[0] != '\0'));
        for (uint32_t i = 0; i < workload->after_count; i++)
                assert(strcmp(workload->after[i], workload->name) != 0);
        if (workload->is_service)
                assert(workload->service.port >= 1 && workload->service.replicas >= 1);
        check_run(&workload->run);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        const struct doc_node *root = NULL;
        struct workload_doc *workload = NULL;
        struct doc *doc;
        struct err err = {0};

        if (doc_read_yaml("f", (const char *)data, size, &doc, &err) < 0)
                return 0;
        struct vocab *vocab = vocab_new();
        if (!vocab)
                abort();
        if (kind_need(doc, "Workload", &root, &err) < 0 ||
            workload_doc_decode(root, known_models(), NULL, vocab, &workload, &err) < 0)
                assert(strncmp(err.text, "f:", 2) == 0);
        else
                check_workload(workload);
        workload_doc_free(workload);
        vocab_free(vocab);
        doc_free(doc);
        return 0;
}
