#include "cli/usage.h"

#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "cli/json_in.h"
#include "cli/listing.h"

#define BY_USUAL "tenant"

static const char *const by_names[] = {"tenant", "class", "model", "method", "hour", "day"};

static const struct command_option options[] = {
        {"from", 0, "TIME", "from then on: " TALK_TIME},
        {"until", 0, "TIME", "up to then; the default is now. The default for --from is a day before"},
        {"by", 0, "NAME,...",
         "a row for each: tenant (the default), class, model, method, hour, day"},
        {"tenant", 't', "PATH", "of this tenant and those below it"},
        COMMAND_LIVE_OPTIONS,
        {0},
};

static const char details[] =
        "Device-hours by the ledger, each in one bucket: delivered, idle while held, lost, and so\n"
        "on (docs/ledger.md). The cost is that of the pool's prices, where it has any. Whole hours\n"
        "are counted: a span from now is widened to them.\n"
        "\n"
        "examples:\n"
        "  berth usage\n"
        "  berth usage --from 2027-01-01 --until 2027-02-01 --by tenant,model\n"
        "  berth usage --from -1h --until now\n"
        "  berth usage --by day --json\n";

/* The names of --by as columns; `names` keeps their texts. */
static int add_columns(const char *by, char names[ARRAY_LEN(by_names)][16],
                       struct listing_column *columns, size_t *count, struct err *err)
{
        char show[STR_SHOW_MAX], near[STR_NEAR_MAX];

        for (const char *at = by; *at; at += *at == ',') {
                size_t length = strcspn(at, ",");
                if (*count == ARRAY_LEN(by_names) || length >= sizeof names[0])
                        return err_set(err, ERR_INPUT, "--by '%s' names too much",
                                       str_show(by, show));
                char *name = names[*count];
                memcpy(name, at, length);
                name[length] = '\0';
                bool is_known = false;
                for (size_t i = 0; i < ARRAY_LEN(by_names); i++)
                        is_known = is_known || str_equal(by_names[i], name);
                if (!is_known)
                        return err_set(
                                err, ERR_INPUT, "--by: there is no '%s'; %s", str_show(name, show),
                                str_near(by_names, ARRAY_LEN(by_names), name, near, sizeof near));
                columns[(*count)++] = (struct listing_column){name, name, LISTING_TEXT};
                at += length;
        }
        return 0;
}

void usage_put_counted(const json_t *answer, FILE *file)
{
        char counted[JSON_IN_MAX], until[JSON_IN_MAX];

        json_in_clean(answer, "counted_until", counted);
        if (counted[0] && strcmp(counted, json_in_clean(answer, "until", until)) < 0)
                fprintf(file, ", counted until %.16sZ", counted);
}

int usage_print(const json_t *answer, const struct talk *talk, FILE *file, struct err *err)
{
        struct listing_column columns[LISTING_COLUMNS_MAX] = {{0}};
        char names[ARRAY_LEN(by_names)][16], from[JSON_IN_MAX], until[JSON_IN_MAX];
        char cost[JSON_IN_MAX + 16] = "cost", currency[JSON_IN_MAX];
        const char *by = command_value(talk->call, "by");
        size_t count = 0;
        int rc = add_columns(by ? by : BY_USUAL, names, columns, &count, err);

        if (rc < 0)
                return rc;
        size_t fixed = count;
        if (json_in_clean(answer, "currency", currency)[0])
                snprintf(cost, sizeof cost, "cost %s", currency);
        columns[count++] = (struct listing_column){"bucket", "bucket", LISTING_TEXT};
        columns[count++] = (struct listing_column){"device_hours", "device-hours", LISTING_NUMBER};
        columns[count++] = (struct listing_column){"cost", cost, LISTING_NUMBER};
        fprintf(file, "%s to %s", json_in_clean(answer, "from", from),
                json_in_clean(answer, "until", until));
        usage_put_counted(answer, file);
        fputc('\n', file);
        return listing_print(json_object_get(answer, "rows"), columns, fixed,
                             json_in_has(answer, "counted_until")
                                     ? "nothing was used in that time"
                                     : "nothing is counted yet: ask again in some seconds",
                             &talk->screen, file, err);
}

static int run(const struct command_call *call)
{
        struct text path = {0};
        const char *by = command_value(call, "by");

        text_add(&path, "/v1/usage");
        talk_path_option(&path, call, "from");
        talk_path_option(&path, call, "until");
        talk_path_option(&path, call, "tenant");
        talk_path_query(&path, "by", by ? by : BY_USUAL);
        return talk_show(call, &path, usage_print);
}

const struct command usage_command = {
        .name = "usage",
        .group = GROUP_POOL,
        .is_live = true,
        .arguments = "",
        .summary = "who used what, in device-hours and cost",
        .details = details,
        .options = options,
        .run = run,
};
