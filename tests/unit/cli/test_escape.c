/* What is typed at a far terminal, and what is for the command itself. */
#include "tests/unit/check.h"

#include <string.h>

#include "base/mem.h"
#include "cli/escape.h"

/* Types the text in pieces of `step` bytes; "!" stands for a close, "?" in brackets for help. */
static const char *typed(const char *text, size_t step)
{
        static char out[256];
        struct escape escape = {0};
        size_t at = 0, size = strlen(text), put = 0;

        while (at < size) {
                size_t piece = size - at < step ? size - at : step, taken, count;
                enum escape_action action =
                        escape_take(&escape, text + at, piece, &taken, out + put, &count);
                assert_in_range(taken, 1, piece);
                at += taken;
                put += count;
                if (action == ESCAPE_CLOSE)
                        out[put++] = '!';
                if (action == ESCAPE_HELP)
                        put += (size_t)sprintf(out + put, "[?]");
        }
        out[put] = '\0';
        return out;
}

static void a_tilde_at_the_beginning_of_a_line_is_ours(void **state)
{
        (void)state;
        static const struct { const char *text, *sent; } rows[] = {
                {"ls\r", "ls\r"},       {"~.", "!"},            {"ls\r~.", "ls\r!"},
                {"a~.", "a~."},         {"~~.", "~."},          {"~?~.", "[?]!"},
                {"~x", "~x"},           {"~\r~.", "~\r!"},      {"~~~.", "~~."},
                {"a\n~~b\r~.", "a\n~b\r!"}, {"", ""},           {"~?x", "[?]x"},
        };

        for (size_t r = 0; r < ARRAY_LEN(rows); r++)
                for (size_t step = 1; step < 9; step++)
                        assert_string_equal(typed(rows[r].text, step), rows[r].sent);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_tilde_at_the_beginning_of_a_line_is_ours),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
