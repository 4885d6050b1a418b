/* kind.h - which documents a file holds.
 *
 * One file may hold several ("---" between them): a pool, its policy, workloads.
 */
#pragma once

struct doc;
struct doc_node;
struct err;

/* The root of the only document of that kind ("Pool"); *ret_root is NULL where there is none. A
 * document without kind, of an unknown one, or a second one of this kind is -ERR_INPUT. */
int kind_find(const struct doc *doc, const char *kind, const struct doc_node **ret_root,
              struct err *err);
/* The same, but there must be one: else -ERR_INPUT says what there is instead. */
int kind_need(const struct doc *doc, const char *kind, const struct doc_node **ret_root,
              struct err *err);
/* Those of a kind that may stand beside another, in the order of the file: the one behind `after`,
 * or the first (NULL). NULL: no more. */
const struct doc_node *kind_beside(const struct doc *doc, const char *kind,
                                   const struct doc_node *after);
