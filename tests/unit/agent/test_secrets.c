/* What a node holds for runs, who gets it, and that it is gone with the run. */
#include "tests/unit/check.h"

#include <errno.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/account.h"
#include "agent/secrets.h"
#include "agent/supervisor.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "tests/unit/agent/world.h"

#define KEY(workload, epoch) ((struct run_key){workload, 0, epoch})
#define WAITS                "until [ -e @/on ]; do sleep 0.02; done; exit 5"
#define NAMED                "\"secrets\": [\"hf-token\"]"

/* ---- the node's folder ---- */

static void command(const struct world *world, const char *text)
{
        char line[1000];

        snprintf(line, sizeof line, "cd %s && umask 077 && %s", world->folder, text);
        assert_int_equal(system(line), 0);
}

/* The account that the agent of these tests has. */
static const char *own_account(void)
{
        static struct account account;

        assert_int_equal(account_find(ACCOUNT_SELF, "", &account, NULL), 0);
        return account.name;
}

static void put_secret(const struct world *world, const char *account, const char *name,
                       const char *text)
{
        char line[400];

        snprintf(line, sizeof line,
                 "mkdir -p secrets/%s && printf %%s %s >secrets/new && mv -T secrets/new "
                 "secrets/%s/%s",
                 account, text, account, name);
        command(world, line);
}

static int check(const struct world *world, const char *name, struct err *err)
{
        char folder[100];
        snprintf(folder, sizeof folder, "%s/secrets", world->folder);
        const struct secrets_wish wish = {folder, "n1", "ana", &name, 1};
        *err = (struct err){0};
        return secrets_check(&wish, err);
}

/* Each row makes something else of a folder in which all is well. */
static void what_is_not_kept_well_is_not_given(void **state)
{
        struct world *world = *state;
        static const struct {
                const char *command, *name;
                int rc;
                const char *says;
        } rows[] = {
                {":", "token", 0, NULL},
                {"truncate -s 1048576 secrets/ana/token", "token", 0, NULL},
                {"truncate -s 1048577 secrets/ana/token", "token", -ERR_RANGE, "1 MiB"},
                {":", "other", -ERR_NOT_FOUND, "node n1 has no secret 'other' for account 'ana'"},
                {"rm -r secrets/ana", "token", -ERR_NOT_FOUND, "has no secret 'token'"},
                {"rm -r secrets", "token", -ERR_NOT_FOUND, "has no secret 'token'"},
                {":", "../ana/token", -ERR_INPUT, "'../ana/token' is no name of a secret"},
                {"chmod 604 secrets/ana/token", "token", -ERR_DENIED, "file is open to others"},
                {"chmod 640 secrets/ana/token", "token", -ERR_DENIED, "file is open to others"},
                {"chmod 711 secrets/ana", "token", -ERR_DENIED, "account's folder is open"},
                {"chmod 755 secrets", "token", -ERR_DENIED, "folder of all secrets is open"},
                {"ln -s token secrets/ana/link", "link", -ERR_DENIED, "symbolic link"},
                {"mv secrets/ana secrets/ben && ln -s ben secrets/ana", "token", -ERR_DENIED,
                 "symbolic link"},
                {"mkfifo secrets/ana/pipe", "pipe", -ERR_DENIED, "not a plain file"},
                {"mkdir secrets/ana/folder", "folder", -ERR_DENIED, "not a plain file"},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct err err;
                command(world, "rm -rf secrets");
                put_secret(world, "ana", "token", "v1");
                command(world, rows[i].command);
                assert_int_equal(check(world, rows[i].name, &err), rows[i].rc);
                if (rows[i].says)
                        check_has(err.text, rows[i].says);
        }
        if (geteuid() != 0)
                return;
        struct err err;
        command(world, "rm -rf secrets");
        put_secret(world, "ana", "token", "v1");
        command(world, "chown 65534 secrets/ana/token");
        assert_int_equal(check(world, "token", &err), -ERR_DENIED);
        check_has(err.text, "must belong to root");
}

static void a_run_gets_16_mib_and_no_byte_more(void **state)
{
        struct world *world = *state;
        static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i",
                                            "j", "k", "l", "m", "n", "o", "p", "q"};
        char folder[100];
        struct err err;
        snprintf(folder, sizeof folder, "%s/secrets", world->folder);
        struct secrets_wish wish = {folder, "n1", "ana", names, 17};

        for (size_t i = 0; i < ARRAY_LEN(names); i++)
                put_secret(world, "ana", names[i], "");
        command(world, "truncate -s 1M secrets/ana/[a-p]");
        assert_int_equal(secrets_check(&wish, &err), 0);
        command(world, "truncate -s 1 secrets/ana/q");
        assert_int_equal(secrets_check(&wish, &err), -ERR_RANGE);
        check_has(err.text, "16 MiB");
}

/* ---- runs ---- */

/* Where `name` points to, or "": in memory that is mounted for the run alone. */
static const char *shared_place(const struct world *world, const char *name)
{
        static char place[100];
        char path[200];

        snprintf(path, sizeof path, "%s/%s", world->folder, name);
        ssize_t length = readlink(path, place, sizeof place - 1);
        place[length > 0 ? length : 0] = '\0';
        return place;
}

static bool is_anywhere(const struct world *world, const char *text)
{
        char line[300];

        snprintf(line, sizeof line, "grep -rqs %s %s/state", text, world->folder);
        return system(line) == 0;
}

static void a_run_reads_its_secrets_in_files_that_are_gone_with_it(void **state)
{
        struct world *world = *state;
        struct seen_run seen;

        put_secret(world, own_account(), "hf-token", "opensesame1");
        put_secret(world, own_account(), "other", "notasked");
        agent_begin(world);
        list_runs(world, run_json(world, 1, 1,
                                  "cd $BERTH_SECRETS; cat hf-token >@/got; ls >@/names; "
                                  "stat -c %a%U . hf-token >@/modes; stat -f -c %T . >@/kind; "
                                  "env >@/env; touch @/up; " WAITS,
                                  "\"secrets\": [\"hf-token\", \"hf-token\"]"));
        assert_true(waits_for_file(world, "up"));
        assert_string_equal(file_text(world, "got"), "opensesame1");
        assert_string_equal(file_text(world, "names"), "hf-token\n");
        char modes[200];
        snprintf(modes, sizeof modes, "500%s\n400%s\n", own_account(), own_account());
        assert_string_equal(file_text(world, "modes"), modes);
        assert_string_equal(file_text(world, "kind"), "tmpfs\n");
        assert_null(strstr(file_text(world, "env"), "opensesame1"));
        assert_false(is_anywhere(world, "opensesame1"));
        /* Rotated meanwhile: it goes on with what it got, the next one gets the new one. */
        put_secret(world, own_account(), "hf-token", "opensesame2");
        make_file(world, "on");
        assert_true(controller_waits(world->controller, KEY(1, 1), "exited", &seen));
        assert_int_equal(seen.exit_code, 5);
        assert_false(has_file(world, "state/runs/1.0.1/secrets"));
        list_runs(world, run_json(world, 1, 2, "cat $BERTH_SECRETS/hf-token >@/got", NAMED));
        assert_true(controller_waits(world->controller, KEY(1, 2), "exited", &seen));
        assert_string_equal(file_text(world, "got"), "opensesame2");
        controller_list(world->controller, "");
        assert_true(controller_waits(world->controller, KEY(1, 2), NULL, NULL));
        assert_true(has_file(world, "state/ended/1.0.2/status.json"));
        assert_false(has_file(world, "state/ended/1.0.2/secrets"));
        assert_false(is_anywhere(world, "opensesame"));
}

static void what_the_node_has_not_is_refused_and_leaves_nothing(void **state)
{
        struct world *world = *state;
        struct seen_run seen;
        char says[300];

        put_secret(world, "somebody-else", "hf-token", "opensesame");
        agent_begin(world);
        list_runs(world, run_json(world, 1, 1, "touch @/ran", NAMED));
        assert_true(controller_waits(world->controller, KEY(1, 1), "refused", &seen));
        snprintf(says, sizeof says, "node n1 has no secret 'hf-token' for account '%s'",
                 own_account());
        check_has(seen.reason, says);
        assert_false(has_file(world, "state/runs/1.0.1"));
        assert_false(has_file(world, "ran"));
}

/* Not as root: who may look is what counts. */
static void only_the_runs_account_may_look(void **state)
{
        struct world *world = *state;
        struct seen_run seen;
        char line[600];

        if (geteuid() != 0)
                skip();
        put_secret(world, "nobody", "hf-token", "opensesame");
        world->runs_as = "nobody";
        agent_begin(world);
        list_runs(world, run_json(world, 1, 1,
                                  "cd $BERTH_SECRETS || exit 9; cat hf-token >@/got; "
                                  "stat -c %a%U . hf-token >@/modes; "
                                  "touch x 2>/dev/null && exit 8; chmod 700 . 2>/dev/null; "
                                  "rm -f hf-token 2>/dev/null; cat hf-token >@/after; "
                                  "touch @/up; " WAITS,
                                  NAMED));
        assert_true(waits_for_file(world, "up"));
        assert_string_equal(file_text(world, "got"), "opensesame");
        assert_string_equal(file_text(world, "modes"), "500nobody\n400nobody\n");
        if (shared_place(world, "state/runs/1.0.1/secrets")[0] == '\0') {
                assert_string_equal(file_text(world, "after"), "opensesame");
                /* Nor by the path alone, outside of its mounts. */
                snprintf(line, sizeof line, "test -z \"$(ls -A state/runs/1.0.1/secrets)\"");
                command(world, line);
        }
        make_file(world, "on");
        assert_true(controller_waits(world->controller, KEY(1, 1), "exited", &seen));
        assert_int_equal(seen.exit_code, 5);
        assert_false(has_file(world, "state/runs/1.0.1/secrets"));
}

/* What the agent looked at may be otherwise a moment later. */
static void a_supervisor_that_finds_it_gone_leaves_nothing(void **state)
{
        struct world *world = *state;
        char line[1000], said[2000];

        command(world, "mkdir -p cages 1.0.1 && mkfifo 1.0.1/control");
        snprintf(line, sizeof line,
                 "echo '{\"launch\": {\"command\": [\"touch\", \"%s/ran\"], \"env\": [], "
                 "\"workdir\": \"/\", \"account\": \"ana\", \"boot\": \"b\", \"cages\": \"%s/cages\", "
                 "\"secrets\": [\"hf-token\"], \"secrets_folder\": \"%s/secrets\", "
                 "\"node\": \"n1\", \"uid\": %u, \"gid\": %u, \"go\": true}}' >1.0.1/run.json",
                 world->folder, world->folder, world->folder, geteuid(), getegid());
        command(world, line);
        snprintf(line, sizeof line,
                 "\"$BERTH_AGENT\" " SUPERVISOR_WORD " $PWD/1.0.1 3<>1.0.1/control");
        command(world, line);
        str_copy(said, sizeof said, file_text(world, "1.0.1/status.json"));
        check_has(said, "refused");
        check_has(said, "node n1 has no secret 'hf-token' for account 'ana'");
        assert_false(has_file(world, "ran"));
        assert_false(has_file(world, "1.0.1/secrets"));
        assert_false(has_file(world, "cages/1.0.1"));
}

static void when_agent_and_supervisor_are_killed_the_next_agent_leaves_nothing(void **state)
{
        struct world *world = *state;
        struct seen_run seen;
        char place[100];

        put_secret(world, own_account(), "hf-token", "opensesame");
        agent_begin(world);
        list_runs(world, run_json(world, 1, 1, "touch @/up; " WAITS, NAMED));
        assert_true(waits_for_file(world, "up"));
        assert_true(controller_waits(world->controller, KEY(1, 1), "running", &seen));
        str_copy(place, sizeof place, shared_place(world, "state/runs/1.0.1/secrets"));
        assert_int_equal(place[0] ? access(place, F_OK) : 0, 0);
        assert_int_equal(agent_end(world, SIGKILL), -SIGKILL);
        kill_supervisor(world, "1.0.1");
        assert_true(waits_for_death(seen.pid));
        agent_begin(world);
        assert_true(controller_waits(world->controller, KEY(1, 1), "exited", &seen));
        assert_int_equal(seen.signal, SIGKILL);
        assert_int_equal(access(place, F_OK), -1);
        assert_false(has_file(world, "state/runs/1.0.1/secrets"));
        controller_list(world->controller, "");
        assert_true(controller_waits(world->controller, KEY(1, 1), NULL, NULL));
        assert_false(has_file(world, "state/ended/1.0.1/secrets"));
}

/* ---- the two places ---- */

static int give_and_look(const struct world *world, uid_t uid, bool is_killed)
{
        static const char *const names[] = {"hf-token"};
        char folder[100], run[100], file[130], text[32] = "";
        struct stat stat_of;

        snprintf(folder, sizeof folder, "%s/secrets", world->folder);
        snprintf(run, sizeof run, "%s/run", world->folder);
        snprintf(file, sizeof file, "%s/secrets/hf-token", run);
        const struct secrets_wish wish = {folder, "n1", "ana", names, 1};
        if (setresgid(uid, uid, uid) < 0 || setresuid(uid, uid, uid) < 0)
                return 10;
        if (secrets_give(&wish, run, uid, uid, NULL) < 0)
                return 11;
        FILE *from = fopen(file, "r");
        if (!from || !fgets(text, sizeof text, from) || !str_equal(text, "opensesame"))
                return 12;
        fclose(from);
        if (stat(file, &stat_of) < 0 || stat_of.st_uid != uid || (stat_of.st_mode & 07777) != 0400)
                return 13;
        if (is_killed)
                return 0;
        if (secrets_take_back(run, NULL) < 0 || secrets_take_back(run, NULL) < 0)
                return 14;
        return access(file, F_OK) == 0 ? 15 : 0;
}

static int in_a_child(const struct world *world, uid_t uid, bool is_killed)
{
        int status;
        pid_t pid = fork();

        if (pid == 0)
                _exit(give_and_look(world, uid, is_killed));
        assert_int_equal(waitpid(pid, &status, 0), pid);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Who may not mount needs memory there. */
static bool has_shm(void)
{
        struct statfs it;

        return statfs("/dev/shm", &it) == 0 && it.f_type == TMPFS_MAGIC &&
               !(it.f_flags & ST_RDONLY);
}

/* As whoever the tests are, and as one who may mount nothing. */
static void either_place_is_emptied_also_after_a_kill(void **state)
{
        struct world *world = *state;
        uid_t accounts[] = {geteuid(), 65534};
        char run[100], inside[120], place[100];

        snprintf(run, sizeof run, "%s/run", world->folder);
        snprintf(inside, sizeof inside, "%s/secrets", run);
        put_secret(world, "ana", "hf-token", "opensesame");
        if (!has_shm())
                print_message("no memory in /dev/shm: only a mount is tried here\n");
        for (size_t i = 0; i < (geteuid() == 0 ? 2u : 1u); i++) {
                struct stat stat;
                if (accounts[i] != 0 && !has_shm())
                        break;
                assert_int_equal(mkdir(run, 0777), 0);
                if (i == 1)
                        command(world, "chown -R 65534 secrets run");
                assert_int_equal(in_a_child(world, accounts[i], false), 0);
                assert_int_equal(in_a_child(world, accounts[i], true), 0);
                assert_int_equal(lstat(inside, &stat), 0);
                if (accounts[i] != 0)
                        command(world, "chmod 700 run/secrets/ && mkdir -p run/secrets/a/b && "
                                       "ln -s / run/secrets/a/b/link && chmod 500 run/secrets/a");
                str_copy(place, sizeof place, shared_place(world, "run/secrets"));
                if (accounts[i] != 0)
                        assert_int_equal(access(place, F_OK), 0);
                assert_int_equal(secrets_take_back(run, NULL), 0);
                assert_int_equal(lstat(inside, &stat), -1);
                assert_int_equal(access(place, F_OK), -1);
                assert_int_equal(rmdir(run), 0);
        }
}

/* The link is where the agent's clean-up looks, and an agent may be root. */
static void taking_back_goes_nowhere_else(void **state)
{
        struct world *world = *state;
        char run[100];

        snprintf(run, sizeof run, "%s/run", world->folder);
        command(world, "mkdir run mine && touch mine/file && ln -s \"$PWD/mine\" run/secrets");
        assert_int_equal(secrets_take_back(run, NULL), 0);
        assert_true(has_file(world, "mine/file"));
        command(world, "ln -s /dev/shm/berth-secrets./../../..\"$PWD/mine\" run/secrets");
        assert_int_equal(secrets_take_back(run, NULL), 0);
        assert_true(has_file(world, "mine/file"));
}

int main(int argc, char **argv)
{
        int code;

        if (world_is_agent(argc, argv, &code))
                return code;
#define WORLD_TEST(name) cmocka_unit_test_setup_teardown(name, world_set_up, world_tear_down)
        const struct CMUnitTest tests[] = {
                WORLD_TEST(what_is_not_kept_well_is_not_given),
                WORLD_TEST(a_run_gets_16_mib_and_no_byte_more),
                WORLD_TEST(a_run_reads_its_secrets_in_files_that_are_gone_with_it),
                WORLD_TEST(what_the_node_has_not_is_refused_and_leaves_nothing),
                WORLD_TEST(only_the_runs_account_may_look),
                WORLD_TEST(a_supervisor_that_finds_it_gone_leaves_nothing),
                WORLD_TEST(when_agent_and_supervisor_are_killed_the_next_agent_leaves_nothing),
                WORLD_TEST(either_place_is_emptied_also_after_a_kill),
                WORLD_TEST(taking_back_goes_nowhere_else),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
