/* The network, and the controller's end of the exchange (as controller/api_agents.c has it). */
#include "tests/property/controller_sim.h"

#include "controller/exchange.h"
#include "controller/nodes.h"

/* ---- messages ---- */

static int64_t delay(struct sim *sim)
{
        if (!sim->calm && rng_below(&sim->weather, 100) < sim->late_pct) {
                sim->counts->others[SIM_LATE]++;
                return (int64_t)rng_below(&sim->weather, 100000);
        }
        return 1 + (int64_t)rng_below(&sim->weather, 60);
}

static void put(struct sim *sim, unsigned m, uint64_t request, bool to_agent, json_t *body)
{
        for (unsigned i = 0; i < SIM_MESSAGES_MAX; i++) {
                if (sim->messages[i].body)
                        continue;
                sim->messages[i] = (struct message){.at_ms = sim->now_ms + delay(sim),
                                                    .machine = m,
                                                    .request = request,
                                                    .to_agent = to_agent,
                                                    .body = json_incref(body)};
                return;
        }
}

void net_send(struct sim *sim, unsigned m, uint64_t request, bool to_agent, json_t *body)
{
        bool lost = !sim->calm && rng_below(&sim->weather, 100) < sim->lose_pct;
        bool twice = !sim->calm && rng_below(&sim->weather, 100) < sim->double_pct;

        if (lost || sim->machines[m].cut)
                sim->counts->others[SIM_DROPPED]++;
        else
                put(sim, m, request, to_agent, body);
        if (twice && !sim->machines[m].cut) {
                sim->counts->others[SIM_DOUBLED]++;
                put(sim, m, request, to_agent, body);
        }
        json_decref(body);
}

void net_drop_all(struct sim *sim)
{
        for (unsigned m = 0; m < SIM_MACHINES; m++)
                sim->machines[m].held = false;
        for (unsigned i = 0; i < SIM_MESSAGES_MAX; i++) {
                struct message *message = &sim->messages[i];
                if (message->body && message->to_agent) {
                        json_decref(message->body);
                        message->body = NULL;
                }
        }
}

/* ---- the controller's end ---- */

static struct node_entry *node_of(struct sim *sim, unsigned m)
{
        struct node_entry *node = nodes_find(sim->world.live.nodes, sim->machines[m].name);

        return node && node->described ? node : NULL;
}

static void answer(struct sim *sim, unsigned m, uint64_t request, const struct node_entry *node)
{
        json_t *body = node ? exchange_answer(&sim->world.live, node) : NULL;

        net_send(sim, m, request, true, body ? body : json_string("503"));
}

void net_answer_waiting(struct sim *sim)
{
        if (!sim->world.is_up)
                return;
        for (unsigned m = 0; m < SIM_MACHINES; m++) {
                struct machine *machine = &sim->machines[m];
                const struct node_entry *node = machine->held ? node_of(sim, m) : NULL;
                if (!machine->held)
                        continue;
                bool due = sim->now_ms >= machine->held_until_ms;
                if (node && (!core_is_durable(sim->world.live.core, node->changed_seq) ||
                             (!due && node->generation <= machine->held_seen)))
                        continue;
                machine->held = false;
                answer(sim, m, machine->held_request, node);
        }
}

static int take_report(struct sim *sim, struct node_entry *node, const json_t *report)
{
        struct world *world = &sim->world;
        struct act *act;
        int rc;

        if (!exchange_has_news(&world->live, node, report))
                return 0;
        act = world_act(world);
        if (!act)
                return -ERR_IO;
        rc = exchange_apply(&world->live, act, node, report, &world->err);
        world_commit(world, act, NULL);
        law_noted(sim);
        return rc;
}

static void take_exchange(struct sim *sim, unsigned m, uint64_t request, const json_t *report)
{
        struct machine *machine = &sim->machines[m];
        struct world *world = &sim->world;
        struct node_entry *node;
        uint64_t seen = 0;
        int rc = -ERR_NOT_FOUND;

        if (!world->is_up)
                return;                 /* nobody listens */
        node = node_of(sim, m);
        if (node)
                rc = exchange_given(&world->live, node, report, world->now_ms, &world->err);
        if (rc == 0 && node->is_ahead)
                sim_fail(sim, "%s is ahead of a store that has lost nothing", node->name);
        if (rc == 0)
                rc = exchange_read(node, report, world->now_ms, world->steady_ms, &seen,
                                   &world->err);
        if (rc == 0) {
                law_heard(sim, m);
                rc = take_report(sim, node, report);
        }
        if (rc == 0)
                exchange_fence(&world->live, node);
        if (rc != 0 && rc != -ERR_IO && rc != -ERR_NOT_FOUND)
                sim_fail(sim, "an agent's report is refused: %s", world->err.text);
        if (rc) {
                answer(sim, m, request, NULL);
                return;
        }
        if (machine->held)
                answer(sim, m, machine->held_request, NULL);
        machine->held = true;
        machine->held_seen = seen;
        machine->held_request = request;
        machine->held_until_ms = sim->now_ms + SIM_WAIT_MS;
}

void net_step(struct sim *sim)
{
        for (;;) {
                struct message *first = NULL;
                for (unsigned i = 0; i < SIM_MESSAGES_MAX; i++) {
                        struct message *it = &sim->messages[i];
                        if (it->body && it->at_ms <= sim->now_ms &&
                            (!first || it->at_ms < first->at_ms))
                                first = it;
                }
                if (!first)
                        return;
                struct message message = *first;
                first->body = NULL;
                if (message.to_agent)
                        agent_take(sim, message.machine, message.request, message.body);
                else
                        take_exchange(sim, message.machine, message.request, message.body);
                json_decref(message.body);
        }
}
