/* snapshot_impl.h - the inside of snapshots, for store/ only. */
#pragma once

#include <sodium.h>
#include <stdint.h>

#include "store/snapshot.h"

/* The hash of a snapshot up to its body, which is added then. */
void snapshot_hash_begin(const struct snapshot *about, crypto_generichash_state *state);

/* Removes a part of one, in a transaction of its own. 1: there is more; 0: it is gone. */
int snapshot_remove_step(struct store *store, uint64_t id, struct err *err);
