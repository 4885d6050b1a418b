/* vocab.h - names, label sets and label conditions as small numbers.
 *
 * Pure. Append-only and content-addressed: entering a text twice gives the same
 * id. It holds no decision, so entering a word is not a fact; a replay that meets
 * the same texts in the same order gets the same ids. Id 0 is "none" everywhere.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

#define VOCAB_WORDS_MAX   60000         /* and as many label sets and condition sets */
#define VOCAB_NAMES_MAX   (1u << 22)    /* node names */
#define VOCAB_WORD_MAX    128           /* bytes with the final NUL */
#define VOCAB_LABELS_MAX  32            /* labels of one node */
#define VOCAB_WHERES_MAX  8             /* conditions of one need */

struct label {
        uint16_t key, value;            /* word ids */
};

/* Values that are numbers joined by dots compare number by number ("570.86" < "580"); an order
 * between other values does not hold. */
enum where_op { WHERE_IS, WHERE_IS_NOT, WHERE_AT_LEAST, WHERE_ABOVE, WHERE_AT_MOST, WHERE_BELOW };

struct where {
        uint16_t key, value;            /* word ids; a value may hold '*' for WHERE_IS / IS_NOT */
        uint16_t op;                    /* enum where_op */
};

struct vocab;

struct vocab *vocab_new(void);                          /* NULL: out of memory */
void vocab_free(struct vocab *vocab);

/* The id of the text, entered if it is new. -ERR_INPUT (empty, too long), -ERR_FULL, -ERR_NOMEM. */
int vocab_word(struct vocab *vocab, const char *text, struct err *err);
int vocab_find(const struct vocab *vocab, const char *text);   /* the id, or 0 */
const char *vocab_text(const struct vocab *vocab, unsigned word);  /* "" for 0, "?" if unknown */

/* The same for node names, which are many: numbers of their own. */
int vocab_name(struct vocab *vocab, const char *text, struct err *err);
int vocab_name_find(const struct vocab *vocab, const char *text);
const char *vocab_name_text(const struct vocab *vocab, unsigned name);

/* The id of a set of labels / of conditions; the order does not matter. 0 of them is id 0. A key
 * that stands twice among labels is -ERR_INPUT. */
int vocab_labels(struct vocab *vocab, const struct label *labels, size_t count, struct err *err);
int vocab_wheres(struct vocab *vocab, const struct where *wheres, size_t count, struct err *err);

/* Reads "driver" + ">=550" as a condition; a bare value is WHERE_IS. */
int vocab_where_parse(struct vocab *vocab, const char *key, const char *condition,
                      struct where *ret_where, struct err *err);

/* All entries of one kind as bytes, by their ids from 1 on: for logs and snapshots. */
enum vocab_kind { VOCAB_WORDS, VOCAB_NAMES, VOCAB_LABELS, VOCAB_WHERES, VOCAB_KINDS_END };
uint32_t vocab_count(const struct vocab *vocab, enum vocab_kind kind);
const void *vocab_bytes(const struct vocab *vocab, enum vocab_kind kind, uint32_t id,
                        size_t *ret_size);
/* Enters the bytes of one. Its id, or -ERR_INPUT (they are none of that kind), -ERR_FULL,
 * -ERR_NOMEM. */
int vocab_enter(struct vocab *vocab, enum vocab_kind kind, const void *bytes, size_t size,
                struct err *err);

/* Whether a node with that set of labels meets one condition in words, which need not be known. */
bool vocab_meets_condition(const struct vocab *vocab, unsigned labels, const char *key,
                           const char *condition);

/* Whether a node with that set of labels meets that set of conditions. A missing label meets only
 * WHERE_IS_NOT. */
bool vocab_meets(const struct vocab *vocab, unsigned labels, unsigned wheres);
