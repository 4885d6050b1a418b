/* The webhook against a real server that fails, is slow, or is gone; and a real berthd that is
 * killed while it has things to tell. */
#include "tests/unit/controller/served.h"

#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/str.h"
#include "controller/webhook.h"

#define HEARD_MAX 256

/* What the server does with a request. */
enum how { TAKE, FAIL_500, BUSY_429, REFUSE_400, HANG_UP, SLOW };

struct receiver {
        pthread_t thread;
        pthread_mutex_t lock;
        int fd;
        uint16_t port;
        atomic_bool is_ending;
        const enum how *script;         /* of the first requests; then all are taken */
        size_t script_count;
        enum how after;
        size_t count;                   /* requests that came; under the lock, as what follows */
        char ids[HEARD_MAX][64], signatures[HEARD_MAX][128], bodies[HEARD_MAX][1024];
        bool taken[HEARD_MAX];
};

static struct receiver receiver;

/* ---- the server ---- */

static const char *header_of(const char *request, const char *name, char value[128])
{
        const char *at = strstr(request, name);
        value[0] = '\0';
        if (at)
                (void)sscanf(at + strlen(name), ": %127[^\r\n]", value);
        return value;
}

/* A whole request; false: its sender went. */
static bool read_request(int fd, char *request, size_t size)
{
        size_t got = 0, length = 0;
        for (;;) {
                ssize_t more = read(fd, request + got, size - 1 - got);
                if (more <= 0)
                        return false;
                got += (size_t)more;
                request[got] = '\0';
                const char *body = strstr(request, "\r\n\r\n");
                char value[128];
                if (!body)
                        continue;
                length = strtoul(header_of(request, "Content-Length", value), NULL, 10);
                if (strlen(body + 4) >= length)
                        return true;
        }
}

static enum how note_request(const char *request)
{
        pthread_mutex_lock(&receiver.lock);
        size_t at = receiver.count++;
        enum how how = at < receiver.script_count ? receiver.script[at] : receiver.after;
        char value[128];
        if (at < HEARD_MAX) {
                snprintf(receiver.ids[at], 64, "%s", header_of(request, "Berth-Event-Id", value));
                snprintf(receiver.signatures[at], 128, "%s",
                         header_of(request, "Berth-Signature", value));
                snprintf(receiver.bodies[at], 1024, "%s", strstr(request, "\r\n\r\n") + 4);
                receiver.taken[at] = how == TAKE || how == SLOW;
        }
        pthread_mutex_unlock(&receiver.lock);
        return how;
}

static void answer(int fd, enum how how)
{
        static const char *const lines[] = {
                [TAKE] = "204 No Content", [FAIL_500] = "500 Internal Server Error",
                [BUSY_429] = "429 Too Many Requests", [REFUSE_400] = "400 Bad Request",
                [SLOW] = "200 OK"};
        if (how == HANG_UP)
                return;
        for (int waits = 0; how == SLOW && waits < 100 && !receiver.is_ending; waits++)
                served_sleep_ms(5);
        dprintf(fd, "HTTP/1.1 %s\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", lines[how]);
}

static void *serve(void *arg)
{
        static char request[1 << 14];
        (void)arg;
        while (!receiver.is_ending) {
                struct pollfd wait = {receiver.fd, POLLIN, 0};
                if (poll(&wait, 1, 20) <= 0)
                        continue;
                int fd = accept(receiver.fd, NULL, NULL);
                if (fd < 0)
                        continue;
                if (read_request(fd, request, sizeof request))
                        answer(fd, note_request(request));
                close(fd);
        }
        return NULL;
}

/* A socket on the port; 0: on any. */
static int bound_socket(uint16_t port, uint16_t *ret_port)
{
        struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port),
                                      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        socklen_t size = sizeof address;
        int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        assert_int_equal(bind(fd, (struct sockaddr *)&address, size), 0);
        assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
        *ret_port = ntohs(address.sin_port);
        return fd;
}

/* It is held to the end, by a socket that never listens: nobody else gets it meanwhile. */
static int take_port(void **state)
{
        (void)state;
        return bound_socket(0, &receiver.port) < 0;
}

static void receiver_start(const enum how *script, size_t count, enum how after)
{
        receiver = (struct receiver){.script = script, .script_count = count, .after = after,
                                     .port = receiver.port};
        pthread_mutex_init(&receiver.lock, NULL);
        receiver.fd = bound_socket(receiver.port, &receiver.port);
        assert_int_equal(listen(receiver.fd, 16), 0);
        assert_int_equal(pthread_create(&receiver.thread, NULL, serve, NULL), 0);
}

static void receiver_end(void)
{
        receiver.is_ending = true;
        pthread_join(receiver.thread, NULL);
        close(receiver.fd);
}

static size_t heard(void)
{
        pthread_mutex_lock(&receiver.lock);
        size_t count = receiver.count;
        pthread_mutex_unlock(&receiver.lock);
        return count;
}

/* ---- the webhook alone ---- */

static char secret_path[64];

static struct webhook *new_webhook(const char *secret_file)
{
        struct webhook *webhook;
        char url[64];
        struct err err;
        if (webhook_new(2, &webhook, &err) < 0)
                fail_msg("%s", err.text);
        snprintf(url, sizeof url, "http://127.0.0.1:%u/in?x=1", receiver.port);
        webhook_set(webhook, url, secret_file);
        return webhook;
}

static int push(struct webhook *webhook, unsigned number)
{
        char id[16], body[32];
        snprintf(id, sizeof id, "id-%u", number);
        snprintf(body, sizeof body, "{\"n\":%u}", number);
        return webhook_push(webhook, number, id, body, strlen(body), NULL);
}

/* Until so many are over; they come back in order. */
static void wait_done(struct webhook *webhook, unsigned from, unsigned count)
{
        uint64_t tag;
        for (unsigned waits = 0, n = 0; n < count;) {
                if (webhook_done(webhook, &tag))
                        assert_int_equal(tag, from + n++);
                else if (waits++ > SERVED_PATIENCE_MS / 5)
                        fail_msg("%u of %u are over", n, count);
                else
                        served_sleep_ms(5);
        }
}

static void bodies_arrive_in_order_whatever_fails(void **state)
{
        (void)state;
        static const enum how script[] = {FAIL_500, HANG_UP, TAKE, BUSY_429, FAIL_500, TAKE, SLOW,
                                          HANG_UP, REFUSE_400, TAKE};
        struct webhook_figures figures;
        receiver_start(script, ARRAY_LEN(script), TAKE);
        struct webhook *webhook = new_webhook("");
        for (unsigned n = 0; n < 8; n++)
                assert_int_equal(push(webhook, n), 0);  /* never waits for the server */
        wait_done(webhook, 0, 8);
        webhook_figures(webhook, &figures);
        assert_int_equal(figures.posted, 8);
        assert_int_equal(figures.failed, 6);
        assert_int_equal(figures.given_up, 0);
        assert_int_equal(figures.failing_since_ms, 0);
        unsigned next = 0;
        for (size_t h = 0; h < heard(); h++) {
                char id[16];
                snprintf(id, sizeof id, "id-%u", next);
                assert_string_equal(receiver.ids[h], id);       /* none before its turn */
                assert_string_equal(receiver.signatures[h], "");
                next += receiver.taken[h];
        }
        assert_int_equal(next, 8);
        webhook_free(webhook);
        receiver_end();
}

static void what_is_refused_again_and_again_is_given_up(void **state)
{
        (void)state;
        static enum how script[WEBHOOK_REFUSALS_MAX + 1];
        struct webhook_figures figures;
        for (size_t s = 0; s < ARRAY_LEN(script); s++)
                script[s] = s == 5 ? FAIL_500 : REFUSE_400;     /* it begins to count anew */
        receiver_start(script, ARRAY_LEN(script), REFUSE_400);
        struct webhook *webhook = NULL;
        assert_int_equal(webhook_new(1, &webhook, NULL), 0);
        char url[64];
        snprintf(url, sizeof url, "http://127.0.0.1:%u/", receiver.port);
        webhook_set(webhook, url, "");
        assert_int_equal(push(webhook, 0), 0);
        for (int waits = 0; waits < SERVED_PATIENCE_MS / 5 && heard() < 8; waits++)
                served_sleep_ms(5);
        webhook_figures(webhook, &figures);
        assert_true(figures.failed >= 7);
        assert_true(figures.failing_since_ms > 0);
        check_has(figures.failure, "it answered");
        webhook_free(webhook);          /* in the middle of it: ends at once */
        receiver_end();
}

/* Whoever is gone comes back, and gets what waited. */
static void nothing_is_lost_while_nobody_listens(void **state)
{
        (void)state;
        struct webhook_figures figures;
        receiver_start(NULL, 0, TAKE);
        receiver_end();
        struct webhook *webhook = new_webhook("");
        for (unsigned n = 0; n < WEBHOOK_QUEUE_MAX; n++)
                assert_int_equal(push(webhook, n), 0);
        assert_int_equal(push(webhook, WEBHOOK_QUEUE_MAX), -ERR_FULL);
        for (int waits = 0; waits < SERVED_PATIENCE_MS / 5; waits++) {
                webhook_figures(webhook, &figures);
                if (figures.failed > 2)
                        break;
                served_sleep_ms(5);
        }
        assert_true(figures.failed > 2);
        assert_int_equal(figures.posted, 0);
        receiver_start(NULL, 0, TAKE);
        wait_done(webhook, 0, WEBHOOK_QUEUE_MAX);
        assert_int_equal(push(webhook, 900), 0);
        wait_done(webhook, 900, 1);
        webhook_free(webhook);
        receiver_end();
}

static void a_body_is_signed_with_the_secret_of_the_file(void **state)
{
        (void)state;
        char wanted[WEBHOOK_SIGNATURE_MAX];
        /* Of "12.what do ya want", by Python's hmac. */
        webhook_sign("Jefe", 4, 12, "what do ya want", 15, wanted);
        assert_string_equal(wanted, "t=12,v1=29ef9e616afebe39ab4448f02ba0b4ef"
                                    "b0ed556499bbb927476c73cd0c6f6507");
}

static void a_secret_that_others_may_read_is_none(void **state)
{
        (void)state;
        struct webhook_figures figures = {0};
        char signature[WEBHOOK_SIGNATURE_MAX];
        FILE *file = fopen(secret_path, "w");
        fputs("Jefe\n", file);
        fclose(file);
        assert_int_equal(chmod(secret_path, 0644), 0);
        receiver_start(NULL, 0, TAKE);
        struct webhook *webhook = new_webhook(secret_path);
        assert_int_equal(push(webhook, 1), 0);
        for (int waits = 0; waits < SERVED_PATIENCE_MS / 5 && figures.failed == 0; waits++) {
                served_sleep_ms(5);
                webhook_figures(webhook, &figures);
        }
        check_has(figures.failure, "others may not read");
        assert_int_equal(heard(), 0);   /* nothing goes out unsigned */
        assert_int_equal(chmod(secret_path, 0600), 0);
        wait_done(webhook, 1, 1);
        assert_int_equal(heard(), 1);
        long long at = strtoll(receiver.signatures[0] + 2, NULL, 10);
        webhook_sign("Jefe", 4, at, receiver.bodies[0], strlen(receiver.bodies[0]), signature);
        assert_string_equal(receiver.signatures[0], signature);
        webhook_free(webhook);
        receiver_end();
        unlink(secret_path);
}

/* ---- with a controller ---- */

static const char pool[] = "kind: Pool\nname: small\nplanes: {training: {}}\nnodes:\n"
                           "  - {name: \"gpu-[01-02]\", plane: training,"
                           " devices: {model: H100-80, count: 8}, cpu: 96, ram: 1024Gi}\n";

static void until_heard(size_t count)
{
        for (int waits = 0; heard() < count; waits++) {
                if (waits > SERVED_PATIENCE_MS / 10)
                        fail_msg("%zu of %zu came", heard(), count);
                served_sleep_ms(10);
        }
}

/* Until the controller knows it too. */
static void until_told(const struct served *served)
{
        for (int waits = 0; waits < SERVED_PATIENCE_MS / 20; waits++) {
                struct asked *asked = served_ask(served, "GET", "/metrics", "", NULL);
                if (strstr(asked->body, "\nberth_webhook_waiting 0\n"))
                        return;
                served_sleep_ms(20);
        }
        fail_msg("what came is not known to have come");
}

static void a_change_that_was_not_told_is_told_by_the_next_controller(void **state)
{
        (void)state;
        static struct served served;
        char policy[1024];
        receiver_start(NULL, 0, TAKE);
        receiver_end();
        snprintf(policy, sizeof policy,
                 "kind: Policy\npreset: equal\nclasses: {training: {}}\ndefault_class: training\n"
                 "tenants: {web: {}}\nalerts: {memory_pressure: 0.02, for: 0s,\n"
                 "  webhook: {url: \"http://127.0.0.1:%u/berth\"}}\n", receiver.port);
        served_new(&served, pool, policy);
        served_start(&served, NULL);    /* two of 64 nodes are more than 0.02 */
        json_t *json = NULL;
        for (int waits = 0; waits < SERVED_PATIENCE_MS / 20; waits++) {
                json = served_json(&served, "GET", "/v1/alerts", NULL, 200);
                if (json_array_size(json_object_get(json, "alerts")) > 0)
                        break;
                json_decref(json);
                served_sleep_ms(20);
        }
        const json_t *alert = json_array_get(json_object_get(json, "alerts"), 0);
        json_int_t id = json_integer_value(json_object_get(alert, "id"));
        assert_true(id > 0);
        json_decref(json);
        char path[64], event[32];
        snprintf(path, sizeof path, "/v1/alerts/%lld/acknowledge", (long long)id);
        json_decref(served_json(&served, "POST", path, "", 200));
        served_end(&served, SIGKILL);
        receiver_start(NULL, 0, TAKE);  /* only now does anybody listen */
        served_start(&served, NULL);
        until_heard(2);
        until_told(&served);
        served_end(&served, SIGTERM);
        check_has(receiver.bodies[0], "\"event\":\"alert_raised\",\"pool\":\"small\"");
        check_has(receiver.bodies[0], "\"subject\":\"nodes\"");
        check_has(receiver.bodies[1], "\"event\":\"alert_acknowledged\"");
        snprintf(event, sizeof event, "%lld-1-", (long long)id);
        check_has(receiver.ids[0], event);
        /* What was told is not told again. */
        served_start(&served, NULL);
        served_sleep_ms(1500);
        assert_int_equal(heard(), 2);
        receiver_end();
        served_done(&served);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(bodies_arrive_in_order_whatever_fails),
                cmocka_unit_test(what_is_refused_again_and_again_is_given_up),
                cmocka_unit_test(nothing_is_lost_while_nobody_listens),
                cmocka_unit_test(a_body_is_signed_with_the_secret_of_the_file),
                cmocka_unit_test(a_secret_that_others_may_read_is_none),
                cmocka_unit_test(a_change_that_was_not_told_is_told_by_the_next_controller),
        };
        snprintf(secret_path, sizeof secret_path, "/tmp/berth-secret-%d", (int)getpid());
        return cmocka_run_group_tests(tests, take_port, NULL);
}
