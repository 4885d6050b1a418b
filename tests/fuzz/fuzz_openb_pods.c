/* fuzz_openb_pods.c - every accepted row keeps the promises of the header. */
#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "trace/openb.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_time(int64_t time_s)
{
        assert(time_s == OPENB_TIME_NONE || (time_s >= 0 && time_s <= OPENB_TIME_S_MAX));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct openb_pods pods = {0};
        struct err err = {0};
        if (openb_pods_parse("f", (const char *)data, size, &pods, &err) < 0) {
                assert(strncmp(err.text, "f:", 2) == 0);
                assert(!pods.rows);
                return 0;
        }
        assert(pods.count >= 1);
        for (size_t i = 0; i < pods.count; i++) {
                const struct openb_pod *pod = &pods.rows[i];
                assert(strlen(pod->name) >= 1 && strlen(pod->name) <= OPENB_NAME_MAX);
                assert(strlen(pod->gpu_spec) <= OPENB_SPEC_MAX);
                assert(!strstr(pod->gpu_spec, "||"));
                assert(strlen(pod->qos) <= OPENB_NAME_MAX);
                assert(strlen(pod->phase) <= OPENB_NAME_MAX);
                assert(pod->gpu_count <= OPENB_GPUS_MAX);
                assert((pod->gpu_milli > 0) == (pod->gpu_count > 0));
                assert(pod->gpu_count > 1 ? pod->gpu_milli == 1000 : pod->gpu_milli <= 1000);
                check_time(pod->created_s);
                check_time(pod->deleted_s);
                check_time(pod->scheduled_s);
        }
        openb_pods_done(&pods);
        return 0;
}
