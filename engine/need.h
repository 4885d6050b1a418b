/* need.h - what a workload asks for, in canonical form.
 *
 * Pure values. A `need` is what one member needs; equal needs are equal bytes, so
 * that they intern to one shape (state.h). A `form` says how members lie to each
 * other. Names (profile, plane, artifact) are ids of the state's vocabulary.
 * Units: milli cores, MiB, Mbit/s, thousandths of a device.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct err;

#define NODE_DEVICES_MAX 16             /* devices of one node, and of one member */
#define MEMBERS_MAX      4096           /* of one workload */
#define CPU_MILLI_MAX    4096000u       /* of one node or member: 4,096 cores */
#define RAM_MIB_MAX      (64u << 20)    /* 64 TiB */
#define DISK_MIB_MAX     (4000u << 20)  /* about 4 PiB */
#define NETWORK_MBIT_MAX 100000000u     /* 100 Tbit/s */
#define DEVICE_MIB_MAX   (16u << 20)    /* 16 TiB */

enum ask {
        ASK_NOTHING,    /* CPU work: no device */
        ASK_WHOLE,      /* whole devices */
        ASK_PROFILE,    /* one slice of the profile on each device */
        ASK_MEMORY,     /* device memory of at least memory_mib, by any allowed method */
        ASK_SHARE,      /* share_milli of the compute, and/or memory_mib as its limit */
};

enum method { METHOD_WHOLE, METHOD_SLICE, METHOD_SHARE, METHODS_END };
#define METHOD_BIT(method) (1u << (method))
/* What a need for memory may be met with when it names no methods. */
#define METHODS_BY_MEMORY  (METHOD_BIT(METHOD_WHOLE) | METHOD_BIT(METHOD_SLICE))

/* Levels of the fabric tree, tightest first. */
#define NEAR_LEVELS(X)                                                          \
        X(NONE,         "none")         /* no wish */                           \
        X(DEVICE_LINKS, "device-links") /* one link group; without links one device */ \
        X(NODE,         "node")                                                 \
        X(NVLINK,       "nvlink")       /* one NVLink domain: a node or several */ \
        X(RACK,         "rack")                                                 \
        X(BLOCK,        "block")                                                \
        X(POOL,         "pool")

enum near_level {
#define X(name, wire) NEAR_##name,
        NEAR_LEVELS(X)
#undef X
        NEAR_LEVELS_END
};

enum spread_level { SPREAD_NONE, SPREAD_NODE, SPREAD_RACK, SPREAD_LEVELS_END };

/* No padding: hashed and compared as bytes. 0 of a field means "does not matter". */
struct need {
        uint64_t models;        /* allowed device models, bit = model id; all ones = any */
        uint32_t cpu_milli;
        uint32_t ram_mib;
        uint32_t disk_mib;
        uint32_t network_mbit;
        uint32_t memory_mib;    /* device memory, per device: ASK_MEMORY and ASK_SHARE */
        uint16_t share_milli; /* 1..1000 of each device: ASK_SHARE; 0 there = follows memory_mib */
        uint16_t profile;       /* vocabulary id of a profile name: ASK_PROFILE */
        uint16_t plane;         /* vocabulary id of a part of the pool kept for one kind of work */
        uint16_t where;         /* id of a set of label conditions */
        uint16_t artifact;      /* artifact bit + 1: nodes that hold it are preferred */
        uint8_t ask;            /* enum ask */
        uint8_t devices;        /* 0..NODE_DEVICES_MAX, all on one node, each part on its own */
        uint8_t methods;        /* METHOD_BIT set: ASK_MEMORY */
        uint8_t reserved[5];    /* zero */
};
_Static_assert(sizeof(struct need) == 48, "a need is compared as bytes");

struct form {
        uint32_t members;       /* 1..MEMBERS_MAX; more than one is a gang: all or nothing */
        uint8_t near;           /* enum near_level */
        uint8_t near_required;  /* 1: or not at all; 0: preferred */
        uint8_t spread;         /* enum spread_level: at most one member on each */
        uint8_t reserved;       /* zero */
};

#define AFTER_MAX       8               /* workloads that one waits for */
#define RUN_MS_MAX      INT64_C(3155760000000)  /* 100 years: the longest time limit or period */

struct request {
        uint64_t workload;      /* the caller's id, unique while it lives */
        struct need need;
        struct form form;
        int32_t priority;       /* higher goes first, before all that a policy says */
        uint16_t tenant, class; /* indexes of the policy in force; 0 where there is none */
        uint16_t data;          /* its data label there, + 1; 0 = none */
        uint32_t group;         /* replicas of one service bear one number of the caller's, and
                                 * form.spread holds between them; 0 = none */
        bool once;              /* refused instead of queued when it does not fit now */
        bool spare;             /* by choice work that all others may stop */
        bool user_hold;         /* waits until its owner lets it go */
        bool service;           /* stays: it has no duration that could be learned */
        bool serve;             /* method `serve`: its devices are shared by requests */
        uint8_t after_count;
        uint16_t retries;       /* started again after it ended badly, so often at most */
        uint32_t array;         /* tasks of one array bear one number of the caller's; 0 = none */
        uint32_t array_at_once; /* tasks of it that may run at the same time; 0 = all */
        uint64_t after[AFTER_MAX];      /* must have ended well before it may start */
        int64_t start_ms;               /* does not start before; 0 = at once */
        int64_t time_limit_ms;          /* ends then; 0 = none */
        int64_t checkpoint_every_ms;    /* saves by itself so often; 0 = not */
        int64_t checkpoint_within_ms;   /* saves when it is told, in so much time; 0 = not */
};

/* Brings a request into canonical form (fields that cannot matter become 0) and checks bounds and
 * contradictions. 0 or -ERR_INPUT / -ERR_RANGE naming the field. */
int request_settle(struct request *request, struct err *err);

uint64_t need_hash(const struct need *need);
bool need_equal(const struct need *a, const struct need *b);
bool form_equal(const struct form *a, const struct form *b);
/* Whether the members have to look at each other or at the fabric: else each is placed alone. */
bool form_is_gang(const struct form *form);

const char *near_level_name(enum near_level level);
