#include "engine/nearest.h"

#include "engine/gang.h"

/* What can be cut, the most wanted first. */
enum wish {
        WISH_DEVICES,
        WISH_MEMBERS,
        WISH_MEMORY,
        WISH_SHARE,
        WISH_CPU,
        WISH_RAM,
        WISH_DISK,
        WISH_NETWORK,
        WISHES_END,
};

static uint32_t wish_get(const struct request *request, enum wish wish)
{
        switch (wish) {
        case WISH_DEVICES:
                return request->need.devices;
        case WISH_MEMBERS:
                return request->form.members;
        case WISH_MEMORY:
                return request->need.memory_mib;
        case WISH_SHARE:
                return request->need.share_milli;
        case WISH_CPU:
                return request->need.cpu_milli;
        case WISH_RAM:
                return request->need.ram_mib;
        case WISH_DISK:
                return request->need.disk_mib;
        case WISH_NETWORK:
                return request->need.network_mbit;
        case WISHES_END:
                break;
        }
        return 0;
}

static void wish_set(struct request *request, enum wish wish, uint32_t value)
{
        switch (wish) {
        case WISH_DEVICES:
                request->need.devices = (uint8_t)value;
                break;
        case WISH_MEMBERS:
                request->form.members = value;
                break;
        case WISH_MEMORY:
                request->need.memory_mib = value;
                break;
        case WISH_SHARE:
                request->need.share_milli = (uint16_t)value;
                break;
        case WISH_CPU:
                request->need.cpu_milli = value;
                break;
        case WISH_RAM:
                request->need.ram_mib = value;
                break;
        case WISH_DISK:
                request->need.disk_mib = value;
                break;
        case WISH_NETWORK:
                request->need.network_mbit = value;
                break;
        case WISHES_END:
                break;
        }
}

/* Devices, members, memory and shares stay what they are in kind: at least 1 where there were any.
 */
static uint32_t wish_least(const struct request *request, enum wish wish)
{
        return wish <= WISH_SHARE && wish_get(request, wish) > 0;
}

static int feasible(struct memo *memo, const struct state *state, const struct request *request,
                    struct err *err)
{
        return request_feasible(memo, state, request, err);
}

/* The largest value up to `most` that is feasible; the least one is. */
static int put_back(struct memo *memo, const struct state *state, struct request *request,
                    enum wish wish, uint32_t most, struct err *err)
{
        uint32_t low = wish_get(request, wish), high = most;

        while (low < high) {
                /* All of it first: most wishes are feasible as they stand. */
                uint32_t middle = high == most ? most : high - (high - low) / 2;
                struct request tried = *request;
                wish_set(&tried, wish, middle);
                int rc = feasible(memo, state, &tried, err);
                if (rc < 0)
                        return rc;
                if (rc == 1)
                        low = middle;
                else
                        high = middle - 1;
        }
        wish_set(request, wish, low);
        return 0;
}

int request_nearest(struct memo *memo, const struct state *state, const struct request *request,
                    struct request *ret_nearest, struct err *err)
{
        struct request nearest = *request;
        int rc;

        for (unsigned w = 0; w < WISHES_END; w++)
                wish_set(&nearest, (enum wish)w, wish_least(request, (enum wish)w));
        rc = feasible(memo, state, &nearest, err);
        if (rc <= 0)
                return rc;
        for (unsigned w = 0; w < WISHES_END; w++) {
                rc = put_back(memo, state, &nearest, (enum wish)w,
                              wish_get(request, (enum wish)w), err);
                if (rc < 0)
                        return rc;
        }
        *ret_nearest = nearest;
        return 1;
}
