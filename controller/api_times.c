/* Times in queries: told as people tell them, by one parser (proto/when.h). */
#include "controller/api_handlers.h"

#include "proto/when.h"

bool api_query_time(struct call *call, const char *name, int64_t *ret_ms)
{
        const struct api_whole any = {1, false, NULL};

        return api_query_whole(call, name, &any, ret_ms);
}

/* "-7d" is hardly ever the start of a day; a time that is written out is meant as it stands. */
bool api_query_whole(struct call *call, const char *name, const struct api_whole *whole,
                     int64_t *ret_ms)
{
        char text[64] = "";
        int64_t at_ms;
        struct err err;

        if (!api_query(call, name, text, sizeof text))
                return false;
        if (text[0] == '\0')
                return true;
        int rc = when_told(text, api_now_ms(), &at_ms, &err);
        int64_t beyond_ms = rc == 0 ? at_ms % whole->unit_ms : 0;
        if (beyond_ms > 0 && !when_is_relative(text))
                rc = err_set(&err, ERR_INPUT, "'%s' is not %s", text, whole->is);
        if (rc == 0) {
                *ret_ms = at_ms - beyond_ms + (whole->up && beyond_ms > 0 ? whole->unit_ms : 0);
                return true;
        }
        (void)err_prefix(&err, "query '%s'", name);
        api_fail(call, &err);
        return false;
}
