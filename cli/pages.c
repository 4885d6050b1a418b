#include "cli/pages.h"

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/json_in.h"
#include "cli/json_out.h"

#define PAGES_MAX  1000
#define PAGE_LIMIT "1000" /* items, the most that the server gives at once */

/* Adds the page to `list`; ret_after is where the next one begins, "": that was the last. `flag`
 * may be NULL. */
static int add_page(struct talk *talk, const char *start, const char *key, const char *flag,
                    json_t *list, char after[JSON_IN_MAX], struct err *err)
{
        struct text path = {0};
        json_t *answer = NULL;

        text_add(&path, "%s", start);
        talk_path_query(&path, "limit", PAGE_LIMIT);
        talk_path_query(&path, "after", after[0] ? after : NULL);
        if (flag)
                talk_path_query(&path, flag, "true");
        int rc = path.failed ? err_set(err, ERR_RANGE, "what is asked for is too long")
                             : talk_get_json(talk, path.bytes, &answer, err);
        text_done(&path);
        if (rc == 0 && json_array_extend(list, json_object_get(answer, key)) < 0)
                rc = err_set(err, ERR_IO, "%s answered no list of %s", talk->place.url, key);
        json_in_words(answer, "next", after);
        json_decref(answer);
        return rc;
}

static int put_json(json_t *all, struct err *err)
{
        char *text = NULL;
        size_t size = 0;
        int rc = json_out_add(json_incref(all), JSON_COMPACT, &text, &size, err);

        if (rc == 0)
                fwrite(text, 1, size, stdout);
        mem_free(text);
        return rc;
}

static int add_first(struct talk *talk, const char *start, const char *key, const char *flag,
                     json_t *list, char after[JSON_IN_MAX], struct err *err)
{
        int rc = add_page(talk, start, key, flag, list, after, err);

        if (!flag || rc == 0 || talk->code != EXIT_BAD_INPUT)
                return rc;
        talk->code = EXIT_FINE;         /* what is wrong with the rest is said again */
        return add_page(talk, start, key, NULL, list, after, err);
}

int pages_show(const struct command_call *call, struct text *path, const char *key,
               const char *first_only, talk_printer *print)
{
        json_t *list = json_array(), *all = json_pack("{s: O}", key, list);
        char after[JSON_IN_MAX] = "";
        struct err err = {0};
        struct talk talk;
        int rc = talk_open(call, &talk, &err);

        if (rc == 0 && (!all || path->failed))
                rc = err_set(&err, ERR_RANGE, "what is asked for is too long");
        for (unsigned page = 0; rc == 0 && page < PAGES_MAX; page++) {
                rc = page == 0 ? add_first(&talk, path->bytes, key, first_only, list, after, &err)
                               : add_page(&talk, path->bytes, key, NULL, list, after, &err);
                if (!after[0])
                        break;
        }
        if (rc == 0)
                rc = talk_is_json(&talk) ? put_json(all, &err) : print(all, &talk, stdout, &err);
        json_decref(all);
        json_decref(list);
        text_done(path);
        return talk_close(&talk, rc, &err);
}
