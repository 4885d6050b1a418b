/* One request and its answer: received, bounded, and what its status means. */
#include "net/client.h"

#include <string.h>

#include <jansson.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/str.h"
#include "net/client_impl.h"

#define RETRY_AFTER_MAX 86400

struct receiving {
        struct client *client;
        struct client_answer answer;
        size_t room;
        bool too_large, failed;
};

static size_t on_body(char *bytes, size_t one, size_t size, void *arg)
{
        struct receiving *receiving = arg;
        struct client_answer *answer = &receiving->answer;
        size_t room = receiving->room ? receiving->room : 4096;

        (void)one;
        receiving->too_large = size > receiving->client->answer_bytes_max - answer->size;
        if (receiving->too_large)
                return CURL_WRITEFUNC_ERROR;
        while (room < answer->size + size + 1)
                room *= 2;
        if (room > receiving->room) {
                char *grown = mem_resize(answer->body, receiving->room, room, 1);
                receiving->failed = !grown;
                if (!grown)
                        return CURL_WRITEFUNC_ERROR;
                answer->body = grown;
                receiving->room = room;
        }
        memcpy(answer->body + answer->size, bytes, size);
        answer->size += size;
        answer->body[answer->size] = '\0';
        return size;
}

static void read_header(CURL *curl, const char *name, char *ret_value, size_t size)
{
        struct curl_header *header;

        ret_value[0] = '\0';
        if (curl_easy_header(curl, name, 0, CURLH_HEADER, -1, &header) == CURLHE_OK)
                str_copy(ret_value, size, header->value);
}

static void read_head(CURL *curl, struct client_answer *answer)
{
        char retry_after[32];
        uint64_t seconds;
        long status = 0;

        curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
        answer->status = (unsigned)status;
        read_header(curl, "Content-Type", answer->type, sizeof answer->type);
        read_header(curl, "ETag", answer->etag, sizeof answer->etag);
        read_header(curl, "Retry-After", retry_after, sizeof retry_after);
        answer->retry_after_s = -1;
        if (num_u64(retry_after, 0, RETRY_AFTER_MAX, &seconds, NULL) == 0)
                answer->retry_after_s = (int64_t)seconds;
}

void client_answer_done(struct client_answer *answer)
{
        if (answer)
                mem_free(answer->body);
        if (answer)
                *answer = (struct client_answer){0};
}

int client_call(struct client *client, const struct client_request *request,
                struct client_answer *ret_answer, struct err *err)
{
        struct receiving receiving = {.client = client};
        struct curl_slist *headers;

        int rc = client_prepare(client, request, NULL, &headers, err);
        if (rc < 0)
                return rc;
        curl_easy_setopt(client->curl, CURLOPT_WRITEFUNCTION, on_body);
        curl_easy_setopt(client->curl, CURLOPT_WRITEDATA, &receiving);
        CURLcode code = curl_easy_perform(client->curl);
        if (receiving.too_large)
                rc = err_set(err, ERR_RANGE, "an answer of more than %llu bytes",
                             (unsigned long long)client->answer_bytes_max);
        else if (receiving.failed)
                rc = err_set(err, ERR_NOMEM, "out of memory");
        else if (code != CURLE_OK)
                rc = client_failed(client, code, err);
        if (rc == 0 && !receiving.answer.body && !(receiving.answer.body = mem_new(1, 1)))
                rc = err_set(err, ERR_NOMEM, "out of memory");
        read_head(client->curl, &receiving.answer);
        curl_slist_free_all(headers);
        if (rc < 0)
                client_answer_done(&receiving.answer);
        else
                *ret_answer = receiving.answer;
        return rc;
}

static enum err_code code_of(unsigned status)
{
        switch (status) {
        case 400:
        case 422:
                return ERR_INPUT;
        case 404:
        case 410:
                return ERR_NOT_FOUND;
        case 409:
        case 412:
                return ERR_EXISTS;
        case 413:
        case 414:
        case 431:
                return ERR_RANGE;
        case 429:
        case 503:
                return ERR_FULL;
        default:
                return ERR_IO;
        }
}

int client_check(const struct client_answer *answer, struct err *err)
{
        if (answer->status >= 200 && answer->status <= 299)
                return 0;
        enum err_code code = code_of(answer->status);
        json_t *problem = json_loadb(answer->body, answer->size, 0, NULL);
        const char *detail = json_string_value(json_object_get(problem, "detail"));
        size_t size = detail ? str_cut(detail, strlen(detail), sizeof err->text - 1) : 0;
        int rc = detail ? err_set(err, code, "%.*s", (int)size, detail)
                        : err_set(err, code, "the server answered %u", answer->status);
        if (err)
                (void)str_make_fit(err->text, strlen(err->text), false);
        json_decref(problem);
        return rc;
}

void client_header(const struct client *client, const char *name, char *ret_value, size_t size)
{
        read_header(client->curl, name, ret_value, size);
}

bool client_header_u64(const struct client *client, const char *name, uint64_t *ret_value)
{
        char text[24];

        client_header(client, name, text, sizeof text);
        return num_u64(text, 0, UINT64_MAX, ret_value, NULL) == 0;
}
