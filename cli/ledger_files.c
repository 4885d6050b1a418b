#include "cli/ledger_files.h"

#include "base/err.h"
#include "base/file.h"
#include "base/str.h"
#include "cli/command.h"
#include "cli/ledger_out.h"
#include "proto/scenario.h"

static const char *const options[LEDGER_FILES_END] = {"ledger", "showback", "facts", "focus",
                                                      "report"};

const char *ledger_file_option(enum ledger_file file)
{
        return options[file];
}

/* Runs of policies: comparisons keep no ledger. */
static uint64_t count_runs(const struct scenario *scenario)
{
        uint64_t policies = 0;

        for (uint32_t p = 0; p < scenario->policies_count; p++)
                policies += scenario->policies[p].rule > RULE_SHORTEST_SKIP;
        return policies * scenario->placements_count *
               (scenario->seed_last - scenario->seed_first + 1);
}

static int check(const struct scenario *scenario, const struct ledger_files *files, struct err *err)
{
        for (unsigned f = 0; f < LEDGER_FILES_END; f++) {
                if (!files->paths[f])
                        continue;
                if (!scenario_is_history(scenario))
                        return err_set(err, ERR_INPUT,
                                       "--%s: %s replays no history, and only "
                                       "these have a ledger; leave it out",
                                       options[f], scenario->file);
                if (count_runs(scenario) == 0)
                        return err_set(err, ERR_INPUT,
                                       "--%s: comparisons (fifo, shortest ...) "
                                       "keep no ledger; add a policy, or `default`",
                                       options[f]);
        }
        if (files->paths[LEDGER_FOCUS] && count_runs(scenario) > 1)
                return err_set(err, ERR_INPUT,
                               "--focus: a bill is of one policy, one placement "
                               "and one seed, and here are %u runs; name one policy and one "
                               "placement in the scenario, and one seed with --seeds",
                               (unsigned)count_runs(scenario));
        return 0;
}

int ledger_files_ask(const struct command_call *call, const struct scenario *scenario,
                     struct ledger_files *ret_files, struct err *err)
{
        for (unsigned f = 0; f < LEDGER_FILES_END; f++)
                ret_files->paths[f] = command_value(call, options[f]);
        ret_files->book.wants_facts = ret_files->paths[LEDGER_FACTS] != NULL;
        return check(scenario, ret_files, err);
}

void ledger_files_done(struct ledger_files *files)
{
        ledger_book_done(&files->book);
}

struct ledger_book *ledger_files_book(struct ledger_files *files)
{
        for (unsigned f = 0; f < LEDGER_FILES_END; f++)
                if (files->paths[f])
                        return &files->book;
        return NULL;
}

bool ledger_files_print(const struct ledger_files *files)
{
        for (unsigned f = 0; f < LEDGER_FILES_END; f++)
                if (files->paths[f] && str_equal(files->paths[f], "-"))
                        return true;
        return false;
}

static int write_one(const char *path, const struct text *text, struct err *err)
{
        if (text->failed)
                return err_set(err, ERR_NOMEM, "out of memory while writing %s", path);
        return file_write(path, text->bytes ? text->bytes : "", text->size, err);
}

int ledger_files_write(const struct ledger_files *files, const struct scenario *scenario,
                       const struct model_table *models, const struct history_result *result,
                       bool is_whole, struct err *err)
{
        const struct ledger_book *book = &files->book;
        int rc = 0;

        for (unsigned f = 0; rc == 0 && f < LEDGER_FILES_END; f++) {
                struct text text = {0};
                if (!files->paths[f])
                        continue;
                switch ((enum ledger_file)f) {
                case LEDGER_CSV:
                        ledger_csv(book, models, &text);
                        break;
                case LEDGER_SHOWBACK:
                        showback_csv(book, models, &text);
                        break;
                case LEDGER_FOCUS:
                        focus_csv(book, models, scenario, &text);
                        break;
                case LEDGER_REPORT:
                        ledger_report(book, scenario, result, is_whole, &text);
                        break;
                case LEDGER_FACTS:
                case LEDGER_FILES_END:
                        break;
                }
                rc = write_one(files->paths[f], f == LEDGER_FACTS ? &book->facts : &text, err);
                text_done(&text);
        }
        return rc;
}
