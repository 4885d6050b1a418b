#include "tests/property/explain_try.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/doc.h"
#include "base/doc_edit.h"
#include "base/err.h"
#include "base/text.h"
#include "engine/explain.h"
#include "engine/model.h"
#include "engine/vocab.h"
#include "proto/explain_text.h"
#include "proto/workload_doc.h"

#define WORDS_MAX 16

/* As a shell takes it apart: at blanks, but inside of '...'. */
static unsigned split(char *line, char *words[WORDS_MAX])
{
        unsigned count = 0;
        char *to = line;

        for (char *at = line; *at && count < WORDS_MAX;) {
                bool is_quoted = false;
                words[count++] = to;
                for (; *at && (is_quoted || *at != ' '); at++)
                        if (*at == '\'')
                                is_quoted = !is_quoted;
                        else
                                *to++ = *at;
                at += *at == ' ';
                *to++ = '\0';
        }
        return count;
}

static void write_each(struct text *text, const struct need *need, const struct state *state)
{
        switch ((enum ask)need->ask) {
        case ASK_NOTHING:
                break;
        case ASK_WHOLE:
                text_add(text, "devices: %u, ", need->devices);
                break;
        case ASK_PROFILE:
                text_add(text, "devices: %u, profile: %s, ", need->devices,
                         vocab_text(state->vocab, need->profile));
                break;
        case ASK_MEMORY:
                text_add(text, "devices: %u, memory: %" PRIu32 "Mi, ", need->devices,
                         need->memory_mib);
                break;
        case ASK_SHARE:
                text_add(text, "devices: %u, method: share, ", need->devices);
                if (need->memory_mib)
                        text_add(text, "memory: %" PRIu32 "Mi, ", need->memory_mib);
                if (need->share_milli)
                        text_add(text, "share: %u.%03u, ", need->share_milli / 1000,
                                 need->share_milli % 1000);
                break;
        }
        text_add(text, "cpu: %" PRIu32 "m, ram: %" PRIu32 "Mi, disk: %" PRIu32 "Mi, "
                       "network: %" PRIu32 "Mb",
                 need->cpu_milli, need->ram_mib, need->disk_mib, need->network_mbit);
}

/* What a user would have submitted for the request, but for where it may lie. */
static void write_document(struct text *text, const struct request *request,
                           const struct state *state)
{
        text_add(text, "kind: Workload\nname: w\ntenant: t\nmembers: %" PRIu32 "\neach: {",
                 request->form.members);
        write_each(text, &request->need, state);
        text_add(text, "}\n");
        if (request->spare)
                text_add(text, "standing: spare\n");
        if (request->form.near)
                text_add(text, "near: {%s: %s}\n",
                         request->form.near_required ? "require" : "prefer",
                         near_level_name((enum near_level)request->form.near));
        if (request->form.spread)
                text_add(text, "spread: %s\n", spread_names[request->form.spread]);
}

static bool is_met(const struct explained_unblock *unblock, const struct workload_doc *got,
                   const struct vocab *vocab, const struct state *state)
{
        struct request settled = unblock->request;
        const struct need *want = &settled.need, *need = &got->request.need;
        const struct form *form = &settled.form;
        unsigned changes = unblock->changes;

        return request_settle(&settled, NULL) == 0 &&
               got->request.form.members == form->members && need->devices == want->devices &&
               need->ask == want->ask &&
               (!(changes & CHANGE_PROFILE) ||
                strcmp(vocab_text(vocab, need->profile),
                       vocab_text(state->vocab, want->profile)) == 0) &&
               need->memory_mib == want->memory_mib && need->share_milli == want->share_milli &&
               need->cpu_milli == want->cpu_milli && need->ram_mib == want->ram_mib &&
               need->disk_mib == want->disk_mib && need->network_mbit == want->network_mbit &&
               got->request.form.near == form->near &&
               got->request.form.near_required == form->near_required &&
               got->request.form.spread == form->spread && got->is_spare == settled.spare &&
               (!(changes & CHANGE_MODELS) ||
                (want->models & ~got->models & ((1ull << model_count(state->models)) - 1)) == 0);
}

static int change(const struct explanation *it, const struct state *state, char **words,
                  unsigned count, struct vocab *vocab, struct workload_doc **ret_workload,
                  struct err *err)
{
        struct text text = {0};
        struct doc *doc = NULL;

        write_document(&text, &it->request, state);
        int rc = doc_read_yaml("base", text.bytes, text.size, &doc, err);
        for (unsigned w = 0; rc == 0 && w < count; w++)
                rc = doc_assign(doc, doc_root(doc, 0), words[w], err);
        struct text written = {0};
        struct doc *again = NULL;
        if (rc == 0) {
                doc_write(doc_root(doc, 0), &written);
                rc = doc_read_yaml("changed", written.bytes, written.size, &again, err);
        }
        if (rc == 0)
                rc = workload_doc_decode(doc_root(again, 0), state->models, NULL, vocab,
                                         ret_workload, err);
        doc_free(again);
        doc_free(doc);
        text_done(&written);
        text_done(&text);
        return rc;
}

bool explain_try_holds(const struct explanation *it, const struct state *state,
                       unsigned *ret_changes, char *why, size_t why_size)
{
        const struct explain_names names = {.state = state};
        const struct explained_unblock *unblock = it->nearest;
        char line[EXPLAIN_TEXT_MAX], copy[EXPLAIN_TEXT_MAX], id[24], *words[WORDS_MAX];
        struct workload_doc *workload = NULL;
        struct err err = {0};

        explain_line(it, &names, line);
        memcpy(copy, line, sizeof copy);
        unsigned count = split(copy, words);
        if (count == 0)
                return true;
        (void)snprintf(id, sizeof id, "%" PRIu64, it->workload);
        bool good = count >= 3 && strcmp(words[0], "berth") == 0 && strcmp(words[2], id) == 0;
        if (good && count == 3 && strcmp(words[1], "release") == 0)
                return true;
        good = good && count > 3 && strcmp(words[1], "change") == 0;
        while (good && unblock->kind != UNBLOCK_REQUEST)
                unblock++;              /* the first one: that is what the line is about */
        struct vocab *vocab = vocab_new();
        int rc = good ? change(it, state, words + 3, count - 3, vocab, &workload, &err) : -1;
        good = rc == 0 && is_met(unblock, workload, vocab, state);
        if (!good)
                (void)snprintf(why, why_size, "workload %s: '%s' is not what would start it: %s",
                               id, line, err.text);
        *ret_changes += good;
        workload_doc_free(workload);
        vocab_free(vocab);
        return good;
}
