/* gang_impl.h - shared by gang.c (placing), gang_room.c (counting), and who looks at domains. */
#pragma once

#include "engine/gang.h"
#include "engine/memo_impl.h"

/* A node, or one group of linked devices of it, as a gang in the making would leave it. */
struct site {
        uint32_t node;
        uint32_t domain;
        uint32_t left;                  /* members it can still take */
        uint32_t cpu, ram, disk, network;
        uint8_t first_device, devices;
        uint32_t spots[NODE_DEVICES_MAX];       /* by device, from first_device */
        int64_t key;
        struct move move;
};

struct gang_scratch {
        struct site *sites;
        uint32_t sites_count, sites_room;
        uint64_t *sums;                 /* by domain: members it can take */
        uint32_t domains_count, domains_room;
        struct gang_place *places;
        uint32_t places_room;
        uint32_t *queue;                /* sites of the chosen domain, a heap: the best on top */
        uint32_t queue_count, queue_room;
        struct map domains;
        struct map racks;               /* with `spread: rack`, see gang_rack_key() */
};

/* Values of the map of racks. */
enum { RACK_OPEN = 1, RACK_TAKEN };

/* The memo's scratch, emptied; NULL: out of memory. */
struct gang_scratch *gang_scratch_of(struct memo *memo);

/* `limit`, or less: what the site's cores, memory, disk and network allow ... */
uint32_t site_limit_by_room(const struct site *site, const struct need *need, uint32_t limit);
/* ... and its devices. `rooms[d]`: parts that device d can take, each of another member. */
uint32_t site_limit_by_devices(uint32_t limit, const uint32_t *rooms, unsigned count, unsigned n);

/* Parts of the need that an empty device of the model can take, each of another member. */
uint32_t gang_room_when_empty(const struct state *state, const struct need *need, unsigned model);

/* The domain of the fabric that a node, or the group of its devices from `first_device`, lies in;
 * where it is not known the node is one of its own. */
uint64_t gang_domain_key(const struct node_desc *desc, uint32_t node, unsigned first_device,
                         enum near_level level);
/* Devices that make one site of a node at that level. */
unsigned gang_group_size(const struct node_desc *desc, enum near_level level);
/* Whether `spread: rack` keeps members from being on both; an unknown rack is of one node. */
bool gang_same_rack(const struct node_desc *a, const struct node_desc *b);
/* A rack within the site's domain. */
uint64_t gang_rack_key(const struct memo *memo, const struct site *site);
/* Adds a site to the domain it lies in at that level. False: out of memory. */
bool gang_site_add(struct memo *memo, struct gang_scratch *scratch, const struct site *site,
                   enum near_level level);
/* Adds up what the domains can take; with `spread: rack`, one member a rack and domain. */
bool gang_sum_domains(struct memo *memo, struct gang_scratch *scratch, const struct form *form);
/* The domain that fits most tightly, first the one met first; NONE. */
uint32_t gang_choose_domain(const struct gang_scratch *scratch, uint32_t members);
