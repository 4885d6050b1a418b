#include "controller/enrolment.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "controller/live.h"
#include "controller/nodes.h"

/* ---- the store ---- */

static char *detail_of(const struct enrolment *enrolment)
{
        char token[TOKEN_HASH_TEXT_MAX], key[TOKEN_HASH_TEXT_MAX];

        _Static_assert(TOKEN_HASH_BYTES == AUTHORITY_KEY_HASH_BYTES, "both are written alike");
        token_hash_text(enrolment->token, token);
        token_hash_text(enrolment->key, key);
        json_t *json = json_pack("{s:s,s:s,s:I}", "token", token, "key", key, "until_ms",
                                 (json_int_t)enrolment->until_ms);
        char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
        json_decref(json);
        return text;
}

static int see_enrolment(void *arg, const struct object *object, struct err *err)
{
        struct live *live = arg;
        struct node_entry *node = nodes_find(live->nodes, object->name);
        json_t *detail = json_loads(object->detail, 0, NULL);
        struct enrolment enrolment = {
                .id = object->id,
                .made_ms = object->created_ms,
                .until_ms = json_integer_value(json_object_get(detail, "until_ms"))};
        bool ok = token_hash_parse(json_string_value(json_object_get(detail, "token")),
                                   enrolment.token) &&
                  token_hash_parse(json_string_value(json_object_get(detail, "key")),
                                   enrolment.key);

        (void)err;
        json_decref(detail);
        /* One that cannot be read lets nobody in. */
        if (ok && node)
                node->enrolment = enrolment;
        return 0;
}

int enrolments_load(struct live *live, struct err *err)
{
        const struct object_filter filter = {.kind = OBJECT_NODE, .live = true,
                                             .oldest_first = true};
        struct store *store = core_view(live->core);
        struct node_entry *node;
        uint32_t cursor = 0;

        while ((node = nodes_next(live->nodes, &cursor)))
                node->enrolment = (struct enrolment){0};
        int rc = objects_list(store, &filter, see_enrolment, live, err);
        return rc ? rc : objects_last(store, OBJECT_NODE, &live->last_enrolment, err);
}

/* For who reads the log. */
static int note(struct act *act, const char *what, const struct node_entry *node, const char *why,
                struct err *err)
{
        json_t *json = json_pack("{s:{s:s,s:I,s:s}}", what, "node", node->name, "enrolment",
                                 (json_int_t)node->enrolment.id, "why", why);
        char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
        int rc = text ? core_note(act, text, err) : err_set(err, ERR_NOMEM, "out of memory");

        free(text);
        json_decref(json);
        return rc;
}

/* ---- what becomes of one ---- */

int enrolment_end(struct live *live, struct act *act, struct node_entry *node, const char *why,
                  struct err *err)
{
        int64_t now_ms = core_now_ms(live->core);
        const struct object_change change = {.kind = OBJECT_NODE,
                                             .id = node->enrolment.id,
                                             .state = why,
                                             .updated_ms = now_ms,
                                             .ended_ms = now_ms};

        if (node->enrolment.id == 0)
                return 0;
        int rc = note(act, "enrolment_ended", node, why, err);
        if (rc == 0)
                rc = core_set(act, &change, err);
        if (rc == 0)
                node->enrolment = (struct enrolment){0};
        return rc;
}

static int put(struct act *act, const struct node_entry *node, const char *by, struct err *err)
{
        const struct enrolment *enrolment = &node->enrolment;
        char *detail = detail_of(enrolment);
        const struct object object = {.kind = OBJECT_NODE,
                                      .id = enrolment->id,
                                      .tenant = "",
                                      .name = node->name,
                                      .class = "",
                                      .owner = by,
                                      .state = "live",
                                      .detail = detail,
                                      .created_ms = enrolment->made_ms,
                                      .updated_ms = enrolment->made_ms};

        int rc = detail ? core_put(act, &object, err) : err_set(err, ERR_NOMEM, "out of memory");
        free(detail);
        return rc;
}

int enrolment_make(struct live *live, struct act *act, struct node_entry *node, const char *by,
                   const struct enrolment *wish, struct err *err)
{
        int rc = enrolment_end(live, act, node, "replaced", err);

        if (rc)
                return rc;
        node->enrolment = *wish;
        node->enrolment.id = ++live->last_enrolment;
        node->enrolment.made_ms = core_now_ms(live->core);
        rc = note(act, "node_enrolled", node, by, err);
        return rc ? rc : put(act, node, by, err);
}

int enrolment_renew(struct live *live, struct act *act, struct node_entry *node, int64_t until_ms,
                    struct err *err)
{
        struct enrolment after = node->enrolment;
        struct object_change change = {.kind = OBJECT_NODE,
                                       .id = after.id,
                                       .updated_ms = core_now_ms(live->core)};

        after.until_ms = until_ms;
        char *detail = detail_of(&after);
        change.detail = detail;
        int rc = detail ? note(act, "certificate_renewed", node, "", err)
                        : err_set(err, ERR_NOMEM, "out of memory");
        if (rc == 0)
                rc = core_set(act, &change, err);
        free(detail);
        if (rc == 0)
                node->enrolment = after;
        return rc;
}
