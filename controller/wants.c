#include "controller/wants.h"

#include "base/mem.h"
#include "controller/view.h"

struct wants {
        uint32_t open;
        uint64_t last_id;
        struct want list[WANTS_MAX];
};

struct wants *wants_new(void)
{
        return mem_new(1, sizeof(struct wants));
}

void wants_free(struct wants *wants)
{
        mem_free(wants);
}

uint64_t wants_add(struct wants *wants, const struct want *want)
{
        for (uint32_t w = 0; wants->open < WANTS_MAX && w < WANTS_MAX; w++)
                if (wants->list[w].id == 0) {
                        wants->list[w] = *want;
                        wants->list[w].id = ++wants->last_id;
                        wants->open++;
                        return wants->last_id;
                }
        return 0;
}

static void take(struct wants *wants, struct want *want, struct want *ret_want)
{
        *ret_want = *want;
        want->id = 0;
        wants->open--;
}

bool wants_take(struct wants *wants, uint64_t id, const struct node_entry *node,
                struct want *ret_want)
{
        for (uint32_t w = 0; id > 0 && wants->open > 0 && w < WANTS_MAX; w++)
                if (wants->list[w].id == id && wants->list[w].node == node) {
                        take(wants, &wants->list[w], ret_want);
                        return true;
                }
        return false;
}

bool wants_take_late(struct wants *wants, int64_t now_ms, struct want *ret_want)
{
        for (uint32_t w = 0; wants->open > 0 && w < WANTS_MAX; w++)
                if (wants->list[w].id && wants->list[w].until_ms <= now_ms) {
                        take(wants, &wants->list[w], ret_want);
                        return true;
                }
        return false;
}

json_t *wants_of(const struct wants *wants, const struct node_entry *node)
{
        json_t *list = json_array();

        for (uint32_t w = 0; wants->open > 0 && w < WANTS_MAX; w++) {
                const struct want *want = &wants->list[w];
                json_t *json;
                if (want->id == 0 || want->node != node)
                        continue;
                json = json_object();
                view_set(json, "request", json_integer((json_int_t)want->id));
                view_set(json, "kind", json_string("logs"));
                view_set(json, "workload", json_integer((json_int_t)want->workload));
                view_set(json, "member", json_integer(want->member));
                view_set(json, "epoch", json_integer((json_int_t)want->epoch));
                view_set(json, "stream", json_string(want->is_stderr ? "stderr" : "stdout"));
                view_set(json, "offset", json_integer(want->offset));
                view_set(json, "bytes", json_integer(want->bytes));
                (void)json_array_append_new(list, json);
        }
        return list;
}
