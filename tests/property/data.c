#include "tests/property/data.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int data_openb(const char *name, char ret_path[DATA_PATH_MAX])
{
        return data_path("openb", name, ret_path);
}

int data_path(const char *folder, const char *name, char ret_path[DATA_PATH_MAX])
{
        const char *data = getenv("BERTH_DATA"), *source = getenv("BERTH_SOURCE");

        if (data)
                snprintf(ret_path, DATA_PATH_MAX, "%s/%s/%s", data, folder, name);
        else
                snprintf(ret_path, DATA_PATH_MAX, "%s/../shared/data/%s/%s",
                         source ? source : ".", folder, name);
        if (access(ret_path, R_OK) == 0)
                return 1;
        printf("skipped: no %s; set BERTH_DATA to the folder that holds %s/\n", ret_path, folder);
        return 0;
}
