#include <inttypes.h>
#include <stdio.h>

#include "engine/units.h"
#include "proto/policy_doc.h"

const char *policy_dimension_key(const struct tenancy *tenancy, const struct model_table *models,
                                 unsigned dimension, char buf[POLICY_TEXT_MAX])
{
        if (dimension < MODELS_MAX)
                snprintf(buf, POLICY_TEXT_MAX, "%s",
                         dimension < model_count(models) ? model_get(models, dimension)->name
                                                         : "unknown model");
        else if (dimension >= DIM_SLICES)
                snprintf(buf, POLICY_TEXT_MAX, "slices of %s",
                         tenancy->profiles[dimension - DIM_SLICES]);
        else
                snprintf(buf, POLICY_TEXT_MAX, "%s", dimension_word(dimension));
        return buf;
}

const char *policy_dimension_text(const struct tenancy *tenancy, const struct model_table *models,
                                  unsigned dimension, char buf[POLICY_TEXT_MAX])
{
        if (dimension != DIM_ANY)
                return policy_dimension_key(tenancy, models, dimension, buf);
        snprintf(buf, POLICY_TEXT_MAX, "any model");
        return buf;
}

/* `value` / `per`, with at most `digits` digits behind the point and none that are 0. */
static void decimal(uint64_t value, uint64_t per, unsigned digits, char buf[POLICY_TEXT_MAX])
{
        uint64_t rest = value % per;
        int length = snprintf(buf, POLICY_TEXT_MAX, "%" PRIu64, value / per);

        if (rest)
                buf[length++] = '.';
        for (unsigned i = 0; rest && i < digits; i++) {
                buf[length++] = (char)('0' + rest * 10 / per);
                rest = rest * 10 % per;
        }
        buf[length] = '\0';
}

static void size_text(uint64_t mib, char buf[POLICY_TEXT_MAX])
{
        bool is_gib = mib % 1024 == 0 && mib > 0, is_tib = mib % (1024 * 1024) == 0 && mib > 0;
        uint64_t value = is_tib ? mib >> 20 : is_gib ? mib >> 10 : mib;

        snprintf(buf, POLICY_TEXT_MAX, "%" PRIu64 " %s", value,
                 is_tib   ? "TiB"
                 : is_gib ? "GiB"
                          : "MiB");
}

const char *policy_amount_text(unsigned dimension, uint64_t amount, char buf[POLICY_TEXT_MAX])
{
        if (amount == AMOUNT_ABSENT)
                snprintf(buf, POLICY_TEXT_MAX, "-");
        else if (amount == AMOUNT_UNLIMITED)
                snprintf(buf, POLICY_TEXT_MAX, "unlimited");
        else if (amount == AMOUNT_NONE)
                snprintf(buf, POLICY_TEXT_MAX, "none");
        else if (dimension <= DIM_ANY)
                decimal(amount, UNITS_DEVICE, 3, buf);
        else if (dimension == DIM_CPU)
                decimal(amount, 1000, 3, buf);
        else if (dimension == DIM_MEMORY)
                size_text(amount, buf);
        else
                snprintf(buf, POLICY_TEXT_MAX, "%" PRIu64, amount);
        return buf;
}

const char *policy_amount_unit_text(unsigned dimension, uint64_t amount, char buf[POLICY_TEXT_MAX])
{
        char number[POLICY_TEXT_MAX];
        const char *unit = "";

        policy_amount_text(dimension, amount, number);
        if (amount_is_number(amount) && dimension <= DIM_ANY)
                unit = amount == UNITS_DEVICE ? " device" : " devices";
        else if (amount_is_number(amount) && dimension == DIM_CPU)
                unit = amount == 1000 ? " core" : " cores";
        snprintf(buf, POLICY_TEXT_MAX, "%s%s", number, unit);
        return buf;
}

const char *policy_duration_text(int64_t ms, char buf[POLICY_TEXT_MAX])
{
        static const struct {
                int64_t ms;
                const char *unit;
        } steps[] = {{86400000, "d"}, {3600000, "h"}, {60000, "m"}, {1000, "s"}, {1, "ms"}};
        unsigned i = 0;

        if (ms == 0) {
                snprintf(buf, POLICY_TEXT_MAX, "0s");
                return buf;
        }
        while (ms % steps[i].ms != 0)
                i++;
        snprintf(buf, POLICY_TEXT_MAX, "%" PRId64 "%s", ms / steps[i].ms, steps[i].unit);
        return buf;
}
