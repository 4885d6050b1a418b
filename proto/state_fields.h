/* state_fields.h - the tables of a state, column by column, for snapshots. */
#pragma once

#include "proto/fields.h"

extern const struct fields state_fields, state_bounds_fields, state_slots_fields,
        state_node_fields, state_device_fields, state_shape_fields, state_bucket_fields,
        state_workload_fields, state_member_fields, state_part_fields, state_plan_fields,
        state_plan_place_fields, state_after_fields, state_window_fields, state_price_fields,
        state_accounts_fields, state_budget_fields, state_runs_fields;
