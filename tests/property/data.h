/* data.h - where the published traces lie: BERTH_DATA, else shared/data beside the source. */
#pragma once

#include <stddef.h>

#define DATA_PATH_MAX 4096

/* Writes the path of a list below openb/. Prints "skipped: ..." and returns 0 when it is not there. */
int data_openb(const char *name, char ret_path[DATA_PATH_MAX]);
