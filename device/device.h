/* device.h - what an agent asks of the devices of its node, whoever made them.
 *
 * Not pure: a backend speaks to a driver. One owner at a time, not thread safe. A backend says what
 * there is and how it is called by the programs that use it; it decides nothing.
 * Units: memory in MiB.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/model.h"

struct err;

#define DEVICES_MAX     64      /* of one node: a set of them is one 64-bit mask */
#define DEVICE_UUID_MAX 96      /* bytes with the final NUL */

struct device_info {
        uint32_t index;                 /* its number on the node, below DEVICES_MAX */
        char uuid[DEVICE_UUID_MAX];     /* as CUDA_VISIBLE_DEVICES and its like take it */
        char model[MODEL_NAME_MAX];
        uint32_t memory_mib;            /* 0 = not known */
        bool is_broken;                 /* nothing may be started on it */
};

struct device_list {
        uint32_t count;
        struct device_info devices[DEVICES_MAX];        /* by rising index */
};

/* What a backend implements. Each returns 0, or a negative code with a sentence; *ret_x is only
 * written on success. */
struct device_ops {
        const char *name;               /* "sim" */
        /* All devices and how they are now. Asked every few seconds: it must be quick. */
        int (*list)(void *self, struct device_list *ret_list, struct err *err);
        /* What a program calls the slice of that profile that begins at memory slice `start` of a
         * device. -ERR_NOT_FOUND: no such device. */
        int (*slice_uuid)(void *self, uint32_t index, const char *profile, uint32_t start,
                          char ret_uuid[DEVICE_UUID_MAX], struct err *err);
        void (*free)(void *self);       /* NULL is fine */
};

struct device_backend {
        const struct device_ops *ops;
        void *self;
};

/* The device of that index, or NULL. */
const struct device_info *device_find(const struct device_list *list, uint32_t index);
