/* fuzz_openb_nodes.c - every accepted row keeps the promises of the header. */
#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "trace/openb.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct openb_nodes nodes = {0};
        struct err err = {0};
        if (openb_nodes_parse("f", (const char *)data, size, &nodes, &err) < 0) {
                assert(strncmp(err.text, "f:", 2) == 0);
                assert(!nodes.rows);
                return 0;
        }
        assert(nodes.count >= 1);
        for (size_t i = 0; i < nodes.count; i++) {
                const struct openb_node *node = &nodes.rows[i];
                assert(strlen(node->name) >= 1 && strlen(node->name) <= OPENB_NAME_MAX);
                assert(strlen(node->model) <= OPENB_NAME_MAX);
                assert(node->gpu_count <= OPENB_GPUS_MAX);
                assert(node->gpu_count == 0 || node->model[0] != '\0');
                assert(node->cpu_milli <= OPENB_CPU_MILLI_MAX);
                assert(node->memory_mib <= OPENB_MEMORY_MIB_MAX);
                for (size_t j = 0; j < i && i < 200; j++)
                        assert(strcmp(nodes.rows[j].name, node->name) != 0);
        }
        openb_nodes_done(&nodes);
        return 0;
}
