#include "bench/bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void bench_figure(const char *name, double value, const char *unit, double ratio,
                  const char *against)
{
        printf("%s %.*f %s", name, value < 100 ? 3 : 0, value, unit);
        if (against)
                printf("  ratio %.2f against %s", ratio, against);
        printf("\n");
        fflush(stdout);
}

void bench_data(const char *relative, char *ret_path, size_t size)
{
        const char *root = getenv("BERTH_DATA");

        snprintf(ret_path, size, "%s/%s", root ? root : "../shared/data", relative);
        if (access(ret_path, R_OK) == 0)
                return;
        printf("skipped: no %s; set BERTH_DATA to the folder that holds openb/\n", ret_path);
        exit(0);
}

static int compare_doubles(const void *a, const void *b)
{
        double x = *(const double *)a, y = *(const double *)b;

        return x < y ? -1 : x > y;
}

double bench_median(double *values, size_t count)
{
        qsort(values, count, sizeof *values, compare_doubles);
        return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}
