#include "controller/crash.h"

#include <assert.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"

#define BEGIN       "berth-crash 1 "
#define LOOKS       4                   /* in the time that what hangs is given */
#define STACK_BYTES (64u << 10)         /* for handlers: the own one may be what ran out */

static const int fatal[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};

struct under_way {
        volatile bool is_entered;
        const char *volatile head;
        const char *volatile body;
        volatile size_t size;
};

/* Another thread's: only it writes there, and only its handler reads what it is at. */
struct beside {
        atomic_int thread_id;           /* 0: nobody's */
        struct crash_request request;
        stack_t stack_before;
        _Alignas(16) char stack[STACK_BYTES];
};

static struct {
        volatile sig_atomic_t fd;       /* 0: nobody watches */
        atomic_flag is_written;
        pid_t process, thread_id;
        pthread_t thread;
        const char *path, *version;
        struct under_way under_way[CRASH_OTHER];
        char by[CRASH_BY_MAX];          /* asks for the request; "": nobody yet */
        struct beside beside[CRASH_BESIDE_MAX];
        /* For the timer: how often something was entered, as it was at the last look, and how
         * often it was the same. */
        volatile uint64_t entered, entered_before;
        unsigned looks;
        timer_t timer;
        bool has_timer;
        struct sigaction before[ARRAY_LEN(fatal)];
        _Alignas(16) char stack[STACK_BYTES];
} watch;

const char *crash_of_name(enum crash_of of)
{
        static const char *const names[CRASH_OFS_END] = {
#define X(name, word) word,
                CRASH_OFS(X)
#undef X
        };

        return names[of];
}

/* ---- entering ---- */

void crash_enter(enum crash_of of, const char *head, const char *body, size_t size)
{
        struct under_way *it = &watch.under_way[of];

        if (watch.fd == 0)
                return;
        it->head = head;
        it->body = body;
        it->size = size;
        if (of == CRASH_REQUEST)
                watch.by[0] = '\0';
        atomic_signal_fence(memory_order_seq_cst);
        it->is_entered = true;
        watch.entered = watch.entered + 1;
}

void crash_leave(enum crash_of of)
{
        watch.under_way[of].is_entered = false;
}

void crash_asked_by(const char *who)
{
        if (watch.under_way[CRASH_REQUEST].is_entered)
                (void)snprintf(watch.by, sizeof watch.by, "%s", who);
}

void crash_enter_beside(unsigned place, const struct crash_request *request)
{
        struct beside *it = &watch.beside[place];
        const stack_t own = {.ss_sp = it->stack, .ss_size = sizeof it->stack};

        assert(place < CRASH_BESIDE_MAX);
        it->request = *request;
        (void)sigaltstack(&own, &it->stack_before);
        atomic_store(&it->thread_id, gettid());
}

void crash_leave_beside(unsigned place)
{
        struct beside *it = &watch.beside[place];

        atomic_store(&it->thread_id, 0);
        (void)sigaltstack(&it->stack_before, NULL);
}

/* ---- within a handler: only what a handler may call ---- */

static void put(const char *bytes, size_t size)
{
        while (size > 0) {
                ssize_t written = write(watch.fd, bytes, size);
                if (written < 0 && errno == EINTR)
                        continue;
                if (written <= 0)
                        return;         /* a full disk, or a pointer that went bad: it is cut */
                bytes += written;
                size -= (size_t)written;
        }
}

static void put_text(const char *text)
{
        put(text, strlen(text));
}

static void put_number(const char *name, uint64_t number)
{
        char digits[24], *at = digits + sizeof digits;

        do {
                *--at = (char)('0' + number % 10);
        } while ((number /= 10) > 0);
        put_text(name);
        put(at, (size_t)(digits + sizeof digits - at));
}

static void put_stack(void)
{
        void *frames[CRASH_STACK_MAX];
        int count = backtrace(frames, CRASH_STACK_MAX);

        backtrace_symbols_fd(frames, count, watch.fd);
}

/* What this thread was at. An input may be of a request: then that is who asked for it. */
static enum crash_of blamed(struct crash_request *ret_request)
{
        enum crash_of of = CRASH_INPUT;
        pid_t self = gettid();

        *ret_request = (struct crash_request){.head = "", .body = "", .by = ""};
        for (unsigned b = 0; self != watch.thread_id && b < CRASH_BESIDE_MAX; b++)
                if (atomic_load(&watch.beside[b].thread_id) == self) {
                        *ret_request = watch.beside[b].request;
                        return CRASH_REQUEST;
                }
        if (self != watch.thread_id)
                return CRASH_OTHER;
        while (of < CRASH_OTHER && !watch.under_way[of].is_entered)
                of++;
        if (of == CRASH_OTHER)
                return of;
        *ret_request = (struct crash_request){
                .head = watch.under_way[of].head,
                .body = watch.under_way[of].body,
                .by = watch.under_way[CRASH_REQUEST].is_entered ? watch.by : "",
                .size = watch.under_way[of].size};
        return of;
}

static void write_record(int number)
{
        struct crash_request it;
        enum crash_of of = blamed(&it);
        struct timespec now = {0};
        struct stat there;

        if (fstat(watch.fd, &there) < 0 || there.st_size > CRASH_FILE_MAX)
                return;
        (void)clock_gettime(CLOCK_REALTIME, &now);
        put_text(BEGIN);
        put_text(crash_of_name(of));
        put_number(" signal=", (uint64_t)number);
        put_number(" at_ns=", (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec);
        put_text(" version=");
        put_text(watch.version);
        put_number(" head=", strlen(it.head));
        put_number(" body=", it.size);
        put_number(" by=", strlen(it.by));
        put_text("\n");
        put_text(it.head);
        put(it.body, it.size);
        put_text(it.by);
        put_text("\n");
        put_stack();
        put_text("end\n");
}

static void on_fatal(int number, siginfo_t *info, void *context)
{
        int before = errno;

        (void)context;
        if (getpid() == watch.process && watch.fd > 0 &&
            !atomic_flag_test_and_set(&watch.is_written))
                write_record(number);
        for (size_t f = 0; f < ARRAY_LEN(fatal); f++)
                if (fatal[f] == number)
                        (void)sigaction(number, &watch.before[f], NULL);
        errno = before;
        /* A fault happens again on return; what was sent does not. */
        if (info->si_code <= 0)
                (void)raise(number);
}

/* Some times in the limit of CPU time: whether it is still the same that is under way. */
static void on_look(int number)
{
        bool same = watch.entered == watch.entered_before;
        bool any = false;

        (void)number;
        for (unsigned of = 0; of < CRASH_OTHER; of++)
                any |= watch.under_way[of].is_entered;
        watch.entered_before = watch.entered;
        watch.looks = any && same ? watch.looks + 1 : 0;
        if (watch.looks < LOOKS)
                return;
        watch.looks = 0;
        /* To the thread that is at it, for its stack. */
        (void)pthread_kill(watch.thread, SIGABRT);
}

/* ---- watching ---- */

static void catch_fatal(void)
{
        const stack_t own = {.ss_sp = watch.stack, .ss_size = sizeof watch.stack};
        struct sigaction action = {.sa_sigaction = on_fatal,
                                   .sa_flags = SA_SIGINFO | SA_ONSTACK};
        void *frame;

        (void)backtrace(&frame, 1);     /* loads what it needs: a handler must not */
        (void)sigaltstack(&own, NULL);
        (void)sigemptyset(&action.sa_mask);
        for (size_t f = 0; f < ARRAY_LEN(fatal); f++)
                (void)sigaction(fatal[f], &action, &watch.before[f]);
}

/* Of this thread's time: what others work at meanwhile is not its. */
static int start_timer(int64_t limit_ms, struct err *err)
{
        int64_t every_ms = (limit_ms + LOOKS - 1) / LOOKS;
        const struct timespec every = {every_ms / 1000, every_ms % 1000 * 1000000};
        const struct itimerspec times = {.it_interval = every, .it_value = every};
        struct sigaction action = {.sa_handler = on_look, .sa_flags = SA_RESTART};
        struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGPROF};

        if (limit_ms == 0)
                return 0;
        (void)sigemptyset(&action.sa_mask);
        (void)sigaction(SIGPROF, &action, NULL);
        if (timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &watch.timer) < 0)
                return err_set(err, ERR_IO, "no timer for what never ends: %s", strerror(errno));
        watch.has_timer = true;
        (void)timer_settime(watch.timer, 0, &times, NULL);
        return 0;
}

int crash_watch(const char *path, const char *version, int64_t limit_ms, struct err *err)
{
        int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);

        if (fd >= 0 && fd <= STDERR_FILENO) {
                int above = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
                (void)close(fd);
                fd = above;
        }
        if (fd < 0)
                return err_set(err, ERR_IO, "%s: %s", path, strerror(errno));
        watch.process = getpid();
        watch.thread_id = gettid();
        watch.thread = pthread_self();
        watch.path = path;
        watch.version = version;
        atomic_flag_clear(&watch.is_written);
        watch.fd = fd;
        catch_fatal();
        int rc = start_timer(limit_ms, err);
        if (rc)
                crash_unwatch();
        return rc;
}

void crash_unwatch(void)
{
        const stack_t none = {.ss_flags = SS_DISABLE};
        struct stat there;

        if (watch.fd == 0)
                return;
        if (watch.has_timer)
                (void)timer_delete(watch.timer);
        watch.has_timer = false;
        for (size_t f = 0; f < ARRAY_LEN(fatal); f++)
                (void)sigaction(fatal[f], &watch.before[f], NULL);
        (void)sigaltstack(&none, NULL);
        if (fstat(watch.fd, &there) == 0 && there.st_size == 0)
                (void)unlink(watch.path);
        (void)close(watch.fd);
        watch.fd = 0;
}

void crash_forget(void)
{
        if (watch.fd > 0 && ftruncate(watch.fd, 0) < 0)
                return;                 /* they are known when they are read again */
}

/* ---- reading ---- */

static bool begins(const char *at, const char *end, const char *with)
{
        return (size_t)(end - at) >= strlen(with) && memcmp(at, with, strlen(with)) == 0;
}

/* "NAME=DIGITS" and a blank, or the end of the line. */
static bool take_number(const char **at, const char *end, const char *name, uint64_t max,
                        uint64_t *ret_number)
{
        uint64_t number = 0;
        bool any = false;

        if (!begins(*at, end, name))
                return false;
        for (*at += strlen(name); *at < end && **at >= '0' && **at <= '9'; (*at)++, any = true) {
                if (number > max / 10)
                        return false;
                number = number * 10 + (uint64_t)(**at - '0');
        }
        *ret_number = number;
        return any && number <= max;
}

static bool take_of(const char **at, const char *end, enum crash_of *ret_of)
{
        if (!begins(*at, end, BEGIN))
                return false;
        *at += strlen(BEGIN);
        for (enum crash_of of = 0; of < CRASH_OFS_END; of++)
                if (begins(*at, end, crash_of_name(of))) {
                        *at += strlen(crash_of_name(of));
                        *ret_of = of;
                        return true;
                }
        return false;
}

/* The line up to `end`; head and body follow it. */
static bool take_line(const char *at, const char *end, struct crash_record *record)
{
        static const char version[] = " version=";
        uint64_t number, head, body, by = 0;

        if (!take_of(&at, end, &record->of) || !take_number(&at, end, " signal=", 64, &number))
                return false;
        record->signal = (int)number;
        if (!take_number(&at, end, " at_ns=", INT64_MAX, &number) ||
            !begins(at, end, version))
                return false;
        record->at_ns = (int64_t)number;
        record->version = at += strlen(version);
        while (at < end && *at != ' ')
                at++;
        record->version_size = (size_t)(at - record->version);
        if (!take_number(&at, end, " head=", CRASH_FILE_MAX, &head) ||
            !take_number(&at, end, " body=", CRASH_FILE_MAX, &body) ||
            (at < end && !take_number(&at, end, " by=", CRASH_BY_MAX, &by)))
                return false;
        record->head_size = (size_t)head;
        record->body_size = (size_t)body;
        record->by_size = (size_t)by;
        return at == end;
}

/* Up to the line "end", or to the next record where the handler did not come so far. */
static const char *take_stack(const char *at, const char *end, struct crash_record *record)
{
        record->stack = at;
        while (at < end) {
                const char *line = memchr(at, '\n', (size_t)(end - at));
                const char *next = line ? line + 1 : end;
                record->stack_size = (size_t)(at - record->stack);
                if (begins(at, end, BEGIN))
                        return at;
                if (begins(at, end, "end\n"))
                        return next;
                at = next;
        }
        record->stack_size = (size_t)(end - record->stack);
        return end;
}

/* Where the next one begins; NULL: this is none. */
static const char *take_record(const char *at, const char *end, struct crash_record *record)
{
        const char *line = memchr(at, '\n', (size_t)(end - at));

        if (!line || !take_line(at, line, record))
                return NULL;
        at = line + 1;
        if ((size_t)(end - at) < record->head_size ||
            (size_t)(end - at) - record->head_size < record->body_size)
                return NULL;
        record->head = at;
        record->body = at + record->head_size;
        at = record->by = record->body + record->body_size;
        if ((size_t)(end - at) < record->by_size)
                record->by_size = (size_t)(end - at);
        at += record->by_size;
        at += at < end && *at == '\n';
        return take_stack(at, end, record);
}

int crash_read(const char *bytes, size_t size, crash_see *see, void *arg, struct err *err)
{
        const char *at = bytes, *end = bytes + size;

        while (at < end) {
                struct crash_record record = {0};
                const char *next = take_record(at, end, &record);
                if (!next)
                        return err_set(err, ERR_INPUT,
                                       "what stands at byte %zu of the crash records is none",
                                       (size_t)(at - bytes));
                int rc = see(arg, &record, err);
                if (rc)
                        return rc;
                at = next;
        }
        return 0;
}
