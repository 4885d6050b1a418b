/* The commands against a real controller, whose nodes are simulated: `berthd` of BERTHD. */
#include "tests/unit/cli/child.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <termios.h>

#include <jansson.h>

#include "cli/names.h"

#define PATIENCE_MS 60000

static pid_t daemon_pid;

static void pause_ms(long ms)
{
        struct timespec pause = {ms / 1000, ms % 1000 * 1000000};

        nanosleep(&pause, NULL);
}

static bool is_listening(void)
{
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        snprintf(address.sun_path, sizeof address.sun_path, "%s", path_of("s.sock"));
        bool is_there = connect(fd, (const struct sockaddr *)&address, sizeof address) == 0;
        close(fd);
        return is_there;
}

static int start_daemon(void)
{
        char listen[96];
        const char *program = getenv("BERTHD");

        if (!program)
                return -1;
        snprintf(listen, sizeof listen, "unix:%s", path_of("s.sock"));
        daemon_pid = fork();
        if (daemon_pid == 0) {
                prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails leaves none behind */
                int log = open(path_of("daemon.log"), O_WRONLY | O_CREAT | O_APPEND, 0600);
                dup2(log, STDOUT_FILENO);
                dup2(log, STDERR_FILENO);
                execl(program, program, "--store", path_of("pool.db"), "--listen", listen,
                      "--simulate", "--tick", "100ms", "--pool", path_of("pool.yaml"), "--policy",
                      path_of("policy.yaml"), (char *)NULL);
                _exit(99);
        }
        for (int waited_ms = 0; waited_ms < PATIENCE_MS; waited_ms += 20) {
                if (is_listening())
                        return 0;
                pause_ms(20);
        }
        return -1;
}

static int stop_daemon(void)
{
        kill(daemon_pid, SIGTERM);
        return end_child(daemon_pid);
}

/* ---- rows: what an operator does ---- */

static void check(const struct child_row *rows, size_t count)
{
        check_rows(rows, count, folder);
}

static void the_pool_is_shown(void **state)
{
        (void)state;
        static const struct child_row rows[] = {
                {"pool", 0, "little: 2 nodes, 12 devices, policy 1\n", ""},
                {"pool", 0, "H100-80        8          0     8", ""},
                {"pool --nodes", 0, "n1  up  training  8 x H100-80  cpu 0 of 32", ""},
                {"pool --nodes", 0, "  0-7    free\n", ""},
                {"pool --nodes --model A100-40", 0, "s1  up", ""},
                {"pool --model A100-40", 2, "", "--model goes with --nodes"},
                {"pool --json", 0, "{\"name\":\"little\"", ""},
                {"tenants", 0, "web       H100-80 4", ""},
                {"idle", 0, "12 devices are idle", ""},
                {"idle --json", 0, "{", ""},
                {"fits --tenant web", 0, "8 devices of H100-80", ""},
                {"notices", 0, "no work has been told to stop", ""},
                {"events --after 0", 0, "policy_in_force", ""}, /* ends, though the clock goes on */
                {"queue", 0, "nothing waits", ""},
                {"top --once", 0, "queue\nnothing waits\n", ""},
                {"top", 2, "", "needs a terminal; berth top --once"},
                {"top --once --every 1ms", 2, "", "--every: "},
                {"policy show", 0,
                 "# revision 1\n# kept: records 30d, ended 90d, review 13mo\nkind: Policy\n", ""},
                {"policy show --json", 0, "\"document\": \"kind: Policy\\n", ""},
                {"submit -n --tenant web --class batch -d 8 --members 99 -- sleep 1", 2,
                 "possible:  at most ", ""},
                {"submit -n --json --tenant web --class batch -d 8 --members 99 -- sleep 1", 2,
                 "\"NEVER\"", ""},
                {"--context nowhere pool", 2, "", "nowhere"},
                {"--context nowhere", 2, "", "--context goes with a command: berth status --c"},
                {"context show --json", 0, "\"url\": \"unix:", ""},
                {"context list --json", 0, "\"contexts\": []", ""},
        };
        check(rows, ARRAY_LEN(rows));
}

/* What shells ask for, and never with a word of trouble. */
static void names_are_offered(void **state)
{
        (void)state;
        static const struct child_row rows[] = {
                {"__complete nodes -- n", 0, "n1\tup, H100-80\n", ""},
                {"__complete classes -- ba", 0, "batch\n", ""},
                {"__complete tenants -- --tenant=we", 0, "web\n", ""},
                {"__complete models", 0, "A100-40\t4\n", ""},
                {"__complete planes -- t", 0, "training\n", ""},
                {"__complete nodes -- n --context nowhere", 0, "", ""},
                {"__complete contexts -- x", 0, "", ""},
                {"__complete wishes -- n", 2, "", "no kind 'wishes'"},
                {"__complete", 2, "", "name what to work on"},
        };
        check(rows, ARRAY_LEN(rows));
        for (size_t i = 0; i < 2; i++) {
                setenv("BERTH_COMPLETE_MS", i ? "60000" : "1", 1);
                assert_int_equal(run_line("__complete nodes -- n", folder), 0);
                char *err = text_of("err");
                assert_string_equal(err, "");
                mem_free(err);
        }
}

static void work_goes_its_way(void **state)
{
        (void)state;
        static const struct child_row rows[] = {
                {"submit --tenant web -d 1 --dry-run -- sleep 6000", 0, "would be: STARTING", ""},
                {"status", 0, "nothing runs or waits; `berth status --all` shows what has ended\n",
                 ""},
                {"submit --tenant web -d 1 --name one --hold -- sleep 6000", 0, "1 one: held\n",
                 ""},
                {"status one", 0, "1 one: held\n", ""},
                {"release one", 0, "1 one: running\n", ""},
                {"status", 0, "1  one   web     batch  ", ""},
                {"status --tenant web --class batch --state running --mine", 0, "one", ""},
                {"status --tenant research", 0, "there is no such work\n", ""},
                {"submit @/wide.yaml", 0, "2 wide: queued", ""},
                {"queue", 0, "wide", ""},
                {"explain wide", 0, "wide of research: WAIT_CAPACITY\n", ""},
                {"explain 2 --view tenant", 0, "WAIT_CAPACITY", ""},
                {"explain 2 --json", 0, "{\"", ""},
                {"hold 2", 0, "2 wide: held\n", ""},
                {"cancel 99 wide one --reason enough", 3, "2 wide: cancelled\n", "workload 99"},
                {"status --all --json", 0, "{\"workloads\":[{\"id\":2,", ""},
                {"status 99", 3, "", "berth status: "},
                {"status one two", 2, "", "'two' is one argument too many"},
                {"explain 2", 3, "", "berth explain: "},
        };
        check(rows, ARRAY_LEN(rows));
}

static void what_is_wrong_is_refused_with_the_way_out(void **state)
{
        (void)state;
        static const struct child_row rows[] = {
                {"submit @/wrong.yaml", 2, "",
                 "wrong.yaml:5: field 'each.modl': is not known here; "
                 "did you mean 'model'?"},
                {"apply @/both.yaml", 2, "", "both.yaml:9: field 'tenants.web.protekt'"},
                {"status --name x", 2, "", "there is no option '--name'"},
                {"status --all", 0, "one", ""},
                {"submit --tenant web -d 1 --model H101 -- x", 2, "", "submit: field 'each.model'"},
                {"submit --tenant wob -d 1 -- x", 2, "", "wob"},
                {"submit", 2, "", "name what to run: berth submit FILE.yaml, or"},
                {"submit @/wide.yaml --devices 1", 2, "",
                 "--devices goes with a command behind --"},
                {"submit @/wide.yaml -- x", 2, "", "are two works; submit one of them"},
                {"submit @/policy.yaml", 2, "", "submit takes one document of kind Workload"},
                {"apply @/scenario.yaml", 2, "", "is of kind Replay; a pool takes Pool, Policy"},
                {"submit @/none.yaml", 2, "", "none.yaml: No such file"},
                {"cancel 1 --reason", 2, "", "option '--reason' needs a value: TEXT"},
                {"preempt 1", 2, "", "say why: --reason TEXT"},
                {"drain n9", 3, "", "n9"},
                {"drain n1 --by tomorrow", 2, "", "by"},
                {"freeze --plane nowhere", 3, "", "nowhere"},
        };
        put("wrong.yaml", "kind: Workload\nname: w\ntenant: web\nclass: batch\n"
                          "each: {devices: 1, modl: x}\n");
        put("both.yaml", "kind: Workload\nname: later\ntenant: web\neach: {cpu: 1}\n"
                         "---\n# the policy\nkind: Policy\ntenants:\n"
                         "  web: {protekt: 1}\n");
        put("scenario.yaml", "kind: Replay\n");
        check(rows, ARRAY_LEN(rows));
        /* The policy was refused: the work before it in the file was not submitted. */
        assert_int_equal(run_line("status later", folder), 3);
        unlink(path_of("wrong.yaml"));
        unlink(path_of("both.yaml"));
        unlink(path_of("scenario.yaml"));
}

static void what_is_planned_stands_beside(void **state)
{
        (void)state;
        static const struct child_row rows[] = {
                {"reservation list", 0, "nothing is reserved that you may see\n", ""},
                {"reservation create launch --tenant web --devices H100-80=2 "
                 "--from 2030-01-04T08:00Z --until 2030-01-05T08:00Z --unused keep --dry-run", 0,
                 "reservation launch: policy would be revision ", ""},
                {"reservation create launch --tenant web --devices H100-80=2 "
                 "--from 2030-01-04T08:00Z --until 2030-01-05T08:00Z --unused keep", 0,
                 "reservation launch: policy is revision ", ""},
                {"reservation list", 0, "launch  web     planned  H100-80 2  ", ""},
                {"reservation create soon --tenant web --devices H100-80=1 --from 1h --until 2h", 0,
                 "", ""},
                {"reservation delete soon", 0, "", ""},
                {"reservation create x --tenant web --devices H100-80=1 --from 1h --until 90000000h",
                 2, "", "--until: '90000000h' is no span from now, up to the year 9999"},
                {"maintenance create x --from soon --until 2h", 2, "",
                 "--from: 'soon' is no time: write 2h (from now)"},
                {"drain n1 --by 90000000h", 2, "", "'90000000h' is no span from now"},
                {"policy show", 0, "---\nkind: Reservation\nname: \"launch\"\n", ""},
                {"reservation create x --tenant web --devices 2", 2, "", "write MODEL=N"},
                {"reservation create x --tenant web", 2, "", "say how many: --devices MODEL=N"},
                {"reservation create x --tenant wob --devices H100-80=2 "
                 "--from 2030-01-04T08:00Z --until 2030-01-05T08:00Z", 2, "",
                 "field 'tenant'"},
                {"apply @/policy.yaml", 0, "policy is revision ", ""},
                {"reservation delete launch --reason off", 0, "reservation launch: policy is", ""},
                {"reservation delete launch", 3, "", "there is no Reservation 'launch'"},
                {"submit --tenant web -d 1 --model H100-80 --name stays -- sleep 6000", 0,
                 "stays: running\n", ""},
                {"maintenance create fans --from 2030-01-04T08:00Z --until 2030-01-05T08:00Z "
                 "--reason fans --dry-run", 0, "what runs there now:\n", ""},
                {"apply @/fans.yaml", 0, "maintenance fans: pool is revision ", ""},
                {"maintenance list", 0, "fans  planned  n1     2030-01-04T08:00:00.000Z  ", ""},
                {"maintenance delete fans", 0, "maintenance fans: pool is revision ", ""},
                {"maintenance list", 0, "no maintenance is planned\n", ""},
                {"move stays --to n9", 3, "", "there is no node 'n9'"},
                {"move stays --to n1 --dry-run", 2, "", "lies on node 'n1' already"},
                {"move stays", 4, "", "no other node has room for workload"},
                {"cancel stays", 0, "", ""},
        };
        put("fans.yaml", "kind: Maintenance\nname: fans\nnodes: n1\n"
                         "from: 2030-01-04T08:00Z\nuntil: 2030-01-05T08:00Z\n");
        check(rows, ARRAY_LEN(rows));
        unlink(path_of("fans.yaml"));
}

static void documents_are_applied_once(void **state)
{
        (void)state;
        static const struct child_row rows[] = {
                {"apply @/more.yaml --dry-run", 0,
                 "pool would be revision 2\n1 node to come: n2\npolicy would be revision 2\n"
                 "web: protect of H100-80 rises from 4 to 8 devices",
                 ""},
                {"policy show", 0, "# revision 1\n", ""},
                {"apply @/more.yaml --reason growth", 0,
                 "pool is revision 2\n1 node to come: n2\npolicy is revision 2\n", ""},
                {"policy revisions", 0, "  growth\n       1  ", ""},
                {"policy revisions", 0, "/policy.yaml\n", ""},         /* berthd, at its start */
                {"policy show 1", 0, "# revision 1\nkind: Policy\n", ""},
                {"policy show 9", 3, "", "there is no policy of number 9"},
                {"policy show new", 2, "", "`berth policy revisions` lists them"},
                {"status steady", 0, "steady: running\n", ""},
                {"pool", 0, "little: 3 nodes, 20 devices, policy 2\n", ""},
                {"apply @/more.yaml", 0,
                 "pool is revision 2 already; nothing changes\n"
                 "policy is revision 2 already; nothing changes\n"
                 "steady of web is as the document says: ",
                 ""},
                {"change steady retries=2", 4, "", "runs, and its document changes (retries)"},
                {"change steady retries=2 --replace --dry-run", 0,
                 "steady of web would be replaced\n  would be cancelled: ", ""},
                {"change steady", 0, "command: [sleep, '6000']", ""},
                {"change steady retries", 2, "", "'retries' is no change; write key=value"},
                {"change steady colour=red", 2, "", "field 'colour': is not known here"},
                {"change 4711 retries=2", 3, "", "workload 4711"},
                {"apply @/web.yaml", 0, "front of web is submitted: ", ""},
                {"change front service.replicas=3", 0, "front of web is scaled: ", ""},
                {"apply @/web.yaml", 0, "front of web is scaled: ", "" },
                {"change front each.cpu=2", 0, "front of web is replaced: ", ""},
                {"cancel front", 0, ": cancelled\n", ""},
                {"apply @/pool.yaml @/policy.yaml", 0,
                 "pool is revision 3\n1 node to leave: n2\n"
                 "policy is revision 3\nweb: protect",
                 ""},
                {"cancel steady --tenant web", 0, "", ""},
        };
        put("web.yaml", "kind: Workload\nname: front\ntenant: web\nclass: batch\nhold: true\n"
                        "each: {cpu: 1}\nservice: {replicas: 2, port: 80}\n"
                        "run: {command: [sleep, '6000']}\n");
        put("more.yaml",
            "kind: Workload\nname: steady\ntenant: web\nclass: batch\n"
            "each: {devices: 1, model: A100-40}\nrun: {command: [sleep, '6000']}\n"
            "---\n"
            "kind: Policy\ntenants:\n  research: {}\n  web: {protect: {H100-80: 8}}\n"
            "default_class: batch\n"
            "---\n"
            "kind: Pool\nname: little\nplanes: {training: {}}\nnodes:\n"
            "  - {name: 'n[1-2]', plane: training, cpu: 32, ram: 256Gi, "
            "devices: {model: H100-80, count: 8}}\n"
            "  - {name: s1, cpu: 16, ram: 64Gi, devices: {model: A100-40, count: 4}}\n");
        check(rows, ARRAY_LEN(rows));
        unlink(path_of("more.yaml"));
        unlink(path_of("web.yaml"));
}

/* What goes makes room for what comes. */
static void at_the_limit_of_jobs_work_is_replaced_all_the_same(void **state)
{
        (void)state;
        static const struct child_row rows[] = {
                {"apply @/few.yaml", 0, "policy is revision ", ""},
                {"apply @/only.yaml", 0, "only of few is submitted: ", ""},
                {"submit --tenant few --cpu 1 --name more -- sleep 1", 2, "", "as many jobs as it may have"},
                {"change only each.cpu=2 --dry-run", 0, "only of few would be replaced\n", ""},
                {"change only each.cpu=2", 0, "only of few is replaced: ", ""},
                {"change only each.cpu=1000", 2, "",
                 "would be refused, NEVER: This pool could not hold it if it were empty. What is "
                 "there stays."},
                {"status only", 0, "only: held", ""},
                {"cancel only", 0, "", ""},
                {"apply @/policy.yaml", 0, "policy is revision ", ""},
        };
        put("few.yaml", "kind: Policy\ntenants:\n  research: {}\n  web: {protect: {H100-80: 4}}\n"
                        "  few: {limit: {jobs: 1}}\ndefault_class: batch\n"
                        "rules: {over_jobs: refuse}\n");
        put("only.yaml", "kind: Workload\nname: only\ntenant: few\nclass: batch\nhold: true\n"
                         "each: {cpu: 1}\nrun: {command: [sleep, '6000']}\n");
        check(rows, ARRAY_LEN(rows));
        unlink(path_of("few.yaml"));
        unlink(path_of("only.yaml"));
}

/* Ana sees one tenant, so work is that one's where she says nothing, and who holds the rest is not
 * told. Of root's two it has to be said. */
static void who_sees_one_tenant_need_not_name_it(void **state)
{
        (void)state;
        static const struct child_row rows[] = {
                {"submit -d 1 -- sleep 1", 2, "", "say whose work it is: --tenant PATH, BERTH_TEN"},
                {"apply @/ana.yaml", 0, "policy is revision ", ""},
                {"submit --tenant research -d 4 --model A100-40 --name theirs -- sleep 6000", 0,
                 "theirs: ", ""},
                {"token make --principal ana --role submitter --tenant web --out @/ana.token", 0,
                 "", "ana.token"},
        };
        static const struct child_row hers[] = {
                {"submit -d 1 --dry-run -- sleep 1", 0, "would be: ", ""},
                {"submit -d 1 --name hers --hold -- sleep 1", 0, "hers: held", ""},
                {"status hers", 0, "  tenant       web\n", ""},
                {"pool --nodes --model A100-40", 0, "  0-3    whole   others\n", ""},
                {"cancel hers", 0, "", ""},
        };
        put("ana.yaml", "kind: Policy\ntenants:\n  research: {}\n  web: {protect: {H100-80: 4}}\n"
                        "default_class: batch\n"
                        "principals: [{name: ana, tenants: {web: submitter}}]\n");
        check(rows, ARRAY_LEN(rows));
        setenv("BERTH_TOKEN_FILE", path_of("ana.token"), 1);
        check(hers, ARRAY_LEN(hers));
        unsetenv("BERTH_TOKEN_FILE");
        assert_int_equal(run_line("cancel theirs", folder), 0);
        assert_int_equal(run_line("apply @/policy.yaml", folder), 0);
        unlink(path_of("ana.yaml"));
        unlink(path_of("ana.token"));
}

static void operators_drain_and_freeze(void **state)
{
        (void)state;
        static const struct child_row rows[] = {
                {"drain n1 --by 2099-01-04T08:00Z --reason fan", 0,
                 "n1 takes nothing new, and is to be empty by 2099-01-04T08:00:00.000Z\n", ""},
                {"drain n1 --by 2h", 0, "n1 takes nothing new, and is to be empty by 20", ""},
                {"drain n1 --by 2099-01-04T08:00Z", 0, "", ""},
                {"pool --nodes", 0, "to be empty by 2099-01-04T08:00:00.000Z\n", ""},
                {"undrain n1", 0, "n1 takes work again\n", ""},
                {"pool --nodes --state up", 0, "n1  up", ""},
                {"freeze --plane training", 0, "plane training is frozen", ""},
                {"pool --nodes --plane training", 0, "n1  frozen", ""},
                {"unfreeze --plane training", 0, "plane training goes on\n", ""},
                {"freeze --reason storage", 0, "the pool is frozen", ""},
                {"pool", 0, "`berth unfreeze` ends it", ""},
                {"submit --tenant web -d 1 --name cold -- sleep 6000", 0, "cold: queued\n", ""},
                {"unfreeze", 0, "the pool goes on\n", ""},
                {"cancel cold", 0, "", ""},
        };
        check(rows, ARRAY_LEN(rows));
}

/* ---- on a terminal ---- */

/* `berth top` on a terminal of its own. */
static pid_t start_top(int terminal)
{
        const char *argv[] = {"berth", "top", "--every", "1h", NULL};
        const struct winsize size = {.ws_row = 24, .ws_col = 80};

        fflush(NULL);
        pid_t child = fork();
        if (child != 0)
                return child;
        setsid();
        int fd = open(ptsname(terminal), O_RDWR);
        for (int to = 0; to <= 2; to++)
                dup2(fd, to);
        ioctl(fd, TIOCSWINSZ, &size);
        int rc = command_main(4, (char **)argv);
        fflush(NULL);
        _exit(rc);
}

/* Until the terminal shows it. */
static void waits_for_screen(int terminal, const char *part)
{
        static char screen[1 << 16];
        size_t used = 0;
        struct pollfd poll_fd = {.fd = terminal, .events = POLLIN};

        for (int waited_ms = 0; waited_ms < PATIENCE_MS; waited_ms += 100) {
                if (poll(&poll_fd, 1, 100) <= 0)
                        continue;
                ssize_t got = read(terminal, screen + used, sizeof screen - 1 - used);
                used += got > 0 ? (size_t)got : 0;
                screen[used] = '\0';
                if (strstr(screen, part))
                        return;
        }
        fail_msg("no '%s' in: %s", part, screen);
}

static void top_is_renewed_by_a_key_and_ends_by_q(void **state)
{
        (void)state;
        struct termios before, now;
        int terminal = posix_openpt(O_RDWR | O_NOCTTY);
        assert_true(terminal >= 0);
        assert_int_equal(grantpt(terminal) | unlockpt(terminal), 0);
        int other = open(ptsname(terminal), O_RDWR | O_NOCTTY); /* it stays when the child ends */
        assert_int_equal(tcgetattr(other, &before), 0);
        pid_t child = start_top(terminal);
        waits_for_screen(terminal, "nodes");
        assert_int_equal(run_line("submit --hold --tenant web --name keyed -- sleep 1", folder), 0);
        assert_int_equal(write(terminal, " ", 1), 1);
        waits_for_screen(terminal, "keyed");
        assert_int_equal(write(terminal, "q", 1), 1);
        waits_for_screen(terminal, "\033[?1049l");      /* the screen from before */
        assert_int_equal(end_child(child), 0);
        assert_int_equal(tcgetattr(other, &now), 0);
        assert_int_equal(now.c_lflag, before.c_lflag);
        close(other);
        close(terminal);
        assert_int_equal(run_line("cancel keyed --tenant web", folder), 0);
}

/* ---- waiting ---- */

static void waiting_ends_with_the_work(void **state)
{
        (void)state;
        static const struct child_row rows[] = {
                {"submit --wait --tenant web -d 1 --name short -- sleep 2", 0, "",
                 "short: running. It runs.\n"},
                {"submit --wait --tenant web -d 1 --name short -- sleep 0.2", 0, "",
                 "short: succeeded\n"},
                {"submit --wait --json --tenant web -d 1 --name told -- sleep 0.1", 0,
                 "\"state\":\"succeeded\"", "told: succeeded"},
        };
        check(rows, ARRAY_LEN(rows));
}

/* Until a child that goes on has said it. */
static void waits_for_err(const char *part)
{
        bool is_said = false;

        for (int waited_ms = 0; !is_said && waited_ms < PATIENCE_MS; waited_ms += 20) {
                pause_ms(20);
                char *text = access(path_of("err"), F_OK) == 0 ? text_of("err") : NULL;
                is_said = text && strstr(text, part);
                mem_free(text);
        }
        check_err(part);
}

static void ctrl_c_leaves_the_work_running(void **state)
{
        (void)state;
        static const char *const args[] = {"submit", "--wait", "--tenant", "web",   "-d", "1",
                                           "--name", "long",   "--",       "sleep", "6000", NULL};
        unlink(path_of("err"));
        pid_t child = start_child(args);
        waits_for_err("long: running");
        kill(child, SIGINT);
        assert_int_equal(end_child(child), EXIT_STOPPED);
        check_err("no longer waiting; the work goes on. `berth status ");
        assert_int_equal(run_line("status long", folder), 0);
        char *out = text_of("out");
        check_has(out, "long: running");
        mem_free(out);
        assert_int_equal(run_line("cancel long", folder), 0);
}

/* The controller goes away and comes back with what it had. */
static void waiting_outlives_the_controller(void **state)
{
        (void)state;
        static const char *const args[] = {"submit", "--wait",  "--tenant", "web",   "-d", "1",
                                           "--name", "patient", "--",       "sleep", "4",  NULL};
        unlink(path_of("err"));
        pid_t child = start_child(args);
        waits_for_err("patient: running");
        assert_int_equal(stop_daemon(), 0);
        waits_for_err("trying again\n");
        assert_int_equal(start_daemon(), 0);
        assert_int_equal(end_child(child), 0);
        check_err("trying again\n");
        check_err("patient: succeeded\n");
}

static void a_pool_that_is_not_there_is_told(void **state)
{
        (void)state;
        setenv("BERTH_URL", "unix:/tmp/berth-nobody.sock", 1);
        assert_int_equal(run_line("status", folder), EXIT_NO_ANSWER);
        check_err(
                "nobody answers at unix:/tmp/berth-nobody.sock (there is no such socket); is "
                "berthd "
                "running? Another pool is chosen by --context or BERTH_URL\n");
        assert_int_equal(run_line("submit --tenant web -d 1 -- x", folder), EXIT_NO_ANSWER);
        setenv("BERTH_URL", "http://pool.example:1", 1);
        assert_int_equal(run_line("status", folder), EXIT_BAD_INPUT);
        check_err("another machine is reached by https only");
        char url[96];
        snprintf(url, sizeof url, "unix:%s", path_of("s.sock"));
        setenv("BERTH_URL", url, 1);
}

/* Many workloads are one list, page after page. */
static void long_lists_are_whole(void **state)
{
        (void)state;
        put("array.yaml", "kind: Workload\nname: many\ntenant: web\nclass: batch\nhold: true\n"
                          "each: {devices: 1}\narray: 1-1500\nrun: {command: [sleep, '6000']}\n");
        assert_int_equal(run_line("submit @/array.yaml --json", folder), 0);
        assert_int_equal(run_line("status --state held --json", folder), 0);
        char *out = text_of("out");
        json_t *answer = json_loads(out, 0, NULL);
        assert_int_equal(json_array_size(json_object_get(answer, "workloads")), 1500);
        json_decref(answer);
        mem_free(out);
        unlink(path_of("array.yaml"));

        /* A shell is offered some: they all have one name, so by their numbers. */
        assert_int_equal(run_line("__complete workloads -- 1", folder), 0);
        out = text_of("out");
        size_t lines = 0;
        for (const char *at = out; (at = strchr(at, '\n')); at++)
                lines++;
        assert_int_equal(lines, NAMES_MAX);
        mem_free(out);
}

static int open_all(void **state)
{
        char url[96];

        (void)state;
        if (open_child_folder() < 0)
                return -1;
        snprintf(url, sizeof url, "unix:%s", path_of("s.sock"));
        setenv("BERTH_URL", url, 1);
        setenv("BERTH_CONTEXTS", path_of("contexts.yaml"), 1); /* none of the user's own */
        unsetenv("BERTH_CONTEXT");
        unsetenv("BERTH_PIN");
        unsetenv("BERTH_TENANT");
        setenv("BERTH_COMPLETE_MS", "60000", 1); /* a busy machine is slow */
        unsetenv("BERTH_TOKEN_FILE");
        put("pool.yaml",
            "kind: Pool\nname: little\nplanes: {training: {}}\nnodes:\n"
            "  - {name: n1, plane: training, cpu: 32, ram: 256Gi, "
            "devices: {model: H100-80, count: 8}}\n"
            "  - {name: s1, cpu: 16, ram: 64Gi, devices: {model: A100-40, count: 4}}\n");
        put("policy.yaml",
            "kind: Policy\ntenants:\n  research: {}\n  web: {protect: {H100-80: 4}}\n"
            "default_class: batch\n");
        put("wide.yaml", "kind: Workload\nname: wide\ntenant: research\nclass: training\n"
                         "each: {devices: 8, model: H100-80}\nrun: {command: [sleep, '6000']}\n");
        return start_daemon();
}

static int close_all(void **state)
{
        static const char *const names[] = {
                "out",     "err",         "pool.yaml",   "policy.yaml",  "wide.yaml", "daemon.log",
                "pool.db", "pool.db-wal", "pool.db-shm", "pool.db.lock",
                "pool.db.crash", "s.sock"};
        (void)state;
        return stop_daemon() | close_child_folder(names, ARRAY_LEN(names));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_pool_is_shown),
                cmocka_unit_test(names_are_offered),
                cmocka_unit_test(work_goes_its_way),
                cmocka_unit_test(what_is_wrong_is_refused_with_the_way_out),
                cmocka_unit_test(documents_are_applied_once),
                cmocka_unit_test(what_is_planned_stands_beside),
                cmocka_unit_test(at_the_limit_of_jobs_work_is_replaced_all_the_same),
                cmocka_unit_test(who_sees_one_tenant_need_not_name_it),
                cmocka_unit_test(operators_drain_and_freeze),
                cmocka_unit_test(top_is_renewed_by_a_key_and_ends_by_q),
                cmocka_unit_test(waiting_ends_with_the_work),
                cmocka_unit_test(ctrl_c_leaves_the_work_running),
                cmocka_unit_test(waiting_outlives_the_controller),
                cmocka_unit_test(a_pool_that_is_not_there_is_told),
                cmocka_unit_test(long_lists_are_whole),
        };
        return cmocka_run_group_tests(tests, open_all, close_all);
}
