/* log_fields.h - the engine's structs as tables of fields, for the log and for snapshots. */
#pragma once

#include "proto/fields.h"

extern const struct fields log_need_fields, log_form_fields, log_request_fields, log_part_fields,
        log_place_fields, log_desc_fields, log_layout_fields, log_report_fields;
