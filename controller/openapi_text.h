/* openapi_text.h - controller/openapi.yaml as bytes, put into the program by tools/embed.py. */
#pragma once

#include <stddef.h>

extern const unsigned char openapi_text[];
extern const size_t openapi_text_size;
