#include "base/zone.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"

#define FOLDER       "/usr/share/zoneinfo"
#define HEADER_BYTES 44
#define OFFSET_S_MAX (26 * 3600) /* what a zone file may say of an offset */
#define TYPES_MAX    256
#define CHANGES_MAX  65536
#define DAY_S        86400

/* "M3.2.0/2": the second Sunday of March, at 02:00 of the clock that held before. */
struct change_day {
        int month, week, weekday;
        int32_t at_s;
};

/* What holds behind the last change of the list. */
struct rule {
        int32_t standard_s, summer_s;
        bool has_summer;
        struct change_day begin, end; /* of summer time */
};

struct zone {
        size_t changes_count;
        int64_t *changes_s; /* rising */
        int32_t *offsets_s; /* from each change on */
        int32_t first_s;    /* before the first one */
        bool has_rule;
        struct rule rule;
};

/* ---- days ---- */

static int64_t day_of(int64_t year, int month, int day)
{
        /* Days from March on, so that the leap day comes last. */
        int64_t y = month <= 2 ? year - 1 : year;
        int64_t era = y / 400, of_era = y % 400;
        int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;

        return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static int64_t year_of(int64_t utc_s)
{
        int64_t year = 1970 + utc_s / (365 * DAY_S); /* never too small */

        while (day_of(year, 1, 1) * DAY_S > utc_s)
                year--;
        return year;
}

/* The local second at which the change comes in that year. */
static int64_t change_local_s(const struct change_day *change, int64_t year)
{
        int64_t first = day_of(year, change->month, 1);
        int weekday = (int)(((first + 4) % 7 + 7) % 7); /* 1970-01-01 was a Thursday */
        int64_t day = first + (change->weekday - weekday + 7) % 7 + 7 * (change->week - 1);
        int64_t next =
                change->month == 12 ? day_of(year + 1, 1, 1) : day_of(year, change->month + 1, 1);

        while (day >= next) /* week 5 is the last one */
                day -= 7;
        return day * DAY_S + change->at_s;
}

static int32_t rule_offset_s(const struct rule *rule, int64_t utc_s)
{
        if (!rule->has_summer)
                return rule->standard_s;
        int64_t year = year_of(utc_s + rule->standard_s);
        int64_t begin = change_local_s(&rule->begin, year) - rule->standard_s;
        int64_t end = change_local_s(&rule->end, year) - rule->summer_s;
        bool is_summer =
                begin < end ? utc_s >= begin && utc_s < end : utc_s >= begin || utc_s < end;

        return is_summer ? rule->summer_s : rule->standard_s;
}

/* ---- the rule's text: "PST8PDT,M3.2.0,M11.1.0" ---- */

static bool skip(const char **at, char byte)
{
        if (**at != byte)
                return false;
        (*at)++;
        return true;
}

static bool read_number(const char **at, int max, int *ret_number)
{
        int number = 0;

        if (**at < '0' || **at > '9')
                return false;
        for (; **at >= '0' && **at <= '9'; (*at)++) {
                number = number * 10 + (**at - '0');
                if (number > max)
                        return false;
        }
        *ret_number = number;
        return true;
}

static bool skip_name(const char **at)
{
        const char *start = *at;

        if (skip(at, '<')) {
                while (**at && **at != '>')
                        (*at)++;
                return skip(at, '>');
        }
        while ((**at >= 'A' && **at <= 'Z') || (**at >= 'a' && **at <= 'z'))
                (*at)++;
        return *at > start;
}

/* "8", "-5:30", "167:00:00" */
static bool read_clock(const char **at, int32_t *ret_s)
{
        bool is_negative = skip(at, '-');
        int hours, minutes = 0, seconds = 0;

        if (!is_negative)
                skip(at, '+');
        if (!read_number(at, 167, &hours) ||
            (skip(at, ':') &&
             (!read_number(at, 59, &minutes) || (skip(at, ':') && !read_number(at, 59, &seconds)))))
                return false;
        *ret_s = (hours * 3600 + minutes * 60 + seconds) * (is_negative ? -1 : 1);
        return true;
}

static bool read_change(const char **at, struct change_day *change)
{
        change->at_s = 2 * 3600;
        if (!skip(at, ',') || !skip(at, 'M') || !read_number(at, 12, &change->month) ||
            !skip(at, '.') || !read_number(at, 5, &change->week) || !skip(at, '.') ||
            !read_number(at, 6, &change->weekday) || change->month == 0 || change->week == 0)
                return false;
        return !skip(at, '/') || read_clock(at, &change->at_s);
}

static bool is_offset(int32_t offset_s)
{
        return offset_s > -OFFSET_S_MAX && offset_s < OFFSET_S_MAX;
}

static bool read_rule(const char *text, struct rule *rule)
{
        int32_t west_s;

        if (!skip_name(&text) || !read_clock(&text, &west_s))
                return false;
        rule->standard_s = -west_s;
        if (*text == '\0')
                return is_offset(rule->standard_s);
        rule->has_summer = true;
        rule->summer_s = rule->standard_s + 3600;
        if (!skip_name(&text))
                return false;
        if (*text != ',') {
                if (!read_clock(&text, &west_s))
                        return false;
                rule->summer_s = -west_s;
        }
        return read_change(&text, &rule->begin) && read_change(&text, &rule->end) &&
               *text == '\0' && is_offset(rule->standard_s) && is_offset(rule->summer_s);
}

/* ---- the file ---- */

static uint64_t big_endian(const char *bytes, unsigned size)
{
        uint64_t value = 0;

        for (unsigned i = 0; i < size; i++)
                value = value << 8 | (unsigned char)bytes[i];
        return value;
}

/* The six counts of a header, and how many bytes its block has. */
struct block {
        size_t is_ut, is_std, leaps, changes, types, letters;
};

static bool read_block(const char *bytes, size_t size, struct block *block)
{
        if (size < HEADER_BYTES || memcmp(bytes, "TZif", 4) != 0)
                return false;
        block->is_ut = (size_t)big_endian(bytes + 20, 4);
        block->is_std = (size_t)big_endian(bytes + 24, 4);
        block->leaps = (size_t)big_endian(bytes + 28, 4);
        block->changes = (size_t)big_endian(bytes + 32, 4);
        block->types = (size_t)big_endian(bytes + 36, 4);
        block->letters = (size_t)big_endian(bytes + 40, 4);
        return block->changes <= CHANGES_MAX && block->types <= TYPES_MAX &&
               block->leaps <= CHANGES_MAX && block->letters <= ZONE_BYTES_MAX &&
               block->is_ut <= TYPES_MAX && block->is_std <= TYPES_MAX;
}

static size_t block_bytes(const struct block *block, size_t time_bytes)
{
        return block->changes * (time_bytes + 1) + block->types * 6 + block->letters +
               block->leaps * (time_bytes + 4) + block->is_std + block->is_ut;
}

static bool read_changes(struct zone *zone, const char *bytes, const struct block *block)
{
        const char *which = bytes + block->changes * 8;
        const char *types = which + block->changes;
        int32_t offsets[TYPES_MAX];

        for (size_t t = 0; t < block->types; t++) {
                offsets[t] = (int32_t)(uint32_t)big_endian(types + t * 6, 4);
                if (!is_offset(offsets[t]))
                        return false;
        }
        zone->first_s = offsets[0];
        for (size_t c = 0; c < block->changes; c++) {
                unsigned type = (unsigned char)which[c];
                zone->changes_s[c] = (int64_t)big_endian(bytes + c * 8, 8);
                if (type >= block->types || (c > 0 && zone->changes_s[c] <= zone->changes_s[c - 1]))
                        return false;
                zone->offsets_s[c] = offsets[type];
        }
        zone->changes_count = block->changes;
        return true;
}

/* The text between two line breaks at the end of the file. */
static bool read_footer(struct zone *zone, const char *bytes, size_t size)
{
        char text[128];

        if (size < 2 || bytes[0] != '\n' || bytes[size - 1] != '\n' || size - 2 >= sizeof text)
                return false;
        memcpy(text, bytes + 1, size - 2);
        text[size - 2] = '\0';
        zone->has_rule = text[0] != '\0';
        return !zone->has_rule || read_rule(text, &zone->rule);
}

static int fail_file(const char *name, struct err *err)
{
        char show[STR_SHOW_MAX];

        return err_set(err, ERR_INPUT,
                       "the file of time zone '%s' is none that is understood; is the package "
                       "tzdata whole?",
                       str_show(name, show));
}

static int fail_nomem(struct err *err)
{
        return err_set(err, ERR_NOMEM, "out of memory while reading a time zone");
}

int zone_parse(const char *name, const char *bytes, size_t size, struct zone **ret_zone,
               struct err *err)
{
        struct block first, second;

        /* The first block holds 32-bit times, for readers of long ago; the second all of them. */
        if (!read_block(bytes, size, &first) || bytes[4] < '2')
                return fail_file(name, err);
        size_t skipped = HEADER_BYTES + block_bytes(&first, 4);
        if (skipped > size || !read_block(bytes + skipped, size - skipped, &second) ||
            second.types == 0)
                return fail_file(name, err);
        const char *data = bytes + skipped + HEADER_BYTES;
        size_t left = size - skipped - HEADER_BYTES;
        if (block_bytes(&second, 8) > left)
                return fail_file(name, err);

        struct zone *zone = mem_new(1, sizeof *zone);
        if (!zone)
                return fail_nomem(err);
        zone->changes_s = mem_new(second.changes, sizeof *zone->changes_s);
        zone->offsets_s = mem_new(second.changes, sizeof *zone->offsets_s);
        int rc = zone->changes_s && zone->offsets_s ? 0 : fail_nomem(err);
        size_t used = block_bytes(&second, 8);
        if (rc == 0 &&
            (!read_changes(zone, data, &second) || !read_footer(zone, data + used, left - used)))
                rc = fail_file(name, err);
        if (rc < 0) {
                zone_free(zone);
                return rc;
        }
        *ret_zone = zone;
        return 0;
}

void zone_free(struct zone *zone)
{
        if (!zone)
                return;
        mem_free(zone->changes_s);
        mem_free(zone->offsets_s);
        mem_free(zone);
}

/* ---- by name ---- */

/* Words of letters, digits and "_+-" with slashes between them: never out of the folder. */
static bool is_name(const char *name)
{
        char before = '/';

        for (const char *at = name; *at; before = *at++) {
                bool is_word = (*at >= 'A' && *at <= 'Z') || (*at >= 'a' && *at <= 'z') ||
                               (*at >= '0' && *at <= '9') || *at == '_' || *at == '+' || *at == '-';
                if (!is_word && (*at != '/' || before == '/'))
                        return false;
        }
        return before != '/' && strlen(name) < ZONE_NAME_MAX;
}

int zone_load(const char *name, struct zone **ret_zone, struct err *err)
{
        char path[sizeof FOLDER + 1 + ZONE_NAME_MAX], show[STR_SHOW_MAX];
        char *bytes;
        size_t size;

        if (!is_name(name))
                return err_set(err, ERR_INPUT,
                               "'%s' is no name of a time zone; write for example Europe/Berlin, "
                               "America/Los_Angeles or UTC",
                               str_show(name, show));
        if (str_equal(name, "UTC")) {
                *ret_zone = mem_new(1, sizeof **ret_zone);
                return *ret_zone ? 0 : fail_nomem(err);
        }
        snprintf(path, sizeof path, "%s/%s", FOLDER, name);
        int rc = file_read(path, ZONE_BYTES_MAX, &bytes, &size, err);
        if (rc == -ERR_NOT_FOUND || rc == -ERR_IO)
                return err_set(err, ERR_NOT_FOUND,
                               "there is no time zone '%s' in %s; write for example Europe/Berlin "
                               "or UTC (zones are in Debian's package tzdata)",
                               str_show(name, show), FOLDER);
        if (rc < 0)
                return rc;
        rc = zone_parse(name, bytes, size, ret_zone, err);
        mem_free(bytes);
        return rc;
}

/* ---- asking ---- */

int32_t zone_offset_s(const struct zone *zone, int64_t utc_s)
{
        size_t low = 0, high = zone->changes_count;

        while (low < high) {
                size_t middle = low + (high - low) / 2;
                if (zone->changes_s[middle] <= utc_s)
                        low = middle + 1;
                else
                        high = middle;
        }
        if (low == zone->changes_count && zone->has_rule)
                return rule_offset_s(&zone->rule, utc_s);
        return low == 0 ? zone->first_s : zone->offsets_s[low - 1];
}

int64_t zone_utc_s(const struct zone *zone, int64_t local_s)
{
        assert(local_s >= 0);
        assert(local_s <= ZONE_S_MAX);

        /* A change lies within a day on both sides, if there is one near at all. */
        int32_t before = zone_offset_s(zone, local_s - DAY_S - 3600);
        int32_t after = zone_offset_s(zone, local_s + DAY_S + 3600);

        if (zone_offset_s(zone, local_s - before) == before)
                return local_s - before;
        if (zone_offset_s(zone, local_s - after) == after)
                return local_s - after;
        return local_s - before;
}
