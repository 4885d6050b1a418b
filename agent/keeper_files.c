/* What lies in the state folder: the key and its certificate, and a key without one yet. */
#include "agent/keeper_impl.h"

#include <string.h>
#include <unistd.h>

#include "base/durable.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "net/token.h"

int keeper_load(struct keeper *keeper, struct err *err)
{
        struct identity identity;
        char *bytes;
        size_t size;
        int rc = file_read(keeper->path, 2 * IDENTITY_PEM_MAX, &bytes, &size, err);

        if (rc == -ERR_NOT_FOUND)
                return keeper->setup.token_file
                               ? 0
                               : err_set(err, ERR_INPUT,
                                         "this node has no certificate yet: 'berth token make "
                                         "--join --node %s' makes what --join-token-file needs",
                                         keeper->setup.node);
        if (rc < 0)
                return rc;
        rc = identity_read(bytes, &identity, err);
        token_wipe(bytes, size);
        mem_free(bytes);
        if (rc < 0)
                return err_prefix(err, "%s", keeper->path);
        if (!str_equal(identity.node, keeper->setup.node))
                return err_set(err, ERR_INPUT,
                               "%s is of node '%s', and this is '%s': each node needs a state "
                               "folder of its own",
                               keeper->path, identity.node, keeper->setup.node);
        keeper_take(keeper, &identity);
        return 0;
}

int keeper_first_key(struct keeper *keeper, char ret_key[IDENTITY_PEM_MAX], struct err *err)
{
        char *bytes, request[IDENTITY_PEM_MAX];
        size_t size;

        if (file_read(keeper->path_new, IDENTITY_PEM_MAX - 1, &bytes, &size, NULL) == 0) {
                bool is_good = identity_request(bytes, request, NULL) == 0 &&
                               str_copy(ret_key, IDENTITY_PEM_MAX, bytes);
                token_wipe(bytes, size);
                mem_free(bytes);
                if (is_good)
                        return 0;
        }
        int rc = identity_key_make(ret_key, err);
        return rc ? rc : durable_write(keeper->path_new, ret_key, strlen(ret_key), 0600, err);
}

int keeper_write_both(struct keeper *keeper, const char *key, const char *certificate,
                      struct err *err)
{
        struct text text = {0};

        text_add(&text, "%s%s", key, certificate);
        int rc = text.failed ? err_set(err, ERR_NOMEM, "out of memory")
                             : durable_write(keeper->path, text.bytes, text.size, 0600, err);
        if (text.bytes)
                token_wipe(text.bytes, text.size);
        text_done(&text);
        if (rc == 0)
                (void)unlink(keeper->path_new);
        return rc;
}
