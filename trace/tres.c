#include "trace/tres.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/str.h"

__extension__ typedef unsigned __int128 wide;

#define NUMBER_MAX      24 /* bytes of a number, the NUL included */
#define FRACTION_DIGITS 6
#define FRACTION_SCALE  1000000

/* Numbers may be shortened: "62.50G", "2K"; each letter is 1,024 times the one before. The result
 * counts in 1 << bare_shift where no letter stands, and in 1 << k_shift for K. */
static int read_scaled(const char *text, unsigned bare_shift, unsigned k_shift, wide *ret_scaled,
                       struct err *err)
{
        static const char letters[] = "KMGTPE";
        char number[NUMBER_MAX], show[STR_SHOW_MAX];
        size_t length = strlen(text);
        const char *letter = length > 0 ? strchr(letters, text[length - 1]) : NULL;
        unsigned shift = letter ? k_shift + 10 * (unsigned)(letter - letters) : bare_shift;
        uint64_t scaled = 0;

        if (length >= sizeof number)
                return err_set(err, ERR_INPUT, "'%s' is too long for a number",
                               str_show(text, show));
        memcpy(number, text, length + 1);
        if (letter)
                number[length - 1] = '\0';
        int rc = num_fixed(number, FRACTION_DIGITS, 0, UINT64_C(1000000000) * FRACTION_SCALE,
                           &scaled, err);
        if (rc == 0)
                *ret_scaled = (wide)scaled << shift;
        return rc;
}

static int check_max(const char *text, wide value, uint64_t max, struct err *err)
{
        char show[STR_SHOW_MAX];

        if (value > max)
                return err_set(err, ERR_RANGE, "'%s' is more than the %" PRIu64 " that are read",
                               str_show(text, show), max);
        return 0;
}

static int read_count(const char *text, uint64_t max, uint64_t *ret_count, struct err *err)
{
        char show[STR_SHOW_MAX];
        wide scaled = 0;
        int rc = read_scaled(text, 0, 10, &scaled, err);

        if (rc < 0 || (rc = check_max(text, scaled / FRACTION_SCALE, max, err)) < 0)
                return rc;
        if (scaled % FRACTION_SCALE != 0)
                return err_set(err, ERR_INPUT, "'%s' is not a whole number", str_show(text, show));
        *ret_count = (uint64_t)(scaled / FRACTION_SCALE);
        return 0;
}

static int read_count_u32(const char *text, uint32_t max, uint32_t *ret_count, struct err *err)
{
        uint64_t count = 0;
        int rc = read_count(text, max, &count, err);

        if (rc == 0)
                *ret_count = (uint32_t)count;
        return rc;
}

static int read_mib(const char *text, uint64_t *ret_mib, struct err *err)
{
        wide kib = 0, mib_scaled = (wide)FRACTION_SCALE * 1024;
        int rc = read_scaled(text, 10, 0, &kib, err);

        if (rc < 0)
                return rc;
        wide mib = (kib + mib_scaled - 1) / mib_scaled;
        if ((rc = check_max(text, mib, TRES_MIB_MAX, err)) == 0)
                *ret_mib = (uint64_t)mib;
        return rc;
}

static const char *skip_digits(const char *at)
{
        while (*at >= '0' && *at <= '9')
                at++;
        return at;
}

/* Whether the whole text is a profile: "3g.20gb", "1g.5gb+me"; a plus may be spelt as '.', '_'. */
static bool is_profile(const char *text)
{
        const char *at = skip_digits(text);

        if (at == text || at[0] != 'g' || at[1] != '.')
                return false;
        text = at + 2;
        at = skip_digits(text);
        if (at == text || at[0] != 'g' || at[1] != 'b')
                return false;
        at += 2;
        return *at == '\0' || ((*at == '+' || *at == '.' || *at == '_') &&
                               (str_equal(at + 1, "me") || str_equal(at + 1, "gfx")));
}

/* Where the profile starts in a type, or NULL. */
static const char *find_profile(const char *type)
{
        for (const char *at = type; *at; at++)
                if ((at == type || strchr("_-.:", at[-1])) && is_profile(at))
                        return at;
        return NULL;
}

/* Takes a type apart into model and profile. */
static int read_type(const char *text, struct tres_type *type, struct err *err)
{
        char show[STR_SHOW_MAX];
        const char *profile = find_profile(text);
        size_t length = profile ? (size_t)(profile - text) : strlen(text);

        for (const char *at = text; *at; at++)
                if (!((*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') ||
                      (*at >= '0' && *at <= '9') || strchr("_-.+", *at)))
                        return err_set(err, ERR_INPUT, "'%s' is no type of a device",
                                       str_show(text, show));
        if (profile) {
                while (length > 0 && strchr("_-.", text[length - 1]))
                        length--;
                if (length >= 4 && memcmp(text + length - 4, "_mig", 4) == 0)
                        length -= 4;
        }
        if ((length == 0 && !profile) || length >= sizeof type->model ||
            (profile && !str_copy(type->profile, sizeof type->profile, profile)))
                return err_set(err, ERR_INPUT,
                               "'%s' is no type of a device: 1 to %zu bytes, a profile up to %zu",
                               str_show(text, show), sizeof type->model - 1,
                               sizeof type->profile - 1);
        memcpy(type->model, text, length);
        type->model[length] = '\0';
        char *plus = profile ? strstr(type->profile, "gb") + 2 : NULL;
        if (plus && *plus)
                *plus = '+';
        return 0;
}

static int add_type(struct tres *tres, const char *text, const char *value, struct err *err)
{
        struct tres_type type = {0};
        int rc;

        if ((rc = read_type(text, &type, err)) < 0 ||
            (rc = read_count_u32(value, TRES_COUNT_MAX, &type.count, err)) < 0)
                return rc;
        if (tres->types_count == TRES_TYPES_MAX)
                return err_set(err, ERR_RANGE, "has more than %d types of devices", TRES_TYPES_MAX);
        if (type.count > 0)
                tres->types[tres->types_count++] = type;
        return 0;
}

/* gres/shard, gres/mps and both with a type, which names the same shares again. */
static int add_share(struct tres *tres, const char *type, const char *value, uint32_t *count,
                     struct err *err)
{
        struct tres_type of = {0};
        uint32_t more = 0;
        int rc = read_count_u32(value, TRES_COUNT_MAX, &more, err);

        if (rc < 0 || (type && (rc = read_type(type, &of, err)) < 0))
                return rc;
        if (type && more > 0)
                memcpy(tres->share_model, of.model, sizeof of.model);
        if (more > *count)
                *count = more;
        return 0;
}

/* One entry; `key` may be changed. */
static int read_entry(struct tres *tres, char *key, const char *value, struct err *err)
{
        uint64_t number;
        char *colon = strchr(key, ':');
        const char *type = colon ? colon + 1 : NULL;
        int rc;

        if (str_equal(key, "cpu"))
                return read_count(value, TRES_CPUS_MAX, &tres->cpus, err);
        if (str_equal(key, "mem"))
                return read_mib(value, &tres->ram_mib, err);
        if (str_equal(key, "node"))
                return read_count_u32(value, TRES_COUNT_MAX, &tres->nodes, err);
        if (colon)
                *colon = '\0';
        if (str_equal(key, "gres/gpu") && type)
                return add_type(tres, type, value, err);
        if (str_equal(key, "gres/gpu")) {
                rc = read_count(value, TRES_COUNT_MAX, &number, err);
                if (rc == 0)
                        tres->gpus = (uint32_t)number;
                return rc;
        }
        if (str_equal(key, "gres/shard"))
                return add_share(tres, type, value, &tres->shards, err);
        if (str_equal(key, "gres/mps"))
                return add_share(tres, type, value, &tres->mps_percent, err);
        return 0;
}

/* Total and types name the same devices: whichever says more. */
static int settle(struct tres *tres, struct err *err)
{
        uint32_t typed = 0;

        for (uint32_t t = 0; t < tres->types_count; t++)
                typed += tres->types[t].count;
        if (typed > TRES_COUNT_MAX)
                return err_set(err, ERR_RANGE, "has more than %d devices", TRES_COUNT_MAX);
        if (tres->gpus < typed)
                tres->gpus = typed;
        return 0;
}

int tres_parse(const char *text, struct tres *ret_tres, struct err *err)
{
        assert(text);

        struct tres tres = {0};
        char copy[TRES_TEXT_MAX], show[STR_SHOW_MAX];
        int rc;

        if (!str_copy(copy, sizeof copy, text))
                return err_set(err, ERR_RANGE, "is longer than %d bytes", TRES_TEXT_MAX - 1);
        for (char *key = copy, *next; *key; key = next) {
                size_t length = strcspn(key, ",");
                next = key + length + (key[length] == ',');
                key[length] = '\0';
                char *equals = strchr(key, '=');
                if (!equals || equals == key)
                        return err_set(err, ERR_INPUT,
                                       "'%s' is not of the form name=number, as in "
                                       "cpu=4,gres/gpu=1,mem=8G,node=1",
                                       str_show(key, show));
                *equals = '\0';
                if ((rc = read_entry(&tres, key, equals + 1, err)) < 0)
                        return err_prefix(err, "%s", str_show(key, show));
        }
        if ((rc = settle(&tres, err)) < 0)
                return rc;
        *ret_tres = tres;
        return 0;
}

static uint32_t divide_up(uint32_t total, uint32_t members)
{
        return total / members + (total % members != 0);
}

static void take_types(const struct tres *tres, struct tres_devices *part)
{
        const struct tres_type *most = &tres->types[0];
        uint32_t typed = most->count;
        bool is_one_model = true;

        for (uint32_t t = 1; t < tres->types_count; t++) {
                const struct tres_type *type = &tres->types[t];
                typed += type->count;
                is_one_model = is_one_model && str_equal(type->model, tres->types[0].model);
                if (type->count > most->count)
                        most = type;
        }
        part->is_mixed = tres->types_count > 1 || typed < tres->gpus;
        memcpy(part->profile, most->profile, sizeof part->profile);
        if (most->profile[0] || is_one_model)
                memcpy(part->model, most->model, sizeof part->model);
}

/* `total` shares, `whole` of which are one device. */
static void take_shares(uint32_t total, uint32_t whole, uint32_t members, struct tres_devices *part)
{
        uint32_t each = divide_up(total, members);

        part->devices = divide_up(each, whole);
        uint64_t all_milli = (uint64_t)each * 1000, of = (uint64_t)whole * part->devices;
        uint64_t milli = (all_milli + of - 1) / of;
        part->share_milli = milli >= 1000 ? 0 : (uint16_t)milli;
        part->is_uneven = total % members != 0;
}

void tres_divide(const struct tres *tres, uint32_t members, uint32_t shards_per_device,
                 struct tres_devices *ret_devices)
{
        assert(members > 0);
        assert(shards_per_device > 0);

        struct tres_devices part = {0};
        uint32_t shared = tres->shards ? tres->shards : tres->mps_percent;

        if (tres->gpus > 0) {
                part.devices = divide_up(tres->gpus, members);
                part.is_uneven = tres->gpus % members != 0;
                if (tres->types_count > 0)
                        take_types(tres, &part);
                else
                        part.is_untyped = true;
                part.is_mixed = part.is_mixed || shared > 0;
        } else if (shared > 0) {
                take_shares(shared, tres->shards ? shards_per_device : 100, members, &part);
                memcpy(part.model, tres->share_model, sizeof part.model);
                part.is_untyped = part.model[0] == '\0';
                part.is_mixed = tres->shards > 0 && tres->mps_percent > 0;
        }
        *ret_devices = part;
}
