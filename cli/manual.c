#include "cli/manual.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"

static const struct command_option options[] = {
        {"into", 0, "FOLDER", "write all pages there: berth.1, berth-submit.1 ..."},
        {0},
};

static const char details[] =
        "Without a command: the page of berth itself. Pages are written from what --help prints.\n"
        "\n"
        "examples:\n"
        "  berth man submit | man -l -\n"
        "  berth man --into /usr/local/share/man/man1\n";

/* A line's bytes, so that roff takes them as they are. */
static void put_escaped(const char *text, size_t length, FILE *file)
{
        if (length > 0 && (text[0] == '.' || text[0] == '\''))
                fputs("\\&", file);
        for (size_t i = 0; i < length; i++) {
                if (text[i] == '\\')
                        fputs("\\e", file);
                else if (text[i] == '-')
                        fputs("\\-", file);
                else
                        fputc(text[i], file);
        }
}

static void put_text(const char *text, FILE *file)
{
        put_escaped(text, strlen(text), file);
}

/* A heading of its own for what help titles "examples:" and "exit status:". */
static const char *heading_of(const char *line, size_t length)
{
        static const char *const rows[][2] = {{"examples:", "EXAMPLES"},
                                              {"exit status:", "EXIT STATUS"}};

        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
                if (strlen(rows[i][0]) == length && strncmp(rows[i][0], line, length) == 0)
                        return rows[i][1];
        return NULL;
}

/* Lines that are indented or laid out in columns stay as they are; others are filled. */
static bool is_verbatim(const char *line, size_t length)
{
        const char *gap = length > 2 ? strstr(line, "  ") : NULL;

        return gap && gap < line + length;
}

static void put_details(const char *text, FILE *file)
{
        bool in_example = false;

        for (const char *line = text; *line;) {
                size_t length = strcspn(line, "\n");
                const char *heading = heading_of(line, length);
                bool verbatim = length > 0 && !heading && is_verbatim(line, length);
                if (in_example && !verbatim)
                        fputs(".EE\n", file);
                if (!in_example && verbatim)
                        fputs(".EX\n", file);
                in_example = verbatim;
                if (heading)
                        fprintf(file, ".SH %s\n", heading);
                else if (length == 0)
                        fputs(".PP\n", file);
                else {
                        put_escaped(line, length, file);
                        fputc('\n', file);
                }
                line += length + (line[length] == '\n');
        }
        if (in_example)
                fputs(".EE\n", file);
}

static int put_usage(const struct command *command, FILE *file, struct err *err)
{
        char *text = NULL;
        size_t size = 0;
        FILE *usage = open_memstream(&text, &size);

        if (!usage)
                return err_set(err, ERR_NOMEM, "out of memory");
        command_usage(command, usage);
        if (fclose(usage) != 0) {
                free(text);
                return err_set(err, ERR_NOMEM, "out of memory");
        }
        fputs(".SH SYNOPSIS\n.nf\n", file);
        for (const char *line = text; *line;) {
                size_t length = strcspn(line, "\n"), start = 0;
                if (strncmp(line, "usage: ", 7) == 0 || strncmp(line, "       ", 7) == 0)
                        start = 7;
                put_escaped(line + start, length - start, file);
                fputc('\n', file);
                line += length + 1;
        }
        fputs(".fi\n", file);
        free(text);
        return 0;
}

static void put_option(const struct command_option *option, FILE *file)
{
        fputs(".TP\n", file);
        if (option->letter)
                fprintf(file, "\\fB\\-%c\\fR, ", option->letter);
        fputs("\\fB\\-\\-", file);
        put_text(option->name, file);
        fputs("\\fR", file);
        if (option->value) {
                fputs(" \\fI", file);
                put_text(option->value, file);
                fputs("\\fR", file);
        }
        fputc('\n', file);
        put_text(option->help, file);
        fputc('\n', file);
}

/* NULL: of the whole program. */
static void put_exit_codes(const struct command *command, FILE *file)
{
        fputs(".SH EXIT STATUS\n", file);
#define X(name, code, help)                                     \
        if (!command || command_ends_with(command, code)) {     \
                fprintf(file, ".TP\n\\fB%d\\fR\n", code);      \
                put_text(help, file);                           \
                fputc('\n', file);                              \
        }
        EXIT_CODES(X)
#undef X
}

static int put_command(const struct command *command, FILE *file, struct err *err)
{
        static const struct command_option help = {"help", 'h', NULL, "what this page says"};

        fputs(".TH \"BERTH-", file);
        for (const char *at = command->name; *at; at++)
                fputc(*at >= 'a' && *at <= 'z' ? *at - 'a' + 'A' : *at, file);
        fprintf(file, "\" 1 \"\" \"berth %s\" \"berth\"\n.SH NAME\nberth\\-", BERTH_VERSION);
        put_text(command->name, file);
        fputs(" \\- ", file);
        put_text(command->summary, file);
        fputc('\n', file);
        int rc = put_usage(command, file, err);
        if (rc < 0)
                return rc;
        fputs(".SH OPTIONS\n", file);
        for (const struct command_option *option = command->options; option->name; option++)
                put_option(option, file);
        put_option(&help, file);
        /* Some begin with their examples. */
        if (command->details[0] && strncmp(command->details, "examples:", 9) != 0)
                fputs(".SH DESCRIPTION\n", file);
        put_details(command->details, file);
        if (command->is_live)
                put_exit_codes(command, file);
        fputs(".SH SEE ALSO\nberth(1)\n", file);
        return 0;
}

/* What a command looks at besides its options, and where. */
static const char *const environment[][2] = {
        {"BERTH_URL",
         "the pool to speak to: unix:/path or https://host:port; goes before contexts"},
        {"BERTH_CA_FILE", "with BERTH_URL: the authority's certificate, whom to believe"},
        {"BERTH_PIN", "with BERTH_URL: the server's public key, sha256//BASE64, instead"},
        {"BERTH_CONTEXT", "the context to use where --context says nothing"},
        {"BERTH_CONTEXTS", "the file of contexts, instead of the one below"},
        {"BERTH_TOKEN_FILE", "the file that holds the bearer token"},
        {"BERTH_TENANT", "whose work it is where --tenant says nothing"},
        {"BERTH_COMPLETE_MS", "how long completion in a shell waits for names (300)"},
        {"NO_COLOR", "set to anything: no colours, on terminals too"},
};
static const char *const files[][2] = {
        {"~/.config/berth/contexts.yaml", "contexts (XDG_CONFIG_HOME moves it); no secrets"},
        {"/run/berth/berthd.sock", "the pool of this machine, where nothing else is said"},
};

static void put_pairs(const char *title, const char *const pairs[][2], size_t count, FILE *file)
{
        fprintf(file, ".SH %s\n", title);
        for (size_t p = 0; p < count; p++) {
                fputs(".TP\n\\fB", file);
                put_text(pairs[p][0], file);
                fputs("\\fR\n", file);
                put_text(pairs[p][1], file);
                fputc('\n', file);
        }
}

static void put_program(FILE *file)
{
        static const char *const titles[] = {
#define X(name, title) title,
                COMMAND_GROUPS(X)
#undef X
        };

        fprintf(file, ".TH \"BERTH\" 1 \"\" \"berth %s\" \"berth\"\n", BERTH_VERSION);
        fputs(".SH NAME\nberth \\- shares a pool of accelerators between teams\n"
              ".SH SYNOPSIS\nberth \\fICOMMAND\\fR ...\n.SH COMMANDS\n",
              file);
        for (int group = 0; group < COMMAND_GROUPS_END; group++) {
                fprintf(file, ".SS %s\n", titles[group]);
                for (const struct command *const *each = commands; *each; each++) {
                        if ((int)(*each)->group != group)
                                continue;
                        fprintf(file, ".TP\n\\fBberth\\-%s\\fR(1)\n", (*each)->name);
                        put_text((*each)->summary, file);
                        fputc('\n', file);
                }
        }
        put_exit_codes(NULL, file);
        put_pairs("ENVIRONMENT", environment, ARRAY_LEN(environment), file);
        put_pairs("FILES", files, ARRAY_LEN(files), file);
}

int manual_write(const struct command *command, FILE *file, struct err *err)
{
        if (command)
                return put_command(command, file, err);
        put_program(file);
        return 0;
}

static int write_page(const char *folder, const struct command *command, struct err *err)
{
        char path[PATH_MAX];
        int length = snprintf(path, sizeof path, "%s/berth%s%s.1", folder, command ? "-" : "",
                              command ? command->name : "");
        FILE *file;

        if (length < 0 || (size_t)length >= sizeof path)
                return err_set(err, ERR_INPUT, "'%s': the path is too long", folder);
        if (!(file = fopen(path, "we")))
                return err_set(err, ERR_IO, "%s: %s", path, strerror(errno));
        int rc = manual_write(command, file, err);
        if (ferror(file) | fclose(file) && rc == 0)
                rc = err_set(err, ERR_IO, "%s: %s", path, strerror(errno));
        return rc;
}

int manual_write_all(const char *folder, struct err *err)
{
        int rc = write_page(folder, NULL, err);

        for (const struct command *const *each = commands; rc == 0 && *each; each++)
                rc = write_page(folder, *each, err);
        return rc;
}

static int run(const struct command_call *call)
{
        const char *folder = command_value(call, "into");
        const struct command *command = NULL;
        struct err err = {0};
        int rc = 0;

        if (folder && call->arguments_count > 0)
                rc = err_set(&err, ERR_INPUT, "--into writes all pages: name no command");
        else if (folder)
                rc = manual_write_all(folder, &err);
        else if (call->arguments_count > 0 && !(command = command_find(call->arguments[0], &err)))
                rc = -ERR_NOT_FOUND;
        if (rc == 0 && !folder)
                rc = manual_write(command, stdout, &err);
        if (rc == 0)
                return EXIT_FINE;
        fprintf(stderr, "berth man: %s\n", err.text);
        return rc == -ERR_NOMEM || rc == -ERR_IO ? EXIT_TROUBLE : EXIT_BAD_INPUT;
}

const struct command man_command = {
        .name = "man",
        .group = GROUP_SELF,
        .arguments = "[COMMAND]",
        .arguments_max = 1,
        .summary = "print a manual page",
        .details = details,
        .options = options,
        .run = run,
};
