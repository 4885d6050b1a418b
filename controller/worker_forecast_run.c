#include "controller/worker_forecast_run.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/text.h"
#include "controller/worker_child.h"
#include "controller/worker_forecast.h"
#include "store/store.h"

static int make(const char *path, const struct forecast_question *question,
                struct forecast *ret_forecast, struct err *err)
{
        const struct store_options options = {.path = path, .is_read_only = true,
                                              .must_exist = true};
        struct store *store;
        int rc = store_open(&options, &store, err);

        if (rc)
                return err_prefix(err, "the store cannot be read now");
        rc = forecast_make(store, question, ret_forecast, err);
        store_close(store);
        return rc;
}

static bool say(const struct text *line)
{
        for (size_t said = 0; said < line->size;) {
                ssize_t n = write(STDOUT_FILENO, line->bytes + said, line->size - said);
                if (n < 0)
                        return false;
                said += (size_t)n;
        }
        return !line->failed;
}

static int answer(const char *store)
{
        struct forecast_question question;
        struct forecast forecast = {0};
        struct text line = {0};
        struct err err = {0};
        char *bytes = NULL;
        size_t size;
        int rc = file_read("/dev/stdin", FORECAST_LINE_MAX + FORECAST_DOCUMENT_MAX, &bytes, &size,
                           &err);

        if (rc == 0)
                rc = forecast_question_parse(bytes, size, &question, &err);
        if (rc == 0)
                rc = make(store, &question, &forecast, &err);
        mem_free(bytes);
        forecast_answer_write(rc, &forecast, &err, &line);
        bool is_said = say(&line);
        text_done(&line);
        return is_said ? EXIT_SUCCESS : EXIT_FAILURE;
}

int worker_forecast_main(int argc, char **argv)
{
        static const struct option list[] = {{"store", required_argument, NULL, 's'},
                                             {"parent", required_argument, NULL, 'p'},
                                             {0}};
        /* Who asks may ask again for what crashes it: no image of the pool on the disk each
         * time. */
        const struct rlimit no_core = {0};
        const char *store = NULL;
        uint64_t parent = 0;
        int option, rc = 0;

        while (rc == 0 && (option = getopt_long(argc, argv, "", list, NULL)) != -1) {
                if (option == 's')
                        store = optarg;
                else if (option == 'p')
                        rc = num_u64(optarg, 1, INT32_MAX, &parent, NULL);
                else
                        rc = -1;
        }
        if (rc || !store || !parent) {
                fputs("berthd forecast: started by berthd itself, and by nobody else\n", stderr);
                return EXIT_FAILURE;
        }
        if (!worker_be_child("berthd-forecast", (pid_t)parent))
                return EXIT_FAILURE;            /* and nobody to tell */
        (void)setrlimit(RLIMIT_CORE, &no_core);
        return answer(store);
}
