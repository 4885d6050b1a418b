/* client_impl.h - the inside of the client, for net/client*.c only. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <curl/curl.h>

#include "net/client.h"

struct client {
        CURL *curl;
        char *url;           /* without a slash at its end */
        char *socket_path;   /* NULL: TCP */
        char *authorization; /* the header line, secret; NULL: none */
        char *ca_file, *pin, *certificate_file, *key_file, *agent;
        int64_t timeout_ms, silence_ms_max;
        uint64_t answer_bytes_max;
        int64_t heard_ns; /* of a stream, when last; 0: no stream */
        atomic_bool is_stopped;
        char curl_text[CURL_ERROR_SIZE];
};

/* Sets up the handle for a request: whom to ask, whom to believe, the headers. *ret_headers is
 * freed by the caller with curl_slist_free_all() once the transfer is over. */
int client_prepare(struct client *client, const struct client_request *request,
                   const char *last_event_id, struct curl_slist **ret_headers, struct err *err);

/* What curl says, as an error of ours. */
int client_failed(const struct client *client, CURLcode code, struct err *err);
