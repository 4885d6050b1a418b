#include "cli/store_check.h"

#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "cli/json_out.h"
#include "cli/outputs.h"
#include "sim/log_source.h"
#include "store/check.h"
#include "store/log.h"
#include "store/prune.h"
#include "store/store.h"

struct look {
        const char *path;
        bool prints;
        json_t *findings;               /* NULL: out of memory */
};

static void see_finding(void *self, const char *sentence)
{
        struct look *look = self;

        if (look->prints)
                printf("%s\n", sentence);
        if (json_array_append_new(look->findings, json_string(sentence)) < 0) {
                json_decref(look->findings);
                look->findings = NULL;
        }
}

/* ---- the key ---- */

static int digit_of(char c)
{
        if (c >= '0' && c <= '9')
                return c - '0';
        if (c >= 'a' && c <= 'f')
                return c - 'a' + 10;
        return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static bool is_hex(const char *text, uint8_t ret_key[SEAL_PUBLIC_BYTES])
{
        if (strlen(text) != 2 * SEAL_PUBLIC_BYTES)
                return false;
        for (size_t i = 0; i < SEAL_PUBLIC_BYTES; i++) {
                int high = digit_of(text[2 * i]), low = digit_of(text[2 * i + 1]);
                if (high < 0 || low < 0)
                        return false;
                ret_key[i] = (uint8_t)(high << 4 | low);
        }
        return true;
}

/* Digits, or the file that has both halves; one that is not there is not made. */
static int read_key(const char *text, uint8_t ret_key[SEAL_PUBLIC_BYTES], struct err *err)
{
        struct seal_key key;
        char *bytes;
        size_t size;
        int rc;

        if (is_hex(text, ret_key))
                return 0;
        rc = file_read(text, 1u << 16, &bytes, &size, err);
        if (rc)
                return err_prefix(err, "--key (neither 64 digits nor a file)");
        mem_free(bytes);
        rc = seal_key_load(text, &key, err);
        if (rc)
                return rc;
        memcpy(ret_key, key.public_key, SEAL_PUBLIC_BYTES);
        seal_key_wipe(&key);
        return 0;
}

/* ---- one file ---- */

static void print_report(const char *path, const struct check_report *report,
                         const struct log_head *base, const struct log_head *head)
{
        printf("%s: ", path);
        if (report->records == 0)
                printf("no records");
        else
                printf("records %" PRIu64 " to %" PRIu64, base->seq + 1, head->seq);
        printf(", %" PRIu64 " snapshots, %" PRIu64 " heads, %" PRIu64 " objects, %" PRIu64
               " rows of usage, %" PRIu64 " of the review, %" PRIu64 " keys: ",
               report->snapshots, report->heads, report->objects, report->usage_rows,
               report->review_rows, report->keys);
        if (report->findings)
                printf("%" PRIu64 " finding%s\n", report->findings,
                       report->findings == 1 ? "" : "s");
        else
                printf("whole\n");
}

static json_t *report_json(const char *path, const struct check_report *report,
                           const struct log_head *base, const struct log_head *head,
                           json_t *findings)
{
        char hash[2 * STORE_HASH_BYTES + 1];

        for (size_t i = 0; i < STORE_HASH_BYTES; i++)
                (void)snprintf(hash + 2 * i, 3, "%02x", head->hash[i]);
        return json_pack("{s:s, s:b, s:o, s:I, s:I, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I}",
                         "file",
                         path, "whole", report->findings == 0, "findings", findings, "from_record",
                         (json_int_t)base->seq, "until_record", (json_int_t)head->seq, "hash", hash,
                         "records", (json_int_t)report->records, "snapshots",
                         (json_int_t)report->snapshots, "heads", (json_int_t)report->heads,
                         "objects", (json_int_t)report->objects, "usage_rows",
                         (json_int_t)report->usage_rows, "review_rows",
                         (json_int_t)report->review_rows, "keys", (json_int_t)report->keys);
}

static int look_at(struct look *look, struct store *store, const uint8_t *public_key,
                   json_t *list, bool *ret_found, struct err *err)
{
        const struct check_options options = {.public_key = public_key};
        struct check_report report;
        struct log_head base = {0}, head = {0};
        int rc = store_check(store, &options, see_finding, look, &report, err);

        if (rc == 0 && !look->findings)
                rc = err_set(err, ERR_NOMEM, "out of memory");
        if (rc)
                return rc;
        /* What cannot be read is among the findings. */
        (void)log_base(store, &base, NULL);
        (void)log_head(store, &head, NULL);
        if (look->prints)
                print_report(look->path, &report, &base, &head);
        *ret_found |= report.findings > 0;
        rc = json_array_append_new(list, report_json(look->path, &report, &base, &head,
                                                     json_incref(look->findings)));
        return rc ? err_set(err, ERR_NOMEM, "out of memory") : 0;
}

/* An export is checked whole when it is opened: what is wrong with it is the one finding. */
static int find_damage(struct look *look, const struct err *why, json_t *list, bool *ret_found,
                       struct err *err)
{
        const struct check_report report = {.findings = 1};
        const struct log_head none = {0};

        see_finding(look, why->text);
        if (!look->findings)
                return err_set(err, ERR_NOMEM, "out of memory");
        if (look->prints)
                printf("%s: 1 finding\n", look->path);
        *ret_found = true;
        int rc = json_array_append_new(list, report_json(look->path, &report, &none, &none,
                                                         json_incref(look->findings)));
        return rc ? err_set(err, ERR_NOMEM, "out of memory") : 0;
}

static int look_at_file(const char *path, bool prints, const uint8_t *public_key, json_t *list,
                        bool *ret_found, struct err *err)
{
        struct look look = {.path = path, .prints = prints, .findings = json_array()};
        struct log_source *source;
        struct err why = {0};
        bool is_export;
        int rc = log_source_is_export(path, &is_export, err);

        if (rc == 0 && (rc = log_source_open(path, &source, &why)) < 0)
                rc = rc == -ERR_INPUT && is_export
                             ? find_damage(&look, &why, list, ret_found, err)
                             : err_set(err, why.code, "%s", why.text);
        else if (rc == 0) {
                rc = look_at(&look, log_source_store(source), public_key, list, ret_found, err);
                log_source_close(source);
        }
        json_decref(look.findings);
        return rc;
}

/* ---- all of them ---- */

int store_check_files(const struct command_call *call, enum exit_code *ret_code, struct err *err)
{
        const char *json = command_value(call, "json"), *key = command_value(call, "key");
        const struct output output = {"json", json};
        uint8_t public_key[SEAL_PUBLIC_BYTES];
        bool prints = !json || !str_equal(json, "-"), found = false;
        int rc = outputs_check(&output, 1, call->arguments, call->arguments_count, NULL,
                               err);

        if (rc == 0 && key)
                rc = read_key(key, public_key, err);
        if (rc)
                return rc;
        json_t *list = json_array();
        for (size_t a = 0; rc == 0 && a < call->arguments_count; a++)
                rc = look_at_file(call->arguments[a], prints, key ? public_key : NULL, list, &found,
                                  err);
        if (rc == 0 && json)
                rc = json_out_file(json_incref(list), json, err);
        json_decref(list);
        *ret_code = found ? EXIT_TROUBLE : EXIT_FINE;
        return rc;
}
