#include "store/prune.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sodium.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "store/bytes.h"
#include "store/store_impl.h"

#define SEAL_WORDS "berth store head 1"         /* with its NUL */
#define SEAL_BYTES (sizeof SEAL_WORDS + 8 + STORE_HASH_BYTES + 8)

_Static_assert(SEAL_PUBLIC_BYTES == crypto_sign_PUBLICKEYBYTES, "Ed25519");
_Static_assert(SEAL_SECRET_BYTES == crypto_sign_SECRETKEYBYTES, "Ed25519");
_Static_assert(SEAL_SIGNATURE_BYTES == crypto_sign_BYTES, "Ed25519");

static int fail(struct err *err, const char *path)
{
        return err_set(err, ERR_IO, "%s: %s", path, strerror(errno));
}

static void message(const struct sealed_head *head, uint8_t ret_message[SEAL_BYTES])
{
        uint8_t *at = ret_message;

        memcpy(at, SEAL_WORDS, sizeof SEAL_WORDS);
        at = bytes_put_u64(at + sizeof SEAL_WORDS, head->seq);
        memcpy(at, head->hash, STORE_HASH_BYTES);
        at = bytes_put_u64(at + STORE_HASH_BYTES, (uint64_t)head->at_ms);
        assert(at == ret_message + SEAL_BYTES);
}

void seal_key_wipe(struct seal_key *key)
{
        sodium_memzero(key, sizeof *key);
}

void seal_sign(const struct seal_key *key, struct sealed_head *head)
{
        uint8_t bytes[SEAL_BYTES];

        message(head, bytes);
        memcpy(head->public_key, key->public_key, sizeof head->public_key);
        crypto_sign_detached(head->signature, NULL, bytes, sizeof bytes, key->secret_key);
}

int seal_verify(const struct sealed_head *head, struct err *err)
{
        uint8_t bytes[SEAL_BYTES];

        message(head, bytes);
        if (crypto_sign_verify_detached(head->signature, bytes, sizeof bytes,
                                        head->public_key) != 0)
                return err_set(err, ERR_INPUT, "head at record %" PRIu64
                               ": the signature is not that of its key: the head was changed",
                               head->seq);
        return 0;
}

/* Whole and on the disk before it signs anything: a key that is lost cannot sign again. */
static int make_key(const char *path, struct seal_key *ret_key, struct err *err)
{
        int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

        if (fd < 0)
                return fail(err, path);
        crypto_sign_keypair(ret_key->public_key, ret_key->secret_key);
        ssize_t put = write(fd, ret_key->secret_key, sizeof ret_key->secret_key);
        int rc = put != (ssize_t)sizeof ret_key->secret_key || fsync(fd) < 0 ? fail(err, path) : 0;
        close(fd);
        if (rc < 0)
                unlink(path);
        return rc < 0 ? rc : store_sync_folder(path, err);
}

static int read_key(int fd, const char *path, struct seal_key *ret_key, struct err *err)
{
        uint8_t bytes[SEAL_SECRET_BYTES + 1];
        struct stat stat;
        int rc = 0;

        if (fstat(fd, &stat) < 0)
                return fail(err, path);
        if (stat.st_mode & 077)
                return err_set(err, ERR_INPUT, "%s: others may read it (mode %04o): chmod 600",
                               path, (unsigned)(stat.st_mode & 07777));
        ssize_t got = read(fd, bytes, sizeof bytes);
        if (got < 0)
                return fail(err, path);
        if (got == SEAL_SECRET_BYTES) {
                memcpy(ret_key->secret_key, bytes, SEAL_SECRET_BYTES);
                crypto_sign_ed25519_sk_to_pk(ret_key->public_key, ret_key->secret_key);
        } else {
                rc = err_set(err, ERR_INPUT, "%s: is no key: it has not %d bytes", path,
                             SEAL_SECRET_BYTES);
        }
        sodium_memzero(bytes, sizeof bytes);
        return rc;
}

int seal_key_load(const char *path, struct seal_key *ret_key, struct err *err)
{
        assert(path);
        assert(ret_key);

        if (sodium_init() < 0)
                return err_set(err, ERR_IO, "the library of signatures could not be started");
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                return errno == ENOENT ? make_key(path, ret_key, err) : fail(err, path);
        int rc = read_key(fd, path, ret_key, err);
        close(fd);
        return rc;
}
