#include "net/uri.h"

#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"

static int hex_digit(char c)
{
        if (c >= '0' && c <= '9')
                return c - '0';
        c |= 0x20;
        return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool is_control(char c)
{
        return (unsigned char)c < 0x20 || c == 0x7f;
}

/* One byte of the text at *at; -1: broken. */
static int decode_byte(const char *bytes, size_t length, size_t *at, bool plus_is_space)
{
        char c = bytes[(*at)++];

        if (c == '+' && plus_is_space)
                return ' ';
        if (c != '%')
                return (unsigned char)c;
        if (length - *at < 2)
                return -1;
        int high = hex_digit(bytes[*at]), low = hex_digit(bytes[*at + 1]);
        if (high < 0 || low < 0)
                return -1;
        *at += 2;
        return high * 16 + low;
}

static int decode_into(const char *bytes, size_t length, bool plus_is_space, char *ret_text,
                       size_t size, struct err *err)
{
        size_t used = 0;

        for (size_t at = 0; at < length;) {
                int byte = decode_byte(bytes, length, &at, plus_is_space);
                if (byte < 0)
                        return err_set(err, ERR_INPUT,
                                       "'%%' must stand before two hex digits; write %%25 for "
                                       "the sign itself");
                if (is_control((char)byte))
                        return err_set(err, ERR_INPUT, "control byte 0x%02x in the address",
                                       (unsigned)byte);
                if (used + 1 >= size)
                        return err_set(err, ERR_INPUT, "longer than %zu bytes", size - 1);
                ret_text[used++] = (char)byte;
        }
        ret_text[used] = '\0';
        if (!str_is_utf8(ret_text, used, NULL))
                return err_set(err, ERR_INPUT, "bytes that are not UTF-8");
        return 0;
}

int uri_decode(const char *bytes, size_t length, bool plus_is_space, char *ret_text, size_t size,
               struct err *err)
{
        assert(size > 0);

        int rc = decode_into(bytes, length, plus_is_space, ret_text, size, err);
        if (rc < 0)
                ret_text[0] = '\0';
        return rc;
}

static bool is_plain(char c)
{
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               (c != '\0' && strchr("-._~", c));
}

bool uri_encode(const char *text, char *ret_text, size_t size)
{
        static const char hex[] = "0123456789ABCDEF";
        size_t used = 0;

        assert(size > 0);
        ret_text[0] = '\0';
        for (const char *at = text; *at; at++) {
                if (size - used <= (is_plain(*at) ? 1u : 3u)) {
                        ret_text[0] = '\0';
                        return false;
                }
                if (is_plain(*at)) {
                        ret_text[used++] = *at;
                        continue;
                }
                ret_text[used++] = '%';
                ret_text[used++] = hex[(unsigned char)*at >> 4];
                ret_text[used++] = hex[(unsigned char)*at & 15];
        }
        ret_text[used] = '\0';
        return true;
}

/* The next "name=value" of a query: decodes the name, leaves the value. 1, 0 at the end. */
static int next_pair(const char **query, char name[URI_VALUE_MAX], const char **ret_value,
                     size_t *ret_length, struct err *err)
{
        while (**query == '&')
                ++*query;
        if (!**query)
                return 0;
        size_t whole = strcspn(*query, "&"), name_length = strcspn(*query, "=&");
        const char *start = *query;
        bool has_value = name_length < whole;

        *query += whole;
        *ret_value = start + name_length + has_value;
        *ret_length = whole - name_length - has_value;
        int rc = uri_decode(start, name_length, true, name, URI_VALUE_MAX, err);
        if (rc < 0)
                return err_prefix(err, "a name in the query");
        return 1;
}

int query_get(const char *query, const char *name, char *ret_value, size_t size, struct err *err)
{
        char found[URI_VALUE_MAX];
        const char *value, *wanted = NULL;
        size_t length, wanted_length = 0;
        int rc, pairs = 0;

        while ((rc = next_pair(&query, found, &value, &length, err)) > 0) {
                if (++pairs > QUERY_PAIRS_MAX)
                        return err_set(err, ERR_INPUT, "more than %d fields in the query",
                                       QUERY_PAIRS_MAX);
                if (!str_equal(found, name))
                        continue;
                if (wanted)
                        return err_set(err, ERR_INPUT, "'%s' comes twice in the query", name);
                wanted = value;
                wanted_length = length;
        }
        if (rc < 0 || !wanted)
                return rc;

        char decoded[URI_VALUE_MAX];
        rc = uri_decode(wanted, wanted_length, true, decoded,
                        size < sizeof decoded ? size : sizeof decoded, err);
        if (rc < 0)
                return err_prefix(err, "'%s' in the query", name);
        memcpy(ret_value, decoded, strlen(decoded) + 1);
        return 1;
}

static int refuse_name(const char *name, const char *const *names, size_t count, struct err *err)
{
        char near[STR_NEAR_MAX], shown[STR_SHOW_MAX];

        return err_set(err, ERR_INPUT, "unknown field '%s' in the query; %s", str_show(name, shown),
                       str_near(names, count, name, near, sizeof near));
}

int query_check(const char *query, const char *const *names, size_t count, struct err *err)
{
        char name[URI_VALUE_MAX], value[URI_VALUE_MAX];
        const char *at = query, *raw;
        size_t length;
        int rc;

        while ((rc = next_pair(&at, name, &raw, &length, err)) > 0) {
                size_t i = 0;
                while (i < count && !str_equal(names[i], name))
                        i++;
                if (i == count)
                        return refuse_name(name, names, count, err);
                if ((rc = query_get(query, name, value, sizeof value, err)) < 0)
                        return rc;
        }
        return rc;
}
