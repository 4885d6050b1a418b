/* tres.h - what a job had in all, from a TRES string of Slurm's accounting.
 *
 * Pure. "billing=8,cpu=32,gres/gpu:a100=8,gres/gpu=8,mem=400G,node=2", the entries in any order.
 * gres/gpu=N counts all devices and gres/gpu:TYPE=N some of the same ones, by type: never added up.
 * A type that ends like "3g.20gb" is a slice, its front part the device model: "a100_3g.20gb".
 * gres/shard=N and gres/mps=N are shares of devices. Entries of other names say nothing here.
 * Memory is in MiB (a bare number is MiB as well), rounded up.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "engine/model.h"

struct err;

#define TRES_TEXT_MAX  4096    /* bytes of a string, the NUL included */
#define TRES_TYPES_MAX 8       /* of gres/gpu in one string */
#define TRES_COUNT_MAX 1000000 /* of nodes, of devices */
#define TRES_CPUS_MAX  100000000
#define TRES_MIB_MAX   (UINT64_C(1) << 40)

struct tres_type {
        char model[MODEL_NAME_MAX]; /* as it stands there: "a100"; "" where only a profile does */
        char profile[PROFILE_NAME_MAX]; /* "" = whole devices */
        uint32_t count;
};

struct tres {
        uint64_t cpus, ram_mib; /* 0 = not said */
        uint32_t nodes;         /* 0 = not said */
        uint32_t gpus;          /* in all, those without a type too */
        uint32_t shards, mps_percent;
        char share_model[MODEL_NAME_MAX]; /* of shards and mps; "" = not said */
        uint32_t types_count;
        struct tres_type types[TRES_TYPES_MAX];
};

/* "" is nothing at all. 0, -ERR_INPUT, -ERR_RANGE; unchanged on failure. The sentence names the
 * entry, not the place. */
int tres_parse(const char *text, struct tres *ret_tres, struct err *err);

/* What each of `members` nodes has of it. */
struct tres_devices {
        uint32_t devices;           /* 0: none */
        uint16_t share_milli;       /* of each; 0 = whole */
        char model[MODEL_NAME_MAX]; /* "" = any, or more than one */
        char profile[PROFILE_NAME_MAX];
        bool is_uneven;  /* the members had unlike numbers: the larger stands here */
        bool is_mixed;   /* it had more kinds of parts than one; see tres_divide() */
        bool is_untyped; /* devices, and no word of their type */
};

/* Whole devices and slices go before shares. Of several types the one with the most devices gives
 * the profile, and all devices count as that; types of whole devices that differ give model "".
 * More shards than one device has lie on several devices, evenly. `members` and
 * `shards_per_device` are 1 or more. */
void tres_divide(const struct tres *tres, uint32_t members, uint32_t shards_per_device,
                 struct tres_devices *ret_devices);
