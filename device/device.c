#include "device/device.h"

const struct device_info *device_find(const struct device_list *list, uint32_t index)
{
        for (uint32_t i = 0; i < list->count; i++)
                if (list->devices[i].index == index)
                        return &list->devices[i];
        return NULL;
}
