/* identity.h - the certificate of a node: what the node makes of its own, and what stands in it.
 *
 * Not pure: chance of the system (GnuTLS). Thread safe. Everything is PEM text; a key is secret,
 * and wiped by its owner (token_wipe()).
 *
 * A certificate names its node by a URI among its names, "berth:node:NAME:ENROLMENT"; the subject
 * is for people only. The number is that of the enrolment (controller/enrolment.h): a node that is
 * enrolled anew gets another one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct err;

#define IDENTITY_PEM_MAX  4096          /* of a key, a request or a certificate, with its NUL */
#define IDENTITY_NODE_MAX 64
#define IDENTITY_URI_MAX  112

struct identity {
        char node[IDENTITY_NODE_MAX];
        uint64_t enrolment;
        int64_t from_ms, until_ms;      /* valid between; on the wall clock */
};

/* A new key: ECDSA on P-256. 0, -ERR_IO. */
int identity_key_make(char ret_key[IDENTITY_PEM_MAX], struct err *err);
/* What the authority is asked to sign (PKCS #10), signed with the key. 0, -ERR_INPUT (no key). */
int identity_request(const char *key, char ret_request[IDENTITY_PEM_MAX], struct err *err);

/* 0, or -ERR_INPUT: no certificate, or none of a node. Its signature is not looked at. */
int identity_read(const char *certificate, struct identity *ret_identity, struct err *err);

/* The URI, and back: only `node` and `enrolment`. False: it is too long; it is no such URI. */
bool identity_uri(const struct identity *identity, char ret_uri[IDENTITY_URI_MAX]);
bool identity_of_uri(const char *uri, struct identity *ret_identity);
