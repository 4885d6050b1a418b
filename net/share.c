#include "net/share.h"

#include <assert.h>
#include <uv.h>

#include "base/time.h"

#define IDLE_PARTS 8 /* a thread that has to wait for a processor looks idle as well */

void share_init(struct share *share, struct uv_loop_s *loop, unsigned parts, int64_t kept_ns)
{
        assert(parts > 0);
        (void)uv_loop_configure(loop, UV_METRICS_IDLE_TIME);
        *share = (struct share){.loop = loop,
                                .parts = parts,
                                .kept_ns = kept_ns,
                                .looked_ns = time_monotonic_ns(),
                                .idle_ns = uv_metrics_idle_time(loop),
                                .left_ns = kept_ns};
}

int64_t share_left_ns(struct share *share, int64_t now_ns)
{
        uint64_t idle_ns = uv_metrics_idle_time(share->loop);
        int64_t idle_since_ns = idle_ns > share->idle_ns ? (int64_t)(idle_ns - share->idle_ns) : 0;

        share->left_ns += (now_ns - share->looked_ns) / share->parts + idle_since_ns / IDLE_PARTS;
        if (share->left_ns > share->kept_ns)
                share->left_ns = share->kept_ns;
        share->looked_ns = now_ns;
        share->idle_ns = idle_ns;
        return share->left_ns;
}

void share_spend(struct share *share, int64_t spent_ns)
{
        assert(spent_ns >= 0);
        share->left_ns -= spent_ns;
}
