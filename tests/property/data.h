/* data.h - where the published traces lie: BERTH_DATA, else shared/data beside the source. */
#pragma once

#include <stddef.h>

#define DATA_PATH_MAX 4096

/* Writes the path of a file below a folder of the data, or below openb/. Prints "skipped: ..." and
 * returns 0 when it is not there. */
int data_openb(const char *name, char ret_path[DATA_PATH_MAX]);
int data_path(const char *folder, const char *name, char ret_path[DATA_PATH_MAX]);
