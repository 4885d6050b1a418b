#include "cli/outputs.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "proto/scenario.h"

#define STDOUT "-"

static bool is_same_inode(const char *a, const char *b)
{
        struct stat x, y;

        return stat(a, &x) == 0 && stat(b, &y) == 0 && S_ISREG(x.st_mode) &&
               x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Its folder, without a slash at the end; false: too long to be one. */
static bool folder_of(const char *path, char ret_folder[SCENARIO_PATH_MAX])
{
        const char *slash = strrchr(path, '/');
        size_t length = slash ? (size_t)(slash - path) : 1;

        if (length >= SCENARIO_PATH_MAX)
                return false;
        memcpy(ret_folder, slash ? path : ".", length);
        ret_folder[length] = '\0';
        if (length == 0)
                (void)str_copy(ret_folder, SCENARIO_PATH_MAX, "/");
        return true;
}

/* "a.csv" and "./a.csv", where neither is there yet. */
static bool is_same_place(const char *a, const char *b)
{
        char x[SCENARIO_PATH_MAX], y[SCENARIO_PATH_MAX];
        const char *last_a = strrchr(a, '/'), *last_b = strrchr(b, '/');
        struct stat in_a, in_b;

        return str_equal(last_a ? last_a + 1 : a, last_b ? last_b + 1 : b) && folder_of(a, x) &&
               folder_of(b, y) && stat(x, &in_a) == 0 && stat(y, &in_b) == 0 &&
               in_a.st_dev == in_b.st_dev && in_a.st_ino == in_b.st_ino;
}

static int check_pair(const struct output *a, const struct output *b, struct err *err)
{
        if (!a->path || !b->path)
                return 0;
        if (str_equal(a->path, STDOUT) && str_equal(b->path, STDOUT))
                return err_set(err, ERR_INPUT,
                               "--%s and --%s both go to standard output; name a file for one",
                               a->option, b->option);
        if (str_equal(a->path, STDOUT) || str_equal(b->path, STDOUT))
                return 0;
        if (str_equal(a->path, b->path) || is_same_inode(a->path, b->path) ||
            is_same_place(a->path, b->path))
                return err_set(err, ERR_INPUT, "--%s and --%s name the same file; write two",
                               a->option, b->option);
        return 0;
}

/* What would fail at the end of the run is found out before it. */
static int check_place(const struct output *output, struct err *err)
{
        char folder[SCENARIO_PATH_MAX];
        struct stat info;
        bool is_there = stat(output->path, &info) == 0;

        if (is_there && S_ISDIR(info.st_mode))
                return err_set(err, ERR_INPUT, "--%s: %s: is a directory; name a file in it",
                               output->option, output->path);
        if (!folder_of(output->path, folder))
                return err_set(err, ERR_INPUT, "--%s: the path is longer than %d bytes",
                               output->option, SCENARIO_PATH_MAX - 1);
        if (stat(folder, &info) < 0 || !S_ISDIR(info.st_mode))
                return err_set(err, ERR_INPUT, "--%s: %s: there is no folder '%s'", output->option,
                               output->path, folder);
        /* A device is written into, a file is replaced: that takes the right to its folder. */
        bool is_replaced = !is_there || (stat(output->path, &info) == 0 && S_ISREG(info.st_mode));
        if (access(is_replaced ? folder : output->path, W_OK) < 0)
                return err_set(err, ERR_INPUT,
                               "--%s: %s: cannot be written (%s); name another file",
                               output->option, output->path, strerror(errno));
        return 0;
}

static bool is_of_scenario(const char *path, const struct scenario *scenario)
{
        const char *const own[] = {scenario->file, scenario->pool.openb_nodes,
                                   scenario->workload.openb_pods, scenario->demand_pods,
                                   scenario->workload.history.file};
        bool found = false;

        for (size_t i = 0; i < ARRAY_LEN(own); i++)
                found = found || is_same_inode(path, own[i]);
        for (uint32_t p = 0; p < scenario->policies_count; p++)
                found = found || is_same_inode(path, scenario->policies[p].path);
        return found;
}

static bool is_read(const char *path, const char *const *inputs, size_t count,
                    const struct scenario *scenario)
{
        bool found = scenario && is_of_scenario(path, scenario);

        for (size_t i = 0; i < count; i++)
                found = found || (inputs[i] && is_same_inode(path, inputs[i]));
        return found;
}

int outputs_check(const struct output *outputs, size_t count, const char *const *inputs,
                  size_t inputs_count, const struct scenario *scenario, struct err *err)
{
        int rc;

        for (size_t o = 0; o < count; o++) {
                const struct output *output = &outputs[o];
                if (!output->path)
                        continue;
                if (!*output->path)
                        return err_set(err, ERR_INPUT,
                                       "--%s: an empty file name; write one, or - for standard "
                                       "output",
                                       output->option);
                for (size_t other = 0; other < o; other++)
                        if ((rc = check_pair(&outputs[other], output, err)) < 0)
                                return rc;
                if (str_equal(output->path, STDOUT))
                        continue;
                /* A file that is read would be lost, and nobody means that. */
                if (is_read(output->path, inputs, inputs_count, scenario))
                        return err_set(err, ERR_INPUT,
                                       "%s: is read by this run and would be written over; name "
                                       "another file",
                                       output->path);
                if ((rc = check_place(output, err)) < 0)
                        return rc;
        }
        return 0;
}
