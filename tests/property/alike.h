/* alike.h - whether two facts say the same, field by field (they have padding). */
#pragma once

#include "engine/fact.h"

bool request_same(const struct request *a, const struct request *b);
/* Facts about a policy are the same when they bring the same tenancy into force: each state owns
 * accounts of its own. */
bool fact_same(const struct fact *a, const struct fact *b);
/* The fact in a few words, for messages. */
void fact_print(char *ret_text, size_t size, const struct fact *fact);
