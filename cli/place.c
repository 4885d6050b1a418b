#include "cli/place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/doc.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "net/token.h"

/* NULL for an empty one too. */
static const char *variable(const char *name)
{
        const char *value = getenv(name);

        return value && value[0] ? value : NULL;
}

static int too_long(const char *what, struct err *err)
{
        return err_set(err, ERR_RANGE, "%s has more than %d bytes", what, PLACE_TEXT_MAX - 1);
}

/* ---- the file ---- */

int places_path(char *ret_path, size_t size, struct err *err)
{
        const char *file = variable("BERTH_CONTEXTS"), *config = variable("XDG_CONFIG_HOME");
        const char *home = variable("HOME");
        int length;

        if (!file && !config && !home)
                return err_set(err, ERR_NOT_FOUND,
                               "HOME is not set; name the file of contexts in BERTH_CONTEXTS");
        if (file)
                length = snprintf(ret_path, size, "%s", file);
        else if (config)
                length = snprintf(ret_path, size, "%s/berth/contexts.yaml", config);
        else
                length = snprintf(ret_path, size, "%s/.config/berth/contexts.yaml", home);
        if (length < 0 || (size_t)length >= size)
                return too_long("the path of the file of contexts", err);
        return 0;
}

static int read_place(const struct doc_node *node, struct place *place, struct err *err)
{
        static const char *const keys[] = {
#define X(field, option, value, help) #field,
                PLACE_FIELDS(X)
#undef X
        };
        const struct doc_node *url;
        int rc;

        if (!str_copy(place->name, sizeof place->name, doc_key(node)))
                return doc_fail(node, err, "has a name of more than %d bytes", PLACE_NAME_MAX - 1);
        if ((rc = doc_check_keys(node, keys, ARRAY_LEN(keys), err)) < 0 ||
            (rc = doc_need(node, "url", &url, err)) < 0)
                return rc;
#define X(field, option, value, help) \
        if ((rc = doc_copy(doc_get(node, #field), place->field, PLACE_TEXT_MAX, err)) < 0) \
                return rc;
        PLACE_FIELDS(X)
#undef X
        return 0;
}

static int read_places(const struct doc *doc, struct places *places, struct err *err)
{
        static const char *const keys[] = {"current", "contexts"};
        const struct doc_node *root = doc_root(doc, 0), *all = doc_get(root, "contexts");
        int rc;

        if ((rc = doc_check_keys(root, keys, ARRAY_LEN(keys), err)) < 0 ||
            (rc = doc_copy(doc_get(root, "current"), places->current, PLACE_NAME_MAX, err)) < 0 ||
            (all && (rc = doc_check_map(all, err)) < 0))
                return rc;
        if (doc_length(all) > PLACE_CONTEXTS_MAX)
                return doc_fail(all, err, "has %zu contexts; at most %d are possible",
                                doc_length(all), PLACE_CONTEXTS_MAX);
        DOC_EACH(node, all) {
                if ((rc = read_place(node, &places->list[places->count], err)) < 0)
                        return rc;
                places->count++;
        }
        return 0;
}

int places_load(struct places **ret_places, struct err *err)
{
        char path[PLACE_TEXT_MAX];
        struct doc *doc = NULL;
        int rc = places_path(path, sizeof path, err);

        if (rc < 0)
                return rc;
        struct places *places = mem_new(1, sizeof *places);
        if (!places)
                return err_set(err, ERR_NOMEM, "out of memory");
        rc = doc_read_file(path, &doc, err);
        if (rc == 0)
                rc = read_places(doc, places, err);
        else if (rc == -ERR_NOT_FOUND)
                rc = 0; /* nobody made one yet */
        doc_free(doc);
        if (rc < 0)
                mem_free(places);
        else
                *ret_places = places;
        return rc;
}

/* `path`'s folder and those above it. What fails shows when the file is written. */
static void make_folders(const char *path)
{
        char folder[PLACE_TEXT_MAX];

        (void)str_copy(folder, sizeof folder, path);
        for (char *at = folder + 1; (at = strchr(at, '/')); at++) {
                *at = '\0';
                (void)mkdir(folder, 0700);
                *at = '/';
        }
}

static void write_place(struct text *text, const struct place *place)
{
        const char *between = "";

        text_add(text, "  ");
        text_add_json(text, place->name);
        text_add(text, ": {");
#define X(field, option, value, help) \
        if (place->field[0]) { \
                text_add(text, "%s" #field ": ", between); \
                text_add_json(text, place->field); \
                between = ", "; \
        }
        PLACE_FIELDS(X)
#undef X
        text_add(text, "}\n");
}

int places_save(const struct places *places, struct err *err)
{
        char path[PLACE_TEXT_MAX];
        struct text text = {0};
        int rc = places_path(path, sizeof path, err);

        if (rc < 0)
                return rc;
        if (places->current[0]) {
                text_add(&text, "current: ");
                text_add_json(&text, places->current);
                text_add(&text, "\n");
        }
        text_add(&text, "contexts:%s\n", places->count == 0 ? " {}" : "");
        for (size_t i = 0; i < places->count; i++)
                write_place(&text, &places->list[i]);
        make_folders(path);
        rc = text.failed ? err_set(err, ERR_NOMEM, "out of memory")
                         : file_write(path, text.bytes, text.size, err);
        text_done(&text);
        return rc;
}

struct place *places_find(struct places *places, const char *name, struct err *err)
{
        struct str_near near;
        char show[STR_SHOW_MAX], known[STR_NEAR_MAX];

        str_near_init(&near, name);
        for (size_t i = 0; i < places->count; i++) {
                if (str_equal(places->list[i].name, name))
                        return &places->list[i];
                str_near_add(&near, places->list[i].name);
        }
        if (places->count == 0)
                err_set(err, ERR_NOT_FOUND,
                        "there is no context '%s'; make it: berth context set '%s' --url URL",
                        str_show(name, show), show);
        else
                err_set(err, ERR_NOT_FOUND, "there is no context '%s'; %s", str_show(name, show),
                        str_near_text(&near, known, sizeof known));
        return NULL;
}

/* ---- choosing ---- */

/* Over what a context says. */
static int take_variables(struct place *place, bool is_by_url, struct err *err)
{
        const struct {
                const char *name;
                char *field;
                bool with_url; /* it belongs to BERTH_URL, not to a context */
        } rows[] = {
                {"BERTH_URL", place->url, true},
                {"BERTH_CA_FILE", place->ca_file, true},
                {"BERTH_PIN", place->pin, true},
                {"BERTH_TOKEN_FILE", place->token_file, false},
                {"BERTH_TENANT", place->tenant, false},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                const char *value = variable(rows[i].name);
                if (!value || (rows[i].with_url && !is_by_url))
                        continue;
                if (!str_copy(rows[i].field, PLACE_TEXT_MAX, value))
                        return too_long(rows[i].name, err);
        }
        return 0;
}

static int take_context(const char *name, struct place *place, struct err *err)
{
        struct places *places;
        int rc = places_load(&places, err);

        if (rc == -ERR_NOT_FOUND && !name)
                return 0; /* no home, and no context asked for */
        if (rc < 0)
                return rc;
        if (!name && places->current[0])
                name = places->current;
        if (name) {
                const struct place *found = places_find(places, name, err);
                if (found)
                        *place = *found;
                else
                        rc = -ERR_NOT_FOUND;
        }
        mem_free(places);
        return rc;
}

int place_choose(const char *context, struct place *ret_place, struct err *err)
{
        struct place place = {.url = PLACE_DEFAULT_URL};
        bool is_by_url = !context && variable("BERTH_URL");
        int rc = 0;

        if (!context)
                context = variable("BERTH_CONTEXT");
        if (!is_by_url)
                rc = take_context(context, &place, err);
        if (rc == 0)
                rc = take_variables(&place, is_by_url, err);
        if (rc == 0)
                *ret_place = place;
        return rc;
}

int place_token(const char *file, char *ret_token, size_t size, struct err *err)
{
        struct token token;
        char *text = NULL;
        size_t length = 0;
        int rc = file_read(file, 4096, &text, &length, err);

        if (rc < 0)
                return rc;
        const char *start = text + strspn(text, " \t\r\n");
        size_t kept = strcspn(start, " \t\r\n");
        text[(size_t)(start - text) + kept] = '\0';
        rc = token_parse(start, &token, err);
        if (rc == 0 && !str_copy(ret_token, size, start))
                rc = err_set(err, ERR_RANGE, "the token is too long");
        token_wipe(&token, sizeof token);
        token_wipe(text, length);
        mem_free(text);
        return rc < 0 ? err_prefix(err, "%s", file) : 0;
}
