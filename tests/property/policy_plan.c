/* Plans of preemption: proved against the book, victim by victim. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "engine/calendar.h"
#include "tests/property/policy_book.h"

/* docs/policy.md and tenancy.h: of `for_protect` classes room is gathered only for work that is due
 * its protect; DESIGN.md, section 5: also for other wide work. The engine does the latter. */
#define GATHERS_FROM_STANDARD true

struct victims {
        unsigned count;
        struct book_work *works[BOOK_WORKS];
};

static unsigned whole_node(const struct book *book)
{
        unsigned most = 0;

        for (unsigned n = 0; n < BOOK_NODES; n++)
                if (book->nodes[n].here && book->nodes[n].desc.devices > most)
                        most = book->nodes[n].desc.devices;
        return most;
}

static bool is_wide(const struct book *book, const struct request *request)
{
        uint64_t devices = (uint64_t)request->need.devices * request->form.members;

        return devices > 1 && devices >= whole_node(book);
}

/* `times`: members; below 0 they leave. */
static void hold(struct book_node *node, const struct need *need, int64_t times)
{
        uint64_t by = (uint64_t)times;  /* wraps, as meant */

        node->cpu += need->cpu_milli * by;
        node->ram += need->ram_mib * by;
        node->disk += need->disk_mib * by;
        node->network += need->network_mbit * by;
}

static int64_t places_on(const struct book_place *places, unsigned count, uint32_t node)
{
        int64_t here = 0;

        for (unsigned p = 0; p < count; p++)
                here += places[p].node == node;
        return here;
}

/* What is held of the node itself when vanishing work is gone, with what other plans keep of it. */
static void held_of_node(const struct book *book, uint32_t node, uint64_t beneficiary,
                         struct book_node *ret_held)
{
        const struct book_node *now = &book->nodes[node];

        ret_held->cpu = now->cpu;
        ret_held->ram = now->ram;
        ret_held->disk = now->disk;
        ret_held->network = now->network;
        for (uint64_t w = 1; w <= book->last_id; w++) {
                const struct book_work *work = &book->works[w];
                if (work->vanishes && work->status == WORK_RUNS)
                        hold(ret_held, &work->request.need,
                             -places_on(work->places, work->placed, node));
        }
        for (unsigned p = 0; p < BOOK_PLANS; p++) {
                const struct book_plan *plan = &book->plans[p];
                if (plan->live && plan->fact.beneficiary != beneficiary)
                        hold(ret_held, &book->works[plan->fact.beneficiary].request.need,
                             places_on(plan->places, plan->places_count, node));
        }
}

/* What is wanted beside what stays; nothing is always there, also where a node that shrank holds
 * more than it has. */
static bool too_much(uint64_t stays, uint64_t wanted, uint64_t there)
{
        return wanted > 0 && stays + wanted > there;
}

/* Whether the places fit when the vanishing work is gone: NULL, or what does not. Parts of one plan
 * on one device are looked at one by one and with each other. */
static const char *does_not_fit(struct book *book, const struct request *request,
                                const struct fact *facts, unsigned places)
{
        const struct need *need = &request->need;
        static struct book_device saved[BOOK_MEMBERS][NODE_DEVICES_MAX];
        const char *why = NULL;
        unsigned p = 0;

        for (; !why && p < places; p++) {
                const struct fact_allocated *place = &facts[p].kept.place;
                struct book_node *node = &book->nodes[place->node], left;
                unsigned here = 1;
                memcpy(saved[p], node->devices, sizeof saved[p]);
                for (unsigned k = 0; k < p; k++)
                        here += facts[k].kept.place.node == place->node;
                if (!book_admits(book, place->node, need))
                        why = "the node is down, drained or not for it";
                held_of_node(book, place->node, request->workload, &left);
                if (too_much(left.cpu, (uint64_t)here * need->cpu_milli, node->desc.cpu_milli) ||
                    too_much(left.ram, (uint64_t)here * need->ram_mib, node->desc.ram_mib) ||
                    too_much(left.disk, (uint64_t)here * need->disk_mib, node->desc.disk_mib) ||
                    too_much(left.network, (uint64_t)here * need->network_mbit,
                             node->desc.network_mbit))
                        why = "the node has too few cores or too little memory, disk or network";
                for (unsigned i = 0; !why && i < place->parts_count; i++) {
                        if (!book_lies_well(book, place->node, request->tenant,
                                            &place->parts[i]))
                                why = "a part does not go with what stays on its device";
                        if (node->devices[place->parts[i].device].kept_for)
                                why = "a device is locked for another plan";
                }
                for (unsigned i = 0; !why && i < place->parts_count; i++) {
                        struct book_device *device = &node->devices[place->parts[i].device];
                        device->parts[device->count++] =
                                (struct book_part){place->parts[i], (uint32_t)request->workload};
                }
        }
        while (p-- > 0)
                memcpy(book->nodes[facts[p].kept.place.node].devices, saved[p], sizeof saved[p]);
        return why;
}

static bool is_always_stoppable(const struct book *book, const struct book_work *victim,
                                const struct book_work *beneficiary)
{
        const struct service_class *class = book_class(book, victim);

        return victim->standing == STANDING_SPARE ||
               (class->stop == STOP_ALWAYS && class->rank > book_class(book, beneficiary)->rank);
}

static unsigned level_of(const struct service_class *class, int64_t attained_ms)
{
        unsigned level = 0;

        while (level < class->time_slices_count && attained_ms >= class->time_slice_ms[level])
                level++;
        return level;
}

/* The class's words against the plan's cause. */
static const char *breaks_terms(const struct book *book, const struct book_work *victim,
                                const struct book_work *beneficiary, enum plan_cause cause)
{
        const struct service_class *class = book_class(book, victim);
        int64_t day = book->now_ms - book->now_ms % CALENDAR_DAY_MS;
        int64_t ran = victim->attained_ms + book->now_ms - victim->since_ms;

        if (class->stop == STOP_NEVER)
                return "its class is never stopped";
        if (book->now_ms - victim->since_ms < class->exempt_ms)
                return "it started so short a time ago that it is exempt";
        if (class->stops_per_day != STOPS_UNLIMITED &&
            (victim->stops_day == day ? victim->stops : 0) >= class->stops_per_day)
                return "it has been stopped as often as it may be in a day";
        switch (cause) {
        case PLAN_PROTECT:
                return NULL;
        case PLAN_ORDER:
                return is_always_stoppable(book, victim, beneficiary)
                               ? NULL
                               : "work of its class is not stopped for what merely goes before it";
        case PLAN_TIME_SLICE:
                if (victim->request.class != beneficiary->request.class ||
                    class->time_slices_count == 0)
                        return "time slices are for work of one class";
                return level_of(class, ran) > level_of(class, beneficiary->attained_ms)
                               ? NULL
                               : "it has not run for longer than a level of time slices";
        case PLAN_GATHER:
                if (!is_wide(book, &beneficiary->request))
                        return "room is gathered for wide work only";
                return !GATHERS_FROM_STANDARD && victim->standing != STANDING_SPARE &&
                                       class->stop != STOP_ALWAYS
                               ? "room is gathered from its class for work under its protect only"
                               : NULL;
        case PLAN_MOVE:
                return "nobody is stopped for work that is moved";
        case PLAN_CAUSES_END:
                break;
        }
        return "a plan of no cause";
}

static bool law_victim(struct book *book, const struct book_work *victim,
                       const struct book_work *beneficiary, enum plan_cause cause)
{
        const char *why = breaks_terms(book, victim, beneficiary, cause);

        book->checked[PROMISE_TERMS]++;
        book->checked[PROMISE_SPARED]++;
        book->checked[PROMISE_FROZEN]++;
        if (why)
                return BOOK_FAIL(book, "workload %" PRIu64 " (%s) is told to stop (%s): %s",
                                 victim->request.workload, standing_name(victim->standing),
                                 plan_cause_name(cause), why);
        if (victim->standing == STANDING_PROTECTED)
                return BOOK_FAIL(book, "workload %" PRIu64 " is protected and told to stop",
                                 victim->request.workload);
        if (book_lies_frozen(book, victim))
                return BOOK_FAIL(book, "workload %" PRIu64 " runs where it is frozen, or on a node "
                                       "that is silent, and is told to stop",
                                 victim->request.workload);
        return true;
}

static bool law_rate(struct book *book, const struct victims *victims)
{
        const struct tenancy_rules *rules = &book->tenancy->rules;
        uint64_t units = 0, all = 0;

        if (rules->stop_rate_pct >= 100 || rules->stop_rate_ms <= 0)
                return true;
        for (unsigned v = 0; v < victims->count; v++)
                units += book_units(book, victims->works[v]);
        for (unsigned n = 0; n < BOOK_NODES; n++) {
                const struct book_node *node = &book->nodes[n];
                for (unsigned d = 0; node->here && node->up && !node->desc.drained &&
                                     d < node->desc.devices;
                     d++)
                        all += node->devices[d].broken ? 0 : UNITS_DEVICE;
        }
        int64_t from = book->now_ms - book->now_ms % rules->stop_rate_ms;
        if (book->rate_from_ms != from) {
                book->rate_from_ms = from;
                book->rate_units = 0;
        }
        bool first = book->rate_units == 0;     /* one plan may be larger than the rate */
        book->rate_units += units;
        book->checked[PROMISE_RATE]++;
        if (!first && book->rate_units * 100 > all * rules->stop_rate_pct)
                return BOOK_FAIL(book, "%" PRIu64 " units of %" PRIu64 " are told to stop in a "
                                       "while, above %u %%",
                                 book->rate_units, all, rules->stop_rate_pct);
        return true;
}

static bool collect(struct book *book, const struct fact *facts, uint32_t count, uint32_t at,
                    unsigned *ret_places, struct victims *ret_victims)
{
        const struct fact_planned *planned = &facts[at].planned;
        unsigned places = 0;

        ret_victims->count = 0;
        for (uint32_t i = at + 1; i < count; i++) {
                if (facts[i].kind == FACT_PLACE_KEPT && facts[i].kept.plan == planned->plan)
                        places++;
                if (facts[i].kind != FACT_NOTICED || facts[i].noticed.plan != planned->plan)
                        continue;
                struct book_work *victim = book_work(book, facts[i].noticed.workload);
                if (!victim || victim->status != WORK_RUNS || victim->notice_until_ms)
                        return BOOK_FAIL(book, "a victim does not run, or has been told already");
                int64_t notice_ms = planned->cause == PLAN_MOVE
                                            ? book->input->move.notice_ms
                                            : book_class(book, victim)->notice_ms;
                if (facts[i].noticed.until_ms != book->now_ms + notice_ms)
                        return BOOK_FAIL(book, "a notice is not as long as its class says, or who "
                                               "asked for it");
                ret_victims->works[ret_victims->count++] = victim;
        }
        *ret_places = places;
        return (places == planned->places && ret_victims->count == planned->victims &&
                planned->victims > 0) ||
               BOOK_FAIL(book, "plan %u names %u places and %u victims, and has %u and %u",
                         planned->plan, planned->places, planned->victims, places,
                         ret_victims->count);
}

static bool prove(struct book *book, const struct book_work *beneficiary,
                  const struct fact *kept, unsigned places, const struct victims *victims)
{
        const char *why;

        for (unsigned v = 0; v < victims->count; v++)
                victims->works[v]->vanishes = true;
        why = does_not_fit(book, &beneficiary->request, kept, places);
        book->checked[PROMISE_PROVEN]++;
        for (unsigned v = 0; !why && v < victims->count; v++) {
                victims->works[v]->vanishes = false;
                book->checked[PROMISE_NEEDED]++;
                if (!does_not_fit(book, &beneficiary->request, kept, places))
                        why = "a victim is not needed";
                victims->works[v]->vanishes = true;
        }
        for (unsigned v = 0; v < victims->count; v++)
                victims->works[v]->vanishes = false;
        return why ? BOOK_FAIL(book, "a plan for workload %" PRIu64 " cannot be: %s",
                               beneficiary->request.workload, why)
                   : true;
}

static bool law_places(struct book *book, const struct book_work *beneficiary,
                       struct book_plan *plan)
{
        const struct form *form = &beneficiary->request.form;

        book->checked[PROMISE_GANGS]++;
        book->checked[PROMISE_NEAR] += form->near_required && form->near != NEAR_NONE &&
                                       form->near != NEAR_POOL;
        if (plan->places_count != form->members ||
            !book_lies_as_wished(book, form, plan->places, plan->places_count))
                return BOOK_FAIL(book, "the places of a plan for workload %" PRIu64 " are not all, "
                                       "or not near each other (%s) or not spread as they must",
                                 beneficiary->request.workload,
                                 near_level_name(form->near));
        for (unsigned p = 0; p < plan->places_count; p++)
                if (book_is_frozen(book, plan->places[p].node))
                        return BOOK_FAIL(book, "a plan has a place on a frozen node");
        return true;
}

/* Work that is moved: it alone is told, its places are free while it still runs, on other nodes of
 * its models. */
static bool law_move(struct book *book, struct book_work *work, struct book_plan *plan,
                     const struct fact *kept, const struct victims *victims)
{
        uint64_t models = 0;
        uint32_t to = book->input->move.node;

        for (unsigned m = 0; m < work->placed; m++)
                models |= UINT64_C(1) << book->nodes[work->places[m].node].desc.model;
        if (victims->count != 1 || victims->works[0] != work || book_lies_frozen(book, work))
                return BOOK_FAIL(book, "workload %" PRIu64 " is moved, and another is told, or it "
                                       "is frozen",
                                 work->request.workload);
        const char *why = does_not_fit(book, &work->request, kept, plan->places_count);
        book->checked[PROMISE_PROVEN]++;
        for (unsigned p = 0; !why && p < plan->places_count; p++) {
                if (!(models >> book->nodes[plan->places[p].node].desc.model & 1))
                        why = "it has no devices of that model";
                for (unsigned m = 0; m < work->placed; m++)
                        if (work->places[m].node == plan->places[p].node)
                                why = "it lies there already";
                if (to && book->nodes[plan->places[p].node].desc.name != to)
                        why = "another node was asked for";
        }
        if (book->input->kind != INPUT_MOVE_ASKED ||
            book->input->move.workload != work->request.workload)
                why = "nobody asked for it";
        book->checked[PROMISE_ASKED]++;
        work->told_moves = true;
        return why ? BOOK_FAIL(book, "workload %" PRIu64 " cannot be moved so: %s",
                               work->request.workload, why)
                   : law_places(book, work, plan);
}

bool plan_law(struct book *book, const struct fact *facts, uint32_t count, uint32_t at)
{
        static struct victims victims;
        const struct fact_planned *planned = &facts[at].planned;
        struct book_work *beneficiary = book_work(book, planned->beneficiary);
        struct book_plan *plan = &book->plans[planned->plan];
        const struct fact *kept = &facts[at + 1];
        unsigned places;

        if (planned->plan >= BOOK_PLANS || plan->live)
                return BOOK_FAIL(book, "plan %u is made twice", planned->plan);
        bool moves = planned->cause == PLAN_MOVE;
        if (!beneficiary || beneficiary->status != (moves ? WORK_RUNS : WORK_WAITS) ||
            (!moves && beneficiary->user_held))
                return BOOK_FAIL(book, "a plan for workload %" PRIu64 ", which does not wait",
                                 planned->beneficiary);
        if (!collect(book, facts, count, at, &places, &victims))
                return false;
        *plan = (struct book_plan){.live = true, .fact = *planned, .places_count = places};
        for (unsigned p = 0; p < places; p++) {
                plan->places[p].node = kept[p].kept.place.node;
                plan->places[p].count = kept[p].kept.place.parts_count;
                memcpy(plan->places[p].parts, kept[p].kept.place.parts,
                       sizeof plan->places[p].parts);
        }
        book->causes[planned->cause]++;
        if (moves ? !law_move(book, beneficiary, plan, kept, &victims)
                  : !prove(book, beneficiary, kept, places, &victims) ||
                            !law_places(book, beneficiary, plan) || !law_rate(book, &victims))
                return false;
        for (unsigned v = 0; v < victims.count; v++) {
                if (!moves && !law_victim(book, victims.works[v], beneficiary, planned->cause))
                        return false;
                victims.works[v]->plan = planned->plan + 1;
                victims.works[v]->notice_until_ms =
                        book->now_ms + (moves ? book->input->move.notice_ms
                                              : book_class(book, victims.works[v])->notice_ms);
        }
        for (unsigned p = 0; p < places; p++)
                for (unsigned i = 0; i < plan->places[p].count; i++)
                        book->nodes[plan->places[p].node]
                                .devices[plan->places[p].parts[i].device]
                                .kept_for = planned->plan + 1;
        return true;
}
