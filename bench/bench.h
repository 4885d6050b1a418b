/* bench.h - how a benchmark finds its data and prints its figures. */
#pragma once

#include <stddef.h>

/* "<area>.<figure> <value> <unit>", and when `against` is not NULL "  ratio <r> against <what>". */
void bench_figure(const char *name, double value, const char *unit, double ratio,
                  const char *against);

/* A path below BERTH_DATA (default ../shared/data, from the folder the bench runs in). Prints why
 * and exits with 0 when it is not there: a bench without data is skipped, not failed. */
void bench_data(const char *relative, char *ret_path, size_t size);

/* Reorders the values. */
double bench_median(double *values, size_t count);
