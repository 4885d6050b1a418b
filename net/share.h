/* share.h - how long one kind of work may hold a loop: work that can wait.
 *
 * Not pure: the clock, and the loop's own measure of how long it had nothing to do. Of the loop's
 * thread. Who has a share gets one part in `parts` of all time, and besides that an eighth of what
 * the loop is idle (others may need the processor then, if only who reads what is sent). What is
 * not used is kept up to a bound, which is how long the loop may be held at one go. So it hardly
 * slows what cannot wait, however much there is of it.
 */
#pragma once

#include <stdint.h>

struct uv_loop_s;

struct share {
        struct uv_loop_s *loop;
        unsigned parts;
        int64_t kept_ns;
        int64_t looked_ns;
        uint64_t idle_ns;               /* of the loop, when it was looked at */
        int64_t left_ns;                /* below 0: more was used than there was */
};

/* The loop is borrowed, and has not run yet. */
void share_init(struct share *share, struct uv_loop_s *loop, unsigned parts, int64_t kept_ns);
/* Nanoseconds it may take now; 0 or less: none. `now_ns` is time_monotonic_ns(). */
int64_t share_left_ns(struct share *share, int64_t now_ns);
void share_spend(struct share *share, int64_t spent_ns);
