/* words.h - the device models and a vocabulary, for the tests of documents. */
#pragma once

#include "engine/vocab.h"
#include "tests/unit/models.h"

static struct vocab *vocab;

static inline int words_load(void **state)
{
        vocab = vocab_new();
        assert_non_null(vocab);
        return models_load(state);
}

static inline int words_drop(void **state)
{
        vocab_free(vocab);
        return models_drop(state);
}
