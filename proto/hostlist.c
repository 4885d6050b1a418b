#include "proto/hostlist.h"

#include <assert.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"

#define DIGITS_MAX 9

/* One bracket, walked range by range: it says where it is. */
struct bracket {
        const char *start; /* behind '[' */
        const char *at;    /* behind the range that is walked */
        uint32_t number, last;
        int width; /* digits, filled up with zeros */
};

struct walk {
        const char *text; /* of the whole list, for sentences */
        struct bracket brackets[HOSTLIST_BRACKETS_MAX];
        size_t names, names_max;
        hostlist_take *take;
        void *arg;
};

static bool is_name_byte(char byte)
{
        return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
               (byte >= '0' && byte <= '9') || byte == '-' || byte == '_' || byte == '.';
}

static int fail(const struct walk *walk, struct err *err, const char *why)
{
        char show[STR_SHOW_MAX];

        return err_set(err, ERR_INPUT, "'%s' %s; write names such as gpu-07 or gpu-[01-04,07]",
                       str_show(walk->text, show), why);
}

static int read_number(const struct walk *walk, const char **at, uint32_t *ret_number,
                       int *ret_digits, struct err *err)
{
        uint32_t number = 0;
        int digits = 0;

        for (; **at >= '0' && **at <= '9'; (*at)++, digits++) {
                if (digits == DIGITS_MAX)
                        return fail(walk, err, "has a number of more than 9 digits");
                number = number * 10 + (uint32_t)(**at - '0');
        }
        if (digits == 0)
                return fail(walk, err, "has no number where one must stand in brackets");
        *ret_number = number;
        *ret_digits = digits;
        return 0;
}

/* Reads the next range; the bracket's `at` stands in front of it. */
static int read_range(const struct walk *walk, struct bracket *bracket, struct err *err)
{
        const char *start = bracket->at;
        int digits, last_digits, rc;

        if ((rc = read_number(walk, &bracket->at, &bracket->number, &digits, err)) < 0)
                return rc;
        bracket->last = bracket->number;
        last_digits = digits;
        if (*bracket->at == '-') {
                bracket->at++;
                if ((rc = read_number(walk, &bracket->at, &bracket->last, &last_digits, err)) < 0)
                        return rc;
        }
        if (bracket->last < bracket->number)
                return fail(walk, err, "has a range that falls");
        bool is_filled = *start == '0' && digits > 1;
        if (digits != last_digits && (is_filled || digits > last_digits))
                return fail(walk, err, "has a range whose ends differ in digits");
        if (*bracket->at != ',' && *bracket->at != ']')
                return fail(walk, err, "has brackets that do not end");
        bracket->width = is_filled ? digits : 0;
        return 0;
}

/* The next number of a bracket; false: it began anew, and the bracket before it moves. */
static int step(const struct walk *walk, struct bracket *bracket, bool *ret_moved, struct err *err)
{
        *ret_moved = true;
        if (bracket->number < bracket->last) {
                bracket->number++;
                return 0;
        }
        *ret_moved = *bracket->at == ',';
        bracket->at = *ret_moved ? bracket->at + 1 : bracket->start;
        return read_range(walk, bracket, err);
}

/* The name as the brackets now stand; *ret_end is the ',' or NUL behind its pattern. */
static int write_name(const struct walk *walk, const char *pattern, char name[HOSTLIST_NAME_MAX],
                      struct err *err)
{
        size_t length = 0;
        unsigned count = 0;

        for (const char *at = pattern; *at && *at != ','; at++) {
                char piece[16] = {*at, '\0'};
                if (*at == '[') {
                        const struct bracket *bracket = &walk->brackets[count++];
                        snprintf(piece, sizeof piece, "%0*" PRIu32, bracket->width,
                                 bracket->number);
                        at = strchr(at, ']');
                        assert(at);
                }
                size_t more = strlen(piece);
                if (length + more >= HOSTLIST_NAME_MAX) {
                        char show[STR_SHOW_MAX];
                        return err_set(err, ERR_RANGE, "'%s' makes a name of more than %d bytes",
                                       str_show(walk->text, show), HOSTLIST_NAME_MAX - 1);
                }
                memcpy(name + length, piece, more);
                length += more;
        }
        name[length] = '\0';
        return 0;
}

/* Finds the brackets of one pattern and its end. */
static int read_pattern(struct walk *walk, const char *pattern, unsigned *ret_count,
                        const char **ret_end, struct err *err)
{
        const char *at = pattern;
        unsigned count = 0;
        int rc;

        for (; *at && *at != ','; at++) {
                if (is_name_byte(*at))
                        continue;
                if (*at != '[')
                        return fail(walk, err, "has a byte that no name may have");
                if (count == HOSTLIST_BRACKETS_MAX)
                        return fail(walk, err, "has more than 4 brackets in one name");
                struct bracket *bracket = &walk->brackets[count++];
                bracket->start = at + 1;
                /* Every range is looked at once before any name is made. */
                for (bracket->at = bracket->start;; bracket->at++) {
                        if ((rc = read_range(walk, bracket, err)) < 0)
                                return rc;
                        if (*bracket->at == ']')
                                break;
                }
                at = bracket->at;
                bracket->at = bracket->start;
                if ((rc = read_range(walk, bracket, err)) < 0)
                        return rc;
        }
        if (at == pattern)
                return fail(walk, err, "has an empty name");
        *ret_count = count;
        *ret_end = at;
        return 0;
}

static int walk_pattern(struct walk *walk, const char *pattern, unsigned count, struct err *err)
{
        char name[HOSTLIST_NAME_MAX], show[STR_SHOW_MAX];
        int rc;

        for (;;) {
                if (walk->names == walk->names_max)
                        return err_set(
                                err, ERR_RANGE,
                                "'%s' makes more than the %zu names that still fit; write fewer",
                                str_show(walk->text, show), walk->names_max);
                if ((rc = write_name(walk, pattern, name, err)) < 0 ||
                    (rc = walk->take(walk->arg, name, err)) < 0)
                        return rc;
                walk->names++;
                unsigned b = count;
                bool moved = false;
                while (b > 0 && !moved)
                        if ((rc = step(walk, &walk->brackets[--b], &moved, err)) < 0)
                                return rc;
                if (!moved)
                        return 0;
        }
}

int hostlist_expand(const char *text, size_t names_max, hostlist_take *take, void *arg,
                    struct err *err)
{
        struct walk walk = {.text = text, .names_max = names_max, .take = take, .arg = arg};
        const char *at = text, *end = text;
        unsigned count = 0;
        int rc;

        if (strlen(text) >= HOSTLIST_TEXT_MAX)
                return err_set(err, ERR_RANGE, "a list of names of more than %d bytes",
                               HOSTLIST_TEXT_MAX - 1);
        for (;; at = end + 1) {
                if ((rc = read_pattern(&walk, at, &count, &end, err)) < 0 ||
                    (rc = walk_pattern(&walk, at, count, err)) < 0)
                        return rc;
                if (*end == '\0')
                        return 0;
        }
}
