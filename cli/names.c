#include "cli/names.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/str.h"
#include "base/text.h"
#include "cli/json_in.h"
#include "cli/place.h"
#include "cli/talk.h"
#include "net/client.h"

#define ABOUT_KEYS 3

static const struct command_option options[] = {
        {"context", 0, "NAME", "which pool, of those that `berth context list` shows"},
        {0},
};

static const char details[] =
        "What the shells' completion asks for: names of a kind that begin with PREFIX.\n"
        "\n"
        "examples:\n"
        "  berth __complete nodes -- gpu-\n";

/* Where the names of a kind are. */
struct source {
        const char *path;              /* NULL: not at the pool */
        const char *list, *name;       /* keys; the list of those without a name holds texts */
        const char *about[ABOUT_KEYS]; /* what else is said of one; NULL ends it */
};

static const struct source sources[] = {
        [NAMES_WORKLOADS] = {"/v1/workloads?state=live&limit=1000",
                             "workloads",
                             "name",
                             {"id", "state", "tenant"}},
        [NAMES_HISTORY] = {"/v1/workloads?state=live&limit=1000",
                           "workloads",
                           "name",
                           {"id", "state", "tenant"}},
        [NAMES_NODES] = {"/v1/nodes?limit=1000", "nodes", "name", {"state", "model"}},
        [NAMES_MODELS] = {"/v1/pool", "models", "model", {"devices"}},
        [NAMES_PLANES] = {"/v1/nodes?limit=1000", "nodes", "plane", {0}},
        [NAMES_TENANTS] = {"/v1/tenants", "tenants", "tenant", {0}},
        [NAMES_CLASSES] = {"/v1/pool", "classes", NULL, {0}},
        [NAMES_RESERVATIONS] = {"/v1/reservations", "reservations", "name", {"state", "tenant"}},
        [NAMES_MAINTENANCE] = {"/v1/maintenance", "maintenance", "name", {"state"}},
        [NAMES_CONTEXTS] = {0},
};
_Static_assert(ARRAY_LEN(sources) == NAMES_KINDS_END, "a source for each kind");

/* Instead of the live ones, where none of them fits. */
static const char ended_path[] = "/v1/workloads?state=all&limit=1000";

const char *names_word(enum names_kind kind)
{
        static const char *const words[] = {
#define X(kind, word) word,
                NAMES_KINDS(X)
#undef X
        };

        return words[kind];
}

/* ---- what is offered ---- */

struct offer {
        const char *prefix;
        const char *names[NAMES_MAX]; /* borrowed from the answer */
        size_t count;
        struct text text;
};

/* One that a shell can put on a line: no option, no blank or control in it. */
static bool is_fit(const char *name)
{
        if (!name[0] || name[0] == '-')
                return false;
        for (size_t at = 0, size = strlen(name), length; at < size; at += length) {
                bool is_fit;
                length = str_letter(name + at, size - at, &is_fit);
                if (!is_fit || name[at] == ' ')
                        return false;
        }
        return true;
}

static bool begins(const struct offer *offer, const char *name)
{
        return strncmp(name, offer->prefix, strlen(offer->prefix)) == 0;
}

static void add(struct offer *offer, const char *name, const char *about)
{
        if (offer->count == NAMES_MAX || !is_fit(name) || !begins(offer, name))
                return;
        for (size_t i = 0; i < offer->count; i++)
                if (str_equal(offer->names[i], name))
                        return;
        offer->names[offer->count++] = name;
        text_add(&offer->text, "%s%s%s\n", name, about[0] ? "\t" : "", about);
}

/* "17, running, web" */
static void describe(const json_t *row, const struct source *source, char *ret_about, size_t size)
{
        char word[JSON_IN_MAX];
        size_t used = 0;

        ret_about[0] = '\0';
        for (size_t k = 0; k < ABOUT_KEYS && source->about[k]; k++) {
                if (!json_in_words(row, source->about[k], word)[0])
                        continue;
                int length =
                        snprintf(ret_about + used, size - used, "%s%s", used ? ", " : "", word);
                used += length > 0 ? (size_t)length : 0;
                if (used >= size)
                        return;
        }
}

/* Work without a name, or whose number is being typed, goes by its number. */
static void add_number(struct offer *offer, const json_t *row, const char *about)
{
        const char *name = json_in_text(row, "name");
        int64_t id = json_in_number(row, "id");
        char number[32];

        snprintf(number, sizeof number, "%" PRId64, id);
        if (id <= 0 || offer->count == NAMES_MAX || !begins(offer, number) ||
            (!offer->prefix[0] && name[0]))
                return;
        offer->names[offer->count++] = "";
        text_add(&offer->text, "%s\t%s%s%s\n", number, name, name[0] ? ", " : "", about);
}

static void add_list(struct offer *offer, const json_t *answer, const struct source *source)
{
        const json_t *list = json_object_get(answer, source->list), *row;
        char about[ABOUT_KEYS * JSON_IN_MAX];
        size_t i;

        json_array_foreach(list, i, row)
        {
                const char *text =
                        source->name ? json_in_text(row, source->name) : json_string_value(row);
                describe(row, source, about, sizeof about);
                add(offer, text ? text : "", about);
                if (str_equal(source->list, "workloads"))
                        add_number(offer, row, about);
        }
}

static void put(const struct offer *offer)
{
        if (!offer->text.failed && offer->text.size > 0)
                fwrite(offer->text.bytes, 1, offer->text.size, stdout);
}

/* ---- who is asked ---- */

/* What the line says for an option: "--tenant a", "--tenant=a", "-t a"; NULL: nothing. */
static const char *on_line(const struct command_call *call, const char *option, const char *letter)
{
        size_t length = strlen(option);

        for (size_t i = 1; i < call->tail_count; i++) {
                const char *word = call->tail[i];
                bool has_next = i + 1 < call->tail_count;
                if (str_equal(word, "--"))
                        break;
                if (has_next && (str_equal(word, option) || str_equal(word, letter)))
                        return call->tail[i + 1];
                if (strncmp(word, option, length) == 0 && word[length] == '=')
                        return word + length + 1;
        }
        return NULL;
}

/* Asks, and offers what it is told, before the answer is let go. */
static int ask(struct talk *talk, const char *begin, const struct source *source,
               struct offer *offer, struct err *err)
{
        const char *tenant =
                str_equal(source->list, "workloads") ? on_line(talk->call, "--tenant", "-t") : NULL;
        struct text path = {0};
        json_t *answer = NULL;

        text_add(&path, "%s", begin);
        talk_path_query(&path, "tenant", tenant && tenant[0] ? tenant : NULL);
        int rc = path.failed ? -ERR_RANGE : talk_get_json(talk, path.bytes, &answer, err);
        if (rc == 0)
                add_list(offer, answer, source);
        json_decref(answer);
        text_done(&path);
        return rc;
}

static void offer_of_pool(const struct command_call *call, enum names_kind kind,
                          struct offer *offer)
{
        struct command_call with_context = *call;
        struct talk talk;
        struct err err;

        if (!with_context.values[0])
                with_context.values[0] = on_line(call, "--context", "--context");
        int rc = talk_open(&with_context, &talk, &err);
        if (rc == 0)
                rc = ask(&talk, sources[kind].path, &sources[kind], offer, &err);
        if (rc == 0 && kind == NAMES_HISTORY && offer->count == 0)
                (void)ask(&talk, ended_path, &sources[kind], offer, &err);
        client_free(talk.client);
}

static void offer_contexts(struct offer *offer)
{
        struct places *places = NULL;

        if (places_load(&places, NULL) < 0)
                return;
        for (size_t i = 0; i < places->count; i++)
                add(offer, places->list[i].name, places->list[i].url);
        mem_free(places);
}

/* ---- the command ---- */

static void end(int signal_number)
{
        (void)signal_number;
        _exit(EXIT_FINE);
}

/* All of it counts, name servers and slow disks too: whoever pressed TAB waits. */
static void limit_time(void)
{
        const char *given = getenv("BERTH_COMPLETE_MS");
        uint64_t ms = NAMES_MS;
        struct sigaction action = {.sa_handler = end};

        if (given && num_u64(given, 1, NAMES_MS_MAX, &ms, NULL) < 0)
                ms = NAMES_MS;
        const struct itimerval timer = {
                .it_value = {.tv_sec = (time_t)(ms / 1000), .tv_usec = (long)(ms % 1000 * 1000)}};
        sigemptyset(&action.sa_mask);
        sigaction(SIGALRM, &action, NULL);
        setitimer(ITIMER_REAL, &timer, NULL);
}

/* Of "--tenant=re", as some shells hand it on, what stands behind the sign. */
static const char *prefix_of(const struct command_call *call)
{
        const char *word = call->tail_count > 0 ? call->tail[0] : "";
        const char *sign = strncmp(word, "--", 2) == 0 ? strchr(word, '=') : NULL;

        return sign ? sign + 1 : word;
}

static int run(const struct command_call *call)
{
        static const struct itimerval never = {0};
        struct offer offer = {.prefix = prefix_of(call)};
        char show[STR_SHOW_MAX];
        unsigned kind = 0;

        while (kind < NAMES_KINDS_END && !str_equal(names_word(kind), call->arguments[0]))
                kind++;
        if (kind == NAMES_KINDS_END) {
                fprintf(stderr, "berth __complete: there is no kind '%s'\n",
                        str_show(call->arguments[0], show));
                return EXIT_BAD_INPUT;
        }
        limit_time();
        if (kind == NAMES_CONTEXTS)
                offer_contexts(&offer);
        else
                offer_of_pool(call, kind, &offer);
        setitimer(ITIMER_REAL, &never, NULL); /* all of the lines, or none */
        put(&offer);
        text_done(&offer.text);
        return EXIT_FINE;
}

const struct command names_command = {
        .name = "__complete",
        .group = GROUP_SELF,
        .arguments = "KIND",
        .arguments_min = 1,
        .arguments_max = 1,
        .tail = "PREFIX [WORD ...]",
        .summary = "names for a shell to offer",
        .details = details,
        .options = options,
        .run = run,
};
