#include "net/client.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include <sodium.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "base/time.h"
#include "net/client_impl.h"

#define TIMEOUT_MS       30000
#define SILENCE_MS       60000
#define ANSWER_BYTES_MAX (64ull << 20)
#define CONNECT_MS_MAX   10000
#define UNIX_SCHEME      "unix:"

/* ---- life ---- */

/* A copy, or NULL for NULL. `failed` stays true once it is. */
static char *copy(const char *text, bool *failed)
{
        if (!text)
                return NULL;
        size_t size = strlen(text) + 1;
        char *kept = mem_new(size, 1);
        if (kept)
                memcpy(kept, text, size);
        else
                *failed = true;
        return kept;
}

static bool starts_with(const char *text, const char *start)
{
        return strncmp(text, start, strlen(start)) == 0;
}

/* "http://localhost:80/x", "http://127.0.0.1", "http://[::1]:80" */
static bool is_loopback_http(const char *url)
{
        static const char *const hosts[] = {"localhost", "127.0.0.1", "[::1]"};
        const char *host = url + strlen("http://");

        for (size_t i = 0; i < ARRAY_LEN(hosts); i++) {
                const char *after = host + strlen(hosts[i]);
                if (starts_with(host, hosts[i]) && (*after == ':' || *after == '/' || !*after))
                        return true;
        }
        return false;
}

static int check_setup(const struct client_setup *setup, struct err *err)
{
        const char *url = setup->url;
        char shown[STR_SHOW_MAX];

        if (starts_with(url, UNIX_SCHEME)
                    ? url[strlen(UNIX_SCHEME)] != '/'
                    : !starts_with(url, "https://") && !starts_with(url, "http://"))
                return err_set(err, ERR_INPUT,
                               "'%s' is no server's address; write unix:/run/berth/api.sock or "
                               "https://host:port",
                               str_show(url, shown));
        if (starts_with(url, "http://") && !is_loopback_http(url))
                return err_set(err, ERR_INPUT, "'%s': another machine is reached by https only",
                               str_show(url, shown));
        if (!setup->certificate_file != !setup->key_file)
                return err_set(err, ERR_INPUT, "a certificate and its key go together");
        if (setup->pin && !starts_with(setup->pin, "sha256//"))
                return err_set(err, ERR_INPUT, "a pin is 'sha256//' and 44 digits of base64");
        return 0;
}

static void set_address(struct client *client, const char *url, bool *failed)
{
        if (starts_with(url, UNIX_SCHEME)) {
                client->socket_path = copy(url + strlen(UNIX_SCHEME), failed);
                url = "http://localhost";
        }
        client->url = copy(url, failed);
        if (!client->url)
                return;
        size_t length = strlen(client->url);
        while (length > 0 && client->url[length - 1] == '/')
                client->url[--length] = '\0';
}

static void set_token(struct client *client, const char *token, bool *failed)
{
        static const char start[] = "Authorization: Bearer ";

        if (!token)
                return;
        size_t size = sizeof start + strlen(token);
        client->authorization = mem_new(size, 1);
        if (client->authorization)
                snprintf(client->authorization, size, "%s%s", start, token);
        else
                *failed = true;
}

int client_new(const struct client_setup *setup, struct client **ret_client, struct err *err)
{
        bool failed = false;

        int rc = check_setup(setup, err);
        if (rc < 0)
                return rc;
        /* Counted inside, and never undone: other clients may be in use. */
        if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
                return err_set(err, ERR_NOMEM, "out of memory");
        struct client *client = mem_new(1, sizeof *client);
        if (!client)
                return err_set(err, ERR_NOMEM, "out of memory");
        client->curl = curl_easy_init();
        set_address(client, setup->url, &failed);
        set_token(client, setup->token, &failed);
        client->ca_file = copy(setup->ca_file, &failed);
        client->pin = copy(setup->pin, &failed);
        client->certificate_file = copy(setup->certificate_file, &failed);
        client->key_file = copy(setup->key_file, &failed);
        client->agent = copy(setup->agent ? setup->agent : "berth", &failed);
        client->timeout_ms = setup->timeout_ms ? setup->timeout_ms : TIMEOUT_MS;
        client->silence_ms_max = setup->silence_ms_max ? setup->silence_ms_max : SILENCE_MS;
        client->answer_bytes_max =
                setup->answer_bytes_max ? setup->answer_bytes_max : ANSWER_BYTES_MAX;
        if (!client->curl || failed) {
                client_free(client);
                return err_set(err, ERR_NOMEM, "out of memory");
        }
        *ret_client = client;
        return 0;
}

void client_free(struct client *client)
{
        if (!client)
                return;
        curl_easy_cleanup(client->curl);
        if (client->authorization)
                sodium_memzero(client->authorization, strlen(client->authorization));
        mem_free(client->authorization);
        mem_free(client->url);
        mem_free(client->socket_path);
        mem_free(client->ca_file);
        mem_free(client->pin);
        mem_free(client->certificate_file);
        mem_free(client->key_file);
        mem_free(client->agent);
        mem_free(client);
}

/* Out of memory: the old connection stays, until whoever is asked refuses it. */
void client_reconnect(struct client *client)
{
        CURL *curl = curl_easy_init();

        if (!curl)
                return;
        curl_easy_cleanup(client->curl);
        client->curl = curl;
}

void client_stop(struct client *client)
{
        atomic_store(&client->is_stopped, true);
}

/* ---- one request ---- */

static int on_progress(void *arg, curl_off_t total_in, curl_off_t in, curl_off_t total_out,
                       curl_off_t out)
{
        struct client *client = arg;

        (void)total_in;
        (void)in;
        (void)total_out;
        (void)out;
        bool is_silent = client->heard_ns != 0 &&
                         time_monotonic_ns() - client->heard_ns > client->silence_ms_max * 1000000;
        return is_silent || atomic_load(&client->is_stopped);
}

static int add_header(struct curl_slist **headers, const char *name, const char *value)
{
        struct text line = {0};

        if (!value)
                return 0;
        /* With ';' curl sends a header that is empty, with ':' alone none. */
        text_add(&line, value[0] ? "%s: %s" : "%s;", name, value);
        struct curl_slist *grown = line.failed ? NULL : curl_slist_append(*headers, line.bytes);
        text_done(&line);
        if (!grown)
                return -ERR_NOMEM;
        *headers = grown;
        return 0;
}

static int add_headers(const struct client *client, const struct client_request *request,
                       const char *last_event_id, struct curl_slist **headers)
{
        const char *type = request->type ? request->type : "application/json";
        struct curl_slist *grown = NULL;

        if (client->authorization) {
                grown = curl_slist_append(*headers, client->authorization);
                if (!grown)
                        return -ERR_NOMEM;
                *headers = grown;
        }
        int rc = add_header(headers, "Content-Type", request->body ? type : NULL);
        if (rc == 0)
                rc = add_header(headers, "Idempotency-Key", request->idempotency_key);
        if (rc == 0)
                rc = add_header(headers, "If-Match", request->if_match);
        if (rc == 0)
                rc = add_header(headers, "Berth-Reason", request->reason);
        if (rc == 0)
                rc = add_header(headers, "Last-Event-ID", last_event_id);
        for (size_t i = 0; rc == 0 && request->headers && request->headers[i]; i++) {
                grown = strpbrk(request->headers[i], "\r\n")
                                ? NULL
                                : curl_slist_append(*headers, request->headers[i]);
                if (!grown)
                        return -ERR_NOMEM;
                *headers = grown;
        }
        return rc;
}

static void set_trust(struct client *client)
{
        CURL *curl = client->curl;

        curl_easy_setopt(curl, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_3);
        if (client->ca_file)
                curl_easy_setopt(curl, CURLOPT_CAINFO, client->ca_file);
        if (client->pin) {
                curl_easy_setopt(curl, CURLOPT_PINNEDPUBLICKEY, client->pin);
                /* The key is what is believed; without an authority nothing else can be. */
                if (!client->ca_file) {
                        curl_easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, 0L);
                        curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, 0L);
                }
        }
        if (client->certificate_file) {
                curl_easy_setopt(curl, CURLOPT_SSLCERT, client->certificate_file);
                curl_easy_setopt(curl, CURLOPT_SSLKEY, client->key_file);
                /* A session that is taken up again is of the certificate it began with. */
                curl_easy_setopt(curl, CURLOPT_SSL_SESSIONID_CACHE, 0L);
        }
}

static void set_request(struct client *client, const struct client_request *request)
{
        CURL *curl = client->curl;
        const char *method = request->method ? request->method : "GET";

        if (request->body) {
                curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body_size);
                curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request->body);
        } else if (str_equal(method, "POST") || str_equal(method, "PUT")) {
                curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)0);
                curl_easy_setopt(curl, CURLOPT_POSTFIELDS, "");
        }
        if (str_equal(method, "HEAD"))
                curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
        curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, method);
        curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS,
                         (long)(request->timeout_ms ? request->timeout_ms : client->timeout_ms));
}

int client_prepare(struct client *client, const struct client_request *request,
                   const char *last_event_id, struct curl_slist **ret_headers, struct err *err)
{
        CURL *curl = client->curl;
        struct text url = {0};
        char shown[STR_SHOW_MAX];

        if (request->path[0] != '/' || strpbrk(request->path, " \r\n"))
                return err_set(err, ERR_INPUT, "'%s' is no path", str_show(request->path, shown));
        curl_easy_reset(curl); /* keeps the connection */
        client->curl_text[0] = '\0';
        text_add(&url, "%s%s", client->url, request->path);
        *ret_headers = NULL;
        if (url.failed || add_headers(client, request, last_event_id, ret_headers) < 0 ||
            curl_easy_setopt(curl, CURLOPT_URL, url.bytes) != CURLE_OK) {
                text_done(&url);
                curl_slist_free_all(*ret_headers);
                return err_set(err, ERR_NOMEM, "out of memory");
        }
        text_done(&url);
        if (client->socket_path)
                curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, client->socket_path);
        if (client->socket_path || is_loopback_http(client->url))
                curl_easy_setopt(curl, CURLOPT_PROXY, "");
        set_trust(client);
        set_request(client, request);
        curl_easy_setopt(curl, CURLOPT_HTTPHEADER, *ret_headers);
        curl_easy_setopt(curl, CURLOPT_USERAGENT, client->agent);
        curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
        curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
        curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
        curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS_MAX);
        curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, client->curl_text);
        curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, on_progress);
        curl_easy_setopt(curl, CURLOPT_XFERINFODATA, client);
        curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
        return 0;
}

int client_failed(const struct client *client, CURLcode code, struct err *err)
{
        const char *said = client->curl_text[0] ? client->curl_text : curl_easy_strerror(code);
        char shown[CURL_ERROR_SIZE];
        const char *text = shown;
        const char *where = client->socket_path ? client->socket_path : client->url;

        snprintf(shown, sizeof shown, "%s", said);
        (void)str_make_fit(shown, strlen(shown), false);        /* it may quote a certificate */
        switch ((int)code) {
        case CURLE_OUT_OF_MEMORY:
                return err_set(err, ERR_NOMEM, "out of memory");
        case CURLE_ABORTED_BY_CALLBACK:
                return err_set(err, ERR_CANCELLED, "%s: %s", where,
                               atomic_load(&client->is_stopped) ? "stopped" : "nothing heard");
        case CURLE_OPERATION_TIMEDOUT:
                return err_set(err, ERR_CANCELLED, "%s: %s", where, text);
        case CURLE_SSL_PINNEDPUBKEYNOTMATCH:
                return err_set(err, ERR_INPUT, "%s: the server's key is not the pinned one", where);
        case CURLE_PEER_FAILED_VERIFICATION:
                return err_set(err, ERR_INPUT,
                               "%s: %s; whom to believe is said by its authority's certificate "
                               "(ca-file) or its own key (pin)",
                               where, text);
        case CURLE_SSL_CACERT_BADFILE:
                return err_set(err, ERR_INPUT, "%s: %s (ca-file)", where, text);
        case CURLE_COULDNT_CONNECT:
                if (client->socket_path)        /* curl would speak of a host and a port */
                        text = "nobody answers at this socket";
                return err_set(err, ERR_IO, "%s: %s", where, text);
        default:
                return err_set(err, ERR_IO, "%s: %s", where, text);
        }
}
