/* doc.h - documents (YAML or JSON) as a tree that remembers its lines.
 *
 * Not pure (doc_read_file opens files). One owner at a time. A `struct doc` owns
 * every node and every text handed out: all of it lives until doc_free().
 *
 * Strict on purpose. YAML anchors, aliases, tags and merge keys, duplicate keys,
 * bytes that are not UTF-8, NUL, nesting deeper than DOC_DEPTH_MAX, more than
 * DOC_NODES_MAX nodes and texts above DOC_TEXT_MAX are refused; a byte order
 * mark and CRLF are fine. One file may hold several YAML documents ("---"
 * between them); JSON holds one.
 *
 * Scalars stay text as written, with a flag for quotes; a typed getter decodes.
 * Every refusal is one sentence:
 *
 *     pool.yaml:12: field 'workload.mix.1g.5gb': '-1' is negative; write 0 to 1000000
 *
 * How a decoder reads:
 *
 *     static const char *const keys[] = {"kind", "name", "members", "where"};
 *     uint64_t members = 1;                                    the default
 *     const struct doc_node *name;
 *     if ((rc = doc_check_keys(root, keys, ARRAY_LEN(keys), err)) < 0 ||   mem.h
 *         (rc = doc_need(root, "name", &name, err)) < 0 ||     a required field
 *         (rc = doc_text(name, 1, 64, &text, err)) < 0 ||
 *         (rc = doc_u64(doc_get(root, "members"), 1, 4096, &members, err)) < 0)
 *             return rc;
 *     DOC_EACH (node, doc_get(root, "nodes"))                  items of a list or a map
 *             ...
 *
 * Every getter takes a NULL node for "absent": it returns 0 and leaves *ret_x as
 * it is, so a default is simply what stood there before.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct doc;
struct doc_node;

#define DOC_BYTES_MAX (64u << 20)       /* of one file */
#define DOC_TEXT_MAX  (1u << 20)        /* bytes of one key or value */
#define DOC_DEPTH_MAX 32
#define DOC_NODES_MAX 1000000

enum doc_kind {
        DOC_NULL,       /* nothing after the key, "null" or "~" without quotes */
        DOC_SCALAR,
        DOC_LIST,
        DOC_MAP,
};

/* Reading. Each returns 0 and *ret_doc (owned by the caller, at least one document in it), or
 * -ERR_NOT_FOUND, -ERR_IO, -ERR_RANGE, -ERR_INPUT or -ERR_NOMEM. A file is JSON when its name
 * ends in ".json", else YAML.
 * `name` stands in the error sentences; `bytes` are borrowed for the call. */
int doc_read_file(const char *path, struct doc **ret_doc, struct err *err);
int doc_read_yaml(const char *name, const char *bytes, size_t size, struct doc **ret_doc,
                  struct err *err);
int doc_read_json(const char *name, const char *bytes, size_t size, struct doc **ret_doc,
                  struct err *err);
void doc_free(struct doc *doc);                         /* NULL is fine */

const char *doc_name(const struct doc *doc);            /* as given to doc_read_x */
size_t doc_count(const struct doc *doc);                /* documents in it, 1 or more */
const struct doc_node *doc_root(const struct doc *doc, size_t index);
const struct doc *doc_of(const struct doc_node *node);

/* Looking around. */
enum doc_kind doc_kind(const struct doc_node *node);
unsigned doc_line(const struct doc_node *node); /* from 1; of the key, or in a list of the value */
const char *doc_key(const struct doc_node *node);       /* NULL outside a map */
const char *doc_raw(const struct doc_node *node);       /* a scalar's text; NULL for all others */
bool doc_is_quoted(const struct doc_node *node);
size_t doc_length(const struct doc_node *node);         /* children; 0 for NULL and scalars */
const struct doc_node *doc_first(const struct doc_node *node);  /* NULL: none (or NULL in) */
const struct doc_node *doc_next(const struct doc_node *node);
const struct doc_node *doc_parent(const struct doc_node *node); /* NULL for a root */

/* The child of that key, or NULL: absent, or `map` is no map, or NULL. */
const struct doc_node *doc_get(const struct doc_node *map, const char *key);

/* For each child, in the order of the file. */
#define DOC_EACH(child, parent)                                                 \
        for (const struct doc_node *child = doc_first(parent); child; child = doc_next(child))

/* Refusing. doc_fail writes "file:line: field 'path': sentence" and returns -ERR_INPUT; doc_blame
 * puts the place in front of the sentence that stands in `err` (from a callee that knows no
 * place) and returns its code. */
int doc_fail(const struct doc_node *node, struct err *err, const char *format, ...)
        __attribute__((format(printf, 3, 4)));
int doc_blame(const struct doc_node *node, struct err *err);

/* Writes "workload.mix.1g.5gb" or "nodes[3].name"; cut in front with "..." if long. Returns buf. */
#define DOC_PATH_MAX 128
const char *doc_path(const struct doc_node *node, char buf[DOC_PATH_MAX]);

/* Checking shapes: 0 or -ERR_INPUT. */
int doc_check_map(const struct doc_node *node, struct err *err);
int doc_check_list(const struct doc_node *node, size_t min, size_t max, struct err *err);
/* Is a map, and every key is one of `names`; else the sentence lists near ones. */
int doc_check_keys(const struct doc_node *map, const char *const *names, size_t count,
                   struct err *err);
/* A required field: -ERR_INPUT "field 'x' is missing" when it is absent. */
int doc_need(const struct doc_node *map, const char *key, const struct doc_node **ret_node,
             struct err *err);

/* Decoding one scalar: 0, -ERR_INPUT or -ERR_RANGE. Plain numbers and booleans must stand without
 * quotes; amounts with a unit (size, rate, duration, cpu) may have them. See num.h. */
int doc_text(const struct doc_node *node, size_t min_bytes, size_t max_bytes,
             const char **ret_text, struct err *err);
int doc_copy(const struct doc_node *node, char *ret_copy, size_t size, struct err *err);
int doc_bool(const struct doc_node *node, bool *ret_value, struct err *err);
int doc_u64(const struct doc_node *node, uint64_t min, uint64_t max, uint64_t *ret_value,
            struct err *err);
int doc_u32(const struct doc_node *node, uint32_t min, uint32_t max, uint32_t *ret_value,
            struct err *err);
int doc_i64(const struct doc_node *node, int64_t min, int64_t max, int64_t *ret_value,
            struct err *err);
int doc_milli(const struct doc_node *node, uint64_t min_milli, uint64_t max_milli,
              uint64_t *ret_milli, struct err *err);
int doc_fixed(const struct doc_node *node, unsigned digits, uint64_t min, uint64_t max,
              uint64_t *ret_value, struct err *err);
int doc_size_mib(const struct doc_node *node, uint64_t min_mib, uint64_t max_mib,
                 uint64_t *ret_mib, struct err *err);
int doc_rate_mbit(const struct doc_node *node, uint64_t min_mbit, uint64_t max_mbit,
                  uint64_t *ret_mbit, struct err *err);
int doc_duration_ms(const struct doc_node *node, int64_t min_ms, int64_t max_ms, int64_t *ret_ms,
                    struct err *err);
int doc_cpu_milli(const struct doc_node *node, uint64_t min_milli, uint64_t max_milli,
                  uint64_t *ret_milli, struct err *err);
/* The index of the word among `names` (exact); else the sentence lists near ones. */
int doc_choice(const struct doc_node *node, const char *const *names, size_t count,
               unsigned *ret_index, struct err *err);
