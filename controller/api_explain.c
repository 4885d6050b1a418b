/* Why work waits, why devices are idle, what would start now: as text, or as JSON. */
#include "controller/api_handlers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "controller/live.h"
#include "controller/works.h"
#include "engine/explain.h"
#include "proto/explain_json.h"
#include "proto/explain_text.h"

/* One of them. */
struct explained {
        const struct explanation *record;
        const struct explained_idle *idle;
        const struct explained_fits *fits;
};

static void write_text(FILE *file, const struct explained *it, const struct explain_names *names)
{
        if (it->record)
                explain_text(file, it->record, names);
        else if (it->idle)
                explain_idle_text(file, it->idle, names);
        else
                explain_fits_text(file, it->fits, names);
}

static int make_json(const struct explained *it, const struct explain_names *names,
                     char **ret_text, struct err *err)
{
        if (it->record)
                return explain_json(it->record, names, ret_text, err);
        return it->idle ? explain_idle_json(it->idle, names, ret_text, err)
                        : explain_fits_json(it->fits, names, ret_text, err);
}

static const char *name_of(void *arg, uint64_t id)
{
        const struct work *work = works_find(arg, id);

        return work ? work->name : NULL;
}

static void reply(struct call *call, const struct explained *it, bool as_text)
{
        const struct explain_names names = {.state = core_state(call->live->core),
                                            .clock = true,
                                            .workload = name_of,
                                            .arg = core_works(call->live->core)};
        char *bytes = NULL;
        size_t size = 0;
        struct err err = {ERR_NOMEM, "out of memory"};
        FILE *file = as_text ? open_memstream(&bytes, &size) : NULL;

        if (file) {
                write_text(file, it, &names);
                (void)fclose(file);
        } else if (!as_text && make_json(it, &names, &bytes, &err) == 0) {
                size = strlen(bytes);
        }
        if (bytes)
                api_reply_text(call, as_text ? "text/plain; charset=utf-8" : "application/json",
                               bytes, size);
        else
                api_fail(call, &err);
        free(bytes);
}

/* ---- work ---- */

static struct viewer viewer_of(const struct call *call, const struct work *work, bool as_tenant)
{
        const struct tenancy *tenancy = core_tenancy(call->live->core);
        int tenant = tenancy ? tenancy_find(tenancy, work->tenant) : -1;

        return (struct viewer){.is_operator = !as_tenant &&
                                              access_may(&call->who, ACTION_SEE_ALL, NULL),
                               .tenant = tenant < 0 ? 0 : (uint16_t)tenant};
}

void get_explanation(struct http_exchange *exchange, const struct route_match *match, void *arg)
{
        char view[16] = "", format[8] = "json";
        struct call call;
        struct err err = {ERR_NOMEM, "out of memory"};
        struct work *work;

        if (!api_begin(arg, exchange, match, &call) ||
            !api_query(&call, "view", view, sizeof view) ||
            !api_query(&call, "format", format, sizeof format) ||
            !(work = api_live_work(&call, ACTION_SEE)))
                return;
        struct explanation *record = mem_new(1, sizeof *record);
        const struct state *state = core_state(call.live->core);
        if (!record ||
            explain(core_memo(call.live->core), state, work->id, api_now_ms(), record, &err) < 0 ||
            explain_view(record, state, viewer_of(&call, work, str_equal(view, "tenant")), &err) <
                    0) {
                api_fail(&call, &err);
        } else {
                record->snapshot = core_last_seq(call.live->core);
                reply(&call, &(struct explained){.record = record}, str_equal(format, "text"));
        }
        mem_free(record);
}

/* ---- capacity ---- */

void get_idle(struct http_exchange *exchange, const struct route_match *match, void *arg)
{
        char format[8] = "json";
        struct explained_idle *idle;
        struct call call;
        struct err err = {ERR_NOMEM, "out of memory"};

        if (!api_begin(arg, exchange, match, &call) ||
            !api_query(&call, "format", format, sizeof format))
                return;
        if (access_need(&call.who, ACTION_SEE_ALL, NULL, "idle capacity", &err) < 0) {
                api_fail(&call, &err);
                return;
        }
        idle = mem_new(1, sizeof *idle);
        if (idle && explain_idle(core_memo(call.live->core), core_state(call.live->core),
                                 api_now_ms(), idle, &err) == 0)
                reply(&call, &(struct explained){.idle = idle}, str_equal(format, "text"));
        else
                api_fail(&call, &err);
        mem_free(idle);
}

void get_fits(struct http_exchange *exchange, const struct route_match *match, void *arg)
{
        char tenant[TENANT_PATH_MAX], class[TENANCY_WORD_MAX] = "", format[8] = "json";
        const struct tenancy *tenancy;
        struct call call;
        struct err err;

        if (!api_begin(arg, exchange, match, &call) || !api_tenant(&call, tenant) ||
            !api_query(&call, "class", class, sizeof class) ||
            !api_query(&call, "format", format, sizeof format))
                return;
        tenancy = core_tenancy(call.live->core);
        int number = tenancy && tenant[0] ? tenancy_find(tenancy, tenant) : 0;
        int class_number = !tenancy   ? 0
                           : class[0] ? tenancy_class_find(tenancy, class)
                                      : tenancy->default_class;
        if (number < 0 || class_number < 0 || (tenancy && class_number >= CLASSES_MAX)) {
                if (number >= 0 && class[0] == '\0')
                        (void)err_set(&err, ERR_INPUT, "the policy has no default_class: name one "
                                                       "with 'class'");
                else
                        (void)err_set(&err, ERR_NOT_FOUND, "the policy has no %s '%s'",
                                      number < 0 ? "tenant" : "class", number < 0 ? tenant : class);
                api_fail(&call, &err);
                return;
        }
        struct explained_fits *fits = mem_new(1, sizeof *fits);
        (void)err_set(&err, ERR_NOMEM, "out of memory");
        if (fits && explain_fits(core_memo(call.live->core), core_state(call.live->core),
                                 (uint16_t)number, (uint16_t)class_number, api_now_ms(), fits,
                                 &err) == 0)
                reply(&call, &(struct explained){.fits = fits}, str_equal(format, "text"));
        else
                api_fail(&call, &err);
        mem_free(fits);
}
