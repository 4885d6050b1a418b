/* What may lie where: a part on a device, a member on a node, two members on two nodes. */
#include <string.h>

#include "engine/units.h"
#include "tests/property/brute_impl.h"

/* ---- a part on a device ---- */

bool brute_share_of(const struct model *model, const struct need *need, struct part *ret_part)
{
        uint64_t milli = need->share_milli, mib = need->memory_mib, all = model->memory_mib;

        if (need->ask == ASK_MEMORY)
                milli = 0;
        if (mib > all || (mib == 0 && milli == 0))
                return false;
        if (milli == 0)
                milli = (mib * 1000 + all - 1) / all;
        else if (mib == 0)
                mib = all * milli / 1000;
        *ret_part = (struct part){.method = METHOD_SHARE,
                                  .share_milli = (uint16_t)milli,
                                  .memory_mib = (uint32_t)mib};
        return true;
}

bool brute_part_meets(const struct brute *brute, const struct model *model, const struct need *need,
                      const struct part *part)
{
        bool by_memory = need->ask == ASK_MEMORY;
        const struct profile *profile;
        struct part share;

        switch ((enum method)part->method) {
        case METHOD_WHOLE:
                return need->ask == ASK_WHOLE ||
                       (by_memory && (need->methods & METHOD_BIT(METHOD_WHOLE)) &&
                        model->memory_mib >= need->memory_mib);
        case METHOD_SLICE:
                if (part->profile >= model->profiles_count)
                        return false;
                profile = &model->profiles[part->profile];
                if (need->ask == ASK_PROFILE)
                        return strcmp(profile->name, vocab_text(brute->vocab, need->profile)) == 0;
                return by_memory && (need->methods & METHOD_BIT(METHOD_SLICE)) && profile->base &&
                       profile->memory_mib >= need->memory_mib;
        case METHOD_SHARE:
                if (need->ask != ASK_SHARE &&
                    !(by_memory && (need->methods & METHOD_BIT(METHOD_SHARE))))
                        return false;
                return brute_share_of(model, need, &share) &&
                       share.share_milli == part->share_milli &&
                       share.memory_mib == part->memory_mib;
        case METHODS_END:
                break;
        }
        return false;
}

static unsigned slots_of(const struct profile *profile, unsigned start)
{
        return ((1u << profile->memory_slices) - 1) << start;
}

static bool slice_lies_well(const struct model *model, const struct brute_device *device,
                            const struct part *part)
{
        const struct profile *profile = &model->profiles[part->profile];
        unsigned compute = profile->compute_slices, media = profile->media, same = 1;
        unsigned slots = slots_of(profile, part->start);

        if (model->cut == MODEL_PLAIN || !(profile->starts >> part->start & 1))
                return false;
        if ((slots & device->foreign) || slots >> model->memory_slices)
                return false;
        if (model->cut == MODEL_MODES && device->foreign)
                return false;           /* the stranger's mode is not known */
        for (unsigned i = 0; i < device->count; i++) {
                const struct part *other = &device->parts[i].part;
                if (other->method != METHOD_SLICE)
                        return false;
                const struct profile *beside = &model->profiles[other->profile];
                if (slots & slots_of(beside, other->start))
                        return false;
                if (profile->media_exclusive && beside->media_exclusive)
                        return false;
                if (model->cut == MODEL_MODES && other->profile != part->profile)
                        return false;
                compute += beside->compute_slices;
                media += beside->media;
                same += other->profile == part->profile;
        }
        return compute <= model->compute_slices && same <= profile->max_count &&
               (model->media_total == 0 || media <= model->media_total);
}

static bool share_lies_well(const struct model *model, const struct brute_device *device,
                            const struct part *part)
{
        uint64_t milli = part->share_milli, mib = part->memory_mib;

        if (device->foreign)
                return false; /* whose memory it is nobody knows */
        for (unsigned i = 0; i < device->count; i++) {
                if (device->parts[i].part.method != METHOD_SHARE)
                        return false;
                milli += device->parts[i].part.share_milli;
                mib += device->parts[i].part.memory_mib;
        }
        return milli <= SHARE_WHOLE && mib <= model->memory_mib;
}

bool brute_part_lies_well(const struct model *model, const struct brute_device *device,
                          const struct part *part)
{
        if (device->broken)
                return false;
        switch ((enum method)part->method) {
        case METHOD_WHOLE:
                return device->count == 0 && device->foreign == 0;
        case METHOD_SLICE:
                return slice_lies_well(model, device, part);
        case METHOD_SHARE:
                return share_lies_well(model, device, part);
        case METHODS_END:
                break;
        }
        return false;
}

/* ---- a member on a node ---- */

bool brute_node_lets_in(const struct brute *brute, const struct brute_node *node,
                        const struct need *need)
{
        if (!node->here || !node->up || node->desc.drained)
                return false;
        if (need->plane && need->plane != node->desc.plane)
                return false;
        if (need->devices > node->desc.devices)
                return false;
        if (need->devices && !(need->models >> node->desc.model & 1))
                return false;
        return vocab_meets(brute->vocab, node->desc.labels, need->where);
}

static uint64_t times(uint64_t total, uint64_t used, uint64_t each, uint64_t most)
{
        uint64_t left = total > used ? total - used : 0;

        return each == 0 || left / each > most ? most : left / each;
}

unsigned brute_members_by_node(const struct brute_node *node, const struct need *need,
                               unsigned most)
{
        uint64_t n = most;

        n = times(node->desc.cpu_milli, node->cpu, need->cpu_milli, n);
        n = times(node->desc.ram_mib, node->ram, need->ram_mib, n);
        n = times(node->desc.disk_mib, node->disk, need->disk_mib, n);
        return (unsigned)times(node->desc.network_mbit, node->network, need->network_mbit, n);
}

bool brute_is_near(const struct node_desc *a, const struct node_desc *b, enum near_level level)
{
        if (a->name == b->name)
                return true;
        switch (level) {
        case NEAR_NONE:
        case NEAR_POOL:
                return true;
        case NEAR_DEVICE_LINKS:
        case NEAR_NODE:
                return false;
        case NEAR_NVLINK:
                return a->nvlink && a->nvlink == b->nvlink;
        case NEAR_RACK:
                return a->rack && a->rack == b->rack;
        case NEAR_BLOCK:
                return a->block && a->block == b->block;
        case NEAR_LEVELS_END:
                break;
        }
        return false;
}

bool brute_is_spread(const struct node_desc *a, const struct node_desc *b, enum spread_level level)
{
        if (level == SPREAD_NONE)
                return true;
        if (a->name == b->name)
                return false;
        return level == SPREAD_NODE || !a->rack || a->rack != b->rack;
}

unsigned brute_group_size(const struct brute_node *node)
{
        return node->desc.link_group ? node->desc.link_group : 1;
}
