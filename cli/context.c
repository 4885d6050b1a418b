#include "cli/context.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "cli/grid.h"
#include "cli/json_out.h"
#include "cli/place.h"

static const struct command_option options[] = {
#define X(field, option, value, help) {option, 0, value, help},
        PLACE_FIELDS(X)
#undef X
        {"json", 0, NULL, "list, show: print JSON instead"},
        {0},
};

static const char details[] =
        "list    the contexts; the current one has a star\n"
        "show    which pool a command would speak to, and as whom\n"
        "use     commands that name no context speak to this pool from now on\n"
        "set     makes a context or changes it; an empty value takes a field away\n"
        "remove  forgets it\n"
        "\n"
        "A command takes the pool from --context, else from BERTH_URL, else from BERTH_CONTEXT,\n"
        "else the one in use, else " PLACE_DEFAULT_URL ". BERTH_TOKEN_FILE and BERTH_TENANT go\n"
        "before what a context says; BERTH_CA_FILE and BERTH_PIN belong to BERTH_URL. Contexts\n"
        "stand in ~/.config/berth/contexts.yaml, or where BERTH_CONTEXTS says; they hold no\n"
        "secrets.\n"
        "\n"
        "examples:\n"
        "  berth context set lab --url https://pool.lab:7070 --token-file ~/.berth-token\n"
        "  berth context set lab --tenant research/nlp\n"
        "  berth context use lab\n"
        "  berth context list\n";

/* The sentence, and the code. */
static int end(const struct command_call *call, int rc, const struct err *err)
{
        if (rc == 0)
                return EXIT_FINE;
        fprintf(stderr, "berth %s: %s\n", call->command->name, err->text);
        return rc == -ERR_NOMEM ? EXIT_TROUBLE : EXIT_BAD_INPUT;
}

/* What a context says; "" is left out. */
static json_t *place_json(const struct place *place)
{
        json_t *json = json_object();

        if (place->name[0])
                (void)json_object_set_new(json, "name", json_string(place->name));
#define X(field, option, value, help) \
        if (place->field[0]) \
                (void)json_object_set_new(json, #field, json_string(place->field));
        PLACE_FIELDS(X)
#undef X
        return json;
}

static json_t *list_json(const struct places *places)
{
        json_t *rows = json_array();

        for (size_t i = 0; i < places->count; i++)
                (void)json_array_append_new(rows, place_json(&places->list[i]));
        return json_pack("{s:s, s:o}", "current", places->current, "contexts", rows);
}

static int print_list(const struct places *places, struct err *err)
{
        struct screen screen = screen_look();
        struct grid *grid;

        if (places->count == 0) {
                puts("there is no context; make one: berth context set NAME --url URL");
                return 0;
        }
        if (!(grid = grid_new(2)))
                return grid_no_memory(err);
        grid_column(grid, "", false);
        grid_column(grid, "name", false);
        grid_column(grid, "url", false);
        grid_column(grid, "tenant", false);
        grid_column(grid, "token file", false);
        for (size_t i = 0; i < places->count; i++) {
                const struct place *place = &places->list[i];
                grid_row(grid);
                grid_cell(grid, "%s", str_equal(place->name, places->current) ? "*" : "");
                grid_cell(grid, "%s", place->name);
                grid_cell(grid, "%s", place->url);
                grid_cell(grid, "%s", place->tenant);
                grid_cell(grid, "%s", place->token_file);
        }
        return grid_finish(grid, NULL, screen.width, stdout, err);
}

static int run_list(const struct command_call *call)
{
        struct places *places = NULL;
        struct err err = {0};
        int rc = places_load(&places, &err);

        if (rc == 0)
                rc = command_value(call, "json") ? json_out_file(list_json(places), "-", &err)
                                                 : print_list(places, &err);
        mem_free(places);
        return end(call, rc, &err);
}

static int run_show(const struct command_call *call)
{
        struct place place;
        struct err err = {0};
        int rc = place_choose(NULL, &place, &err);

        if (rc == 0 && command_value(call, "json"))
                return end(call, json_out_file(place_json(&place), "-", &err), &err);
        if (rc < 0)
                return end(call, rc, &err);
        if (place.name[0])
                printf("%-12s %s\n", "context", place.name);
#define X(field, option, value, help) \
        if (place.field[0]) \
                printf("%-12s %s\n", option, place.field);
        PLACE_FIELDS(X)
#undef X
        return EXIT_FINE;
}

static int run_use(const struct command_call *call)
{
        const char *name = call->arguments[0];
        struct places *places = NULL;
        struct err err = {0};
        int rc = places_load(&places, &err);

        if (rc == 0 && !places_find(places, name, &err))
                rc = -ERR_NOT_FOUND;
        if (rc == 0) {
                bool fits = str_copy(places->current, sizeof places->current, name);
                rc = fits ? places_save(places, &err) : -ERR_RANGE;
        }
        mem_free(places);
        return end(call, rc, &err);
}

/* ---- set, remove ---- */

/* The context of that name, or a new one at the end. */
static int find_or_make(struct places *places, const char *name, struct place **ret_place,
                        struct err *err)
{
        *ret_place = places_find(places, name, NULL);
        if (*ret_place)
                return 0;
        if (places->count == PLACE_CONTEXTS_MAX)
                return err_set(err, ERR_FULL, "there are %d contexts already; remove one",
                               PLACE_CONTEXTS_MAX);
        struct place *place = &places->list[places->count];
        if (!name[0] || !str_copy(place->name, sizeof place->name, name))
                return err_set(err, ERR_RANGE, "a name has 1 to %d bytes", PLACE_NAME_MAX - 1);
        places->count++;
        *ret_place = place;
        return 0;
}

/* A file is found from wherever the context is used, so it is kept with its whole path. */
static int set_field(const char *option, const char *given, bool is_file, char *field,
                     struct err *err)
{
        char here[PLACE_TEXT_MAX] = "";
        bool is_relative = is_file && given[0] && given[0] != '/';

        if (is_relative && !getcwd(here, sizeof here))
                return err_set(err, ERR_INPUT, "the folder we are in: %s; write --%s as /PATH",
                               strerror(errno), option);
        int length = snprintf(field, PLACE_TEXT_MAX, "%s%s%s", here, is_relative ? "/" : "", given);
        if (length >= PLACE_TEXT_MAX)
                return err_set(err, ERR_RANGE, "--%s has more than %d bytes", option,
                               PLACE_TEXT_MAX - 1);
        return 0;
}

static int set_fields(const struct command_call *call, struct place *place, struct err *err)
{
        const char *given;

#define X(field, option, value, help) \
        if ((given = command_value(call, option)) && \
            set_field(option, given, str_equal(value, "FILE"), place->field, err) < 0) \
                return (int)-err->code;
        PLACE_FIELDS(X)
#undef X
        if (!place->url[0])
                return err_set(err, ERR_INPUT, "say where the pool is: --url https://host:port");
        return 0;
}

static int run_set(const struct command_call *call)
{
        struct places *places = NULL;
        struct place *place = NULL;
        struct err err = {0};
        int rc = places_load(&places, &err);

        if (rc == 0)
                rc = find_or_make(places, call->arguments[0], &place, &err);
        if (rc == 0)
                rc = set_fields(call, place, &err);
        if (rc == 0 && places->count == 1) /* the only one is the one in use */
                memcpy(places->current, place->name, sizeof places->current);
        if (rc == 0)
                rc = places_save(places, &err);
        mem_free(places);
        return end(call, rc, &err);
}

static int run_remove(const struct command_call *call)
{
        struct places *places = NULL;
        struct err err = {0};
        int rc = places_load(&places, &err);
        struct place *place = rc == 0 ? places_find(places, call->arguments[0], &err) : NULL;

        if (rc == 0 && !place)
                rc = -ERR_NOT_FOUND;
        if (rc == 0) {
                if (str_equal(places->current, place->name))
                        places->current[0] = '\0';
                size_t index = (size_t)(place - places->list);
                places->count--;
                memmove(place, place + 1, (places->count - index) * sizeof *place);
                rc = places_save(places, &err);
        }
        mem_free(places);
        return end(call, rc, &err);
}

static const struct command_action actions[] = {
        {"list", "", 0, 0, run_list},         {"show", "", 0, 0, run_show},
        {"use", "NAME", 1, 1, run_use},       {"set", "NAME", 1, 1, run_set},
        {"remove", "NAME", 1, 1, run_remove}, {0},
};

const struct command context_command = {
        .name = "context",
        .group = GROUP_SELF,
        .summary = "which pools there are to speak to, and which one is in use",
        .details = details,
        .options = options,
        .actions = actions,
};
