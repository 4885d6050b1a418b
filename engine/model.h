/* model.h - what a type of accelerator is: memory, slices, profiles.
 *
 * Pure data; the figures come from data/device-models.yaml (read by proto/) and
 * a live driver's report wins over them. One owner at a time.
 * Units: memory in MiB; slices in the model's own slices, never a constant.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

#define MODELS_MAX        64    /* a set of models is one 64-bit mask */
#define MODEL_NAME_MAX    48    /* bytes with the final NUL */
#define MODEL_ALIASES_MAX 8
#define PROFILES_MAX      24    /* of one model */
#define PROFILE_NAME_MAX  24
#define SLOTS_MAX         16    /* memory slices of one device; compute slices, media engines too */

/* How a device of the model can be cut in hardware. */
enum model_cut {
        MODEL_PLAIN,    /* not at all */
        MODEL_SLICES,   /* profiles side by side, each at its allowed starts (MIG) */
        MODEL_MODES,    /* one mode for the whole device, all parts equal (MI300X) */
};

struct profile {
        char name[PROFILE_NAME_MAX];    /* "3g.20gb", "cpx" */
        uint8_t compute_slices;
        uint8_t memory_slices;          /* slots it occupies from its start */
        uint8_t max_count;              /* instances on one device: as many as fit */
        uint8_t media;                  /* media engines taken of model.media_total; 0 = none */
        bool media_exclusive;           /* "+me": at most one such instance on a device */
        bool base;                      /* without attribute: what the layout constants count */
        uint16_t starts;                /* bit n: may start at slot n */
        uint32_t memory_mib;            /* usable; 0 = not known */
        uint16_t multiprocessors;       /* 0 = not known */
        bool verified;                  /* every figure seen in a public source, else inferred */
};

struct model {
        char name[MODEL_NAME_MAX];      /* "A100-40" */
        char aliases[MODEL_ALIASES_MAX][MODEL_NAME_MAX];   /* driver names; may hold '*' */
        uint8_t aliases_count;
        enum model_cut cut;
        bool known;                     /* false: made up on the fly for an unlisted name */
        bool verified;
        bool toggle_needs_reset;        /* switching partitioning on or off resets the device */
        uint32_t memory_mib;            /* 0 = not known */
        uint16_t multiprocessors;
        uint8_t compute_slices;         /* 0 for MODEL_PLAIN */
        uint8_t memory_slices;
        uint8_t media_total;            /* 0 = media engines are not counted */
        uint32_t compute_slice_units;   /* UNITS_HALF / compute_slices */
        uint32_t memory_slice_units;    /* UNITS_HALF / memory_slices */
        uint8_t profiles_count;
        struct profile profiles[PROFILES_MAX];
};

/* The models a pool knows; an index into it is a "model id" (below MODELS_MAX). */
struct model_table;

struct model_table *model_table_new(void);              /* NULL: out of memory */
void model_table_free(struct model_table *table);       /* NULL is fine */
struct model_table *model_table_copy(const struct model_table *table);  /* the same */

/* Checks the figures against each other (slices within bounds, placements on
 * the card, units that divide evenly, max_count what slices, starts and media give,
 * no second model of that name or alias) and copies the model in. Returns its id
 * (0 or more), or -ERR_INPUT, -ERR_EXISTS, -ERR_FULL. Unchanged on failure. The units
 * fields are filled here. */
int model_add(struct model_table *table, const struct model *model, struct err *err);

/* Adds a plain device of unknown figures under `name`; the id if it (or a model with
 * such an alias) is there already. Else as model_add(). */
int model_add_unlisted(struct model_table *table, const char *name, struct err *err);

size_t model_count(const struct model_table *table);
const struct model *model_get(const struct model_table *table, unsigned id);

/* The id of the model with exactly this name or alias (compared without case; an
 * alias may hold '*'; of several that match, the longest wins). -ERR_NOT_FOUND:
 * the sentence lists the nearest names. */
int model_find(const struct model_table *table, const char *name, struct err *err);

/* The set (bit = id) of models whose NAME matches a pattern with '*', or a list of
 * patterns joined by '|' (without case). An empty set is -ERR_NOT_FOUND with the nearest
 * names; an empty part, or one longer than a name may be, is -ERR_INPUT. */
int model_match(const struct model_table *table, const char *pattern, uint64_t *ret_models,
                struct err *err);

/* The index of the profile of that name, or -ERR_NOT_FOUND with the names it has. */
int profile_find(const struct model *model, const char *name, struct err *err);

/* Units of one instance of the profile. */
uint32_t profile_units(const struct model *model, const struct profile *profile);
