#include "controller/persons.h"

#include "base/map.h"
#include "base/mem.h"
#include "net/rate.h"

#define COST_MAX 65536u

struct person {
        uint64_t hash;
        int64_t asked_ms;
        struct rate rate;
};

struct persons {
        struct person table[PERSONS_MAX];
};

int64_t persons_take(struct persons *persons, const char *name, size_t body_bytes, uint32_t per_s,
                     int64_t now_ms)
{
        size_t more = body_bytes / PERSONS_BODY_BYTES;
        uint32_t cost = 1 + (uint32_t)(more < COST_MAX ? more : COST_MAX - 1);
        uint64_t hash = 0;

        if (per_s == 0)
                return 0;
        for (const char *at = name; *at; at++)
                map_chain(&hash, (unsigned char)*at);
        struct person *person = &persons->table[map_mix(hash) % PERSONS_MAX];
        if (person->hash != hash && now_ms - person->asked_ms >= PERSONS_IDLE_MS)
                *person = (struct person){.hash = hash};
        person->asked_ms = now_ms;
        return rate_charge(&person->rate, cost, per_s, per_s <= 500000 ? per_s * 2 : per_s, now_ms);
}

struct persons *persons_new(void)
{
        return mem_new(1, sizeof(struct persons));
}

void persons_free(struct persons *persons)
{
        mem_free(persons);
}
