#include "tests/property/data.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int data_openb(const char *name, char ret_path[DATA_PATH_MAX])
{
        const char *data = getenv("BERTH_DATA"), *source = getenv("BERTH_SOURCE");

        if (data)
                snprintf(ret_path, DATA_PATH_MAX, "%s/openb/%s", data, name);
        else
                snprintf(ret_path, DATA_PATH_MAX, "%s/../shared/data/openb/%s",
                         source ? source : ".", name);
        if (access(ret_path, R_OK) == 0)
                return 1;
        printf("skipped: no %s; set BERTH_DATA to the folder that holds openb/\n", ret_path);
        return 0;
}
