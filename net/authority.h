/* authority.h - the certificate authority of one pool: it signs certificates of nodes, no others.
 *
 * Not pure: a file, chance of the system (GnuTLS). One thread at a time.
 *
 * Its key and certificate lie in one file that is made once (0600, ECDSA on P-256, ten years). Who
 * has that file can be any node of the pool, and nobody else: principals are not certified here.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "net/identity.h"

struct authority;
struct err;

#define AUTHORITY_REQUEST_MAX    4096   /* bytes of a request */
#define AUTHORITY_KEY_HASH_BYTES 32     /* SHA-256 of a public key */

/* That of the file; a new one where there is no file. 0, -ERR_INPUT (the file is no authority, has
 * run out, or others may read it), -ERR_IO, -ERR_NOMEM. */
int authority_load(const char *path, struct authority **ret_authority, struct err *err);
void authority_free(struct authority *authority);       /* NULL is fine */

const char *authority_certificate(const struct authority *authority);   /* PEM; nothing secret */

/* What a node asks for: PKCS #10 in PEM, at most AUTHORITY_REQUEST_MAX bytes, with a key that is
 * ECDSA on P-256 or Ed25519, signed with that key. Everything else in it is ignored. 0, or
 * -ERR_INPUT. */
int authority_read(const char *request, size_t size, uint8_t ret_key[AUTHORITY_KEY_HASH_BYTES],
                   struct err *err);

/* The certificate of `identity` for the key of a request, which is checked as above; it ends with
 * the authority's own at the latest. 0, -ERR_INPUT, -ERR_IO. */
int authority_sign(const struct authority *authority, const char *request, size_t size,
                   const struct identity *identity, char ret_certificate[IDENTITY_PEM_MAX],
                   struct err *err);
