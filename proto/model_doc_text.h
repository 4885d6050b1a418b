/* model_doc_text.h - data/device-models.yaml as bytes, put into the program by tools/embed.py. */
#pragma once

#include <stddef.h>

extern const unsigned char model_doc_text[];
extern const size_t model_doc_text_size;
