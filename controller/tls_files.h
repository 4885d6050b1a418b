/* tls_files.h - a certificate from files: at start, and again at SIGHUP.
 *
 * Not pure: files. Texts are owned; the key's is wiped when it is done with.
 */
#pragma once

#include "net/http.h"

struct err;

struct tls_files {
        struct http_tls tls;            /* for http_new(), http_tls_set() */
        char *texts[3];
        size_t sizes[3];
};

/* Certificate (its chain behind it) and key as PEM; `client_ca` NULL: no such authority; `own_ca`:
 * the text of ours, borrowed as long as the files. 0, what file_read() returns. */
int tls_files_read(const char *certificate, const char *key, const char *client_ca,
                   const char *own_ca, struct tls_files *ret_files, struct err *err);
void tls_files_done(struct tls_files *files);           /* a zeroed one is fine */
