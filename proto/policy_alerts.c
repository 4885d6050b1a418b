/* The key `alerts` of a policy. */
#include <string.h>

#include "base/doc.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "proto/policy_impl.h"

static int read_state(const struct doc_node *node, int64_t *ret_threshold, struct err *err)
{
        static const char *const words[] = {"off", "on"};
        unsigned index = 0;
        int rc = doc_choice(node, words, ARRAY_LEN(words), &index, err);

        if (rc == 0)
                *ret_threshold = index == 1 ? 1 : ALERT_OFF;
        return rc;
}

static int read_threshold(const struct doc_node *node, enum alert_kind kind,
                          int64_t *ret_threshold, struct err *err)
{
        uint64_t milli = 0;
        int rc = 0;

        if (!node)
                return 0;
        if (doc_kind(node) == DOC_NULL)
                return doc_fail(node, err, "has no threshold; write one, or off");
        if (alert_measure_of(kind) == ALERT_STATE)
                return read_state(node, ret_threshold, err);
        if (doc_raw(node) && str_equal(doc_raw(node), "off")) {
                *ret_threshold = ALERT_OFF;
                return 0;
        }
        if (alert_measure_of(kind) == ALERT_TIME)
                return doc_duration_ms(node, 1, ALERT_TIME_MS_MAX, ret_threshold, err);
        rc = doc_milli(node, 1, 1000, &milli, err);
        if (rc == 0)
                *ret_threshold = (int64_t)milli;
        return rc;
}

static bool is_this_machine(const char *url)
{
        static const char *const begins[] = {"http://localhost", "http://127.0.0.1",
                                             "http://[::1]"};

        for (size_t b = 0; b < ARRAY_LEN(begins); b++) {
                size_t length = strlen(begins[b]);
                if (strncmp(url, begins[b], length) == 0 && strchr(":/", url[length]))
                        return true;    /* its end too */
        }
        return false;
}

static int read_webhook(struct alert_rules *rules, const struct doc_node *map, struct err *err)
{
        static const char *const keys[] = {"url", "secret_file"};
        const struct doc_node *url, *secret = doc_get(map, "secret_file");
        int rc;

        if (!map)
                return 0;
        if ((rc = doc_check_keys(map, keys, ARRAY_LEN(keys), err)) < 0 ||
            (rc = doc_need(map, "url", &url, err)) < 0 ||
            (rc = doc_copy(url, rules->webhook_url, sizeof rules->webhook_url, err)) < 0 ||
            (rc = doc_copy(secret, rules->webhook_secret_file,
                           sizeof rules->webhook_secret_file, err)) < 0)
                return rc;
        const char *at = rules->webhook_url;
        bool known = strncmp(at, "https://", 8) == 0 && at[8] && at[8] != '/';
        if (!known && !is_this_machine(at))
                return doc_fail(url, err, "is no address; write https://HOST/PATH (http:// to this "
                                          "machine only)");
        for (; *at; at++)
                if (*at <= ' ' || *at >= 127 || *at == '#' || *at == '@')
                        return doc_fail(url, err, "holds a blank, '#', '@' or what is not ASCII; a "
                                                  "secret belongs into secret_file");
        if (secret && rules->webhook_secret_file[0] != '/')
                return doc_fail(secret, err, "is no whole path; write /etc/berth/webhook.key");
        return 0;
}

int policy_read_alerts(struct alert_rules *rules, const struct doc_node *map, struct err *err)
{
        const char *keys[ALERT_KINDS_END + 2];
        int rc;

        if (!map)
                return 0;
        for (unsigned k = 0; k < ALERT_KINDS_END; k++)
                keys[k] = alert_kind_names[k];
        keys[ALERT_KINDS_END] = "for";
        keys[ALERT_KINDS_END + 1] = "webhook";
        rc = doc_check_keys(map, keys, ARRAY_LEN(keys), err);
        for (unsigned k = 0; rc == 0 && k < ALERT_KINDS_END; k++)
                rc = read_threshold(doc_get(map, alert_kind_names[k]), (enum alert_kind)k,
                                    &rules->thresholds[k], err);
        if (rc == 0)
                rc = doc_duration_ms(doc_get(map, "for"), 0, INT64_C(86400000), &rules->hold_ms,
                                     err);
        return rc ? rc : read_webhook(rules, doc_get(map, "webhook"), err);
}
