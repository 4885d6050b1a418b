/* corpus_main.c - feeds every file of the folders given to a fuzz target, without libFuzzer. */
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A copy of exactly the size, so that the sanitizer sees a read behind its end. */
static void feed(const char *bytes, size_t size)
{
        uint8_t *copy = malloc(size ? size : 1);
        if (!copy)
                abort();
        memcpy(copy, bytes, size);
        LLVMFuzzerTestOneInput(copy, size);
        free(copy);
}

static int feed_folder(const char *folder, unsigned *fed)
{
        struct dirent **names;
        int count = scandir(folder, &names, NULL, alphasort);
        if (count < 0) {
                fprintf(stderr, "%s: cannot be listed\n", folder);
                return 1;
        }
        int failed = 0;
        for (int i = 0; i < count; i++) {
                char path[4096];
                snprintf(path, sizeof path, "%s/%s", folder, names[i]->d_name);
                char *bytes = NULL;
                size_t size;
                struct err err;
                if (names[i]->d_name[0] != '.') {
                        if (file_read(path, 64u << 20, &bytes, &size, &err) < 0) {
                                fprintf(stderr, "%s\n", err.text);
                                failed = 1;
                        } else {
                                feed(bytes, size);
                                /* The same cut in half: truncation is where parsers trip. */
                                feed(bytes, size / 2);
                                *fed += 1;
                        }
                }
                mem_free(bytes);
                free(names[i]);
        }
        free(names);
        return failed;
}

int main(int argc, char **argv)
{
        unsigned fed = 0;
        int failed = 0;
        for (int i = 1; i < argc; i++)
                failed |= feed_folder(argv[i], &fed);
        if (fed == 0) {
                fprintf(stderr, "no input was found\n");
                return 1;
        }
        printf("%u inputs\n", fed);
        return failed;
}
