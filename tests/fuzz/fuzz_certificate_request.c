/* fuzz_certificate_request.c - what a node asks its authority to sign, and what it gets. What is
 * refused is refused with a sentence; what is taken can be signed, and names the node it was signed
 * for, whatever the request says. */
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "net/authority.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct authority *make_authority(void)
{
        char path[] = "/tmp/berth-fuzz-authority-XXXXXX";
        struct authority *authority = NULL;
        int fd = mkstemp(path);

        if (fd < 0 || unlink(path) < 0 || authority_load(path, &authority, NULL) < 0)
                abort();
        close(fd);
        unlink(path);
        return authority;
}

/* The same bytes as the agent may be given them: a certificate, or the name in one. */
static void check_identity(const uint8_t *data, size_t size)
{
        struct identity identity = {0}, again;
        char *text = malloc(size + 1), uri[IDENTITY_URI_MAX];
        struct err err = {0};

        if (!text)
                abort();
        memcpy(text, data, size);
        text[size] = '\0';
        int rc = identity_read(text, &identity, &err);
        assert((rc < 0) == (err.text[0] != '\0'));
        if (rc == 0 || identity_of_uri(text, &identity)) {
                assert(identity_uri(&identity, uri));
                assert(identity_of_uri(uri, &again));
                assert(strcmp(identity.node, again.node) == 0);
                assert(identity.enrolment == again.enrolment);
        }
        free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        static const struct identity wish = {"gpu-01", 7, 1800000000000, 1800003600000};
        static struct authority *authority;
        uint8_t key[AUTHORITY_KEY_HASH_BYTES];
        char certificate[IDENTITY_PEM_MAX];
        struct identity got;
        struct err err = {0};

        if (!authority)
                authority = make_authority();
        check_identity(data, size);
        int rc = authority_read((const char *)data, size, key, &err);
        assert((rc < 0) == (err.text[0] != '\0'));
        int signed_rc =
                authority_sign(authority, (const char *)data, size, &wish, certificate, NULL);
        assert((signed_rc < 0) == (rc < 0));
        if (rc < 0)
                return 0;
        assert(identity_read(certificate, &got, NULL) == 0);
        assert(strcmp(got.node, wish.node) == 0);
        assert(got.enrolment == wish.enrolment);
        assert(got.until_ms == wish.until_ms);
        return 0;
}
