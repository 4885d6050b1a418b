/* fuzz_fit.c - text made fit for a terminal, against a model over whole code points: what comes
 * out is UTF-8 without any that steers, the rest stands as it was, and a second time changes
 * nothing. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BYTES_MAX 4096

static bool steers(uint32_t rune)
{
        return rune < 0x20 || (rune >= 0x7f && rune < 0xa0) || rune == 0x2028 || rune == 0x2029 ||
               (rune >= 0x202a && rune <= 0x202e) || (rune >= 0x2066 && rune <= 0x2069);
}

/* The longest whole letter there is at `text`; 0: none, by trying. */
static size_t letter_at(const char *text, size_t left, uint32_t *ret_rune)
{
        static const unsigned char firsts[] = {0, 0x7f, 0x1f, 0x0f, 0x07};

        for (size_t length = 1; length <= 4 && length <= left; length++) {
                if (!str_is_utf8(text, length, NULL))
                        continue;
                *ret_rune = (unsigned char)text[0] & firsts[length];
                for (size_t i = 1; i < length; i++)
                        *ret_rune = *ret_rune * 64 + ((unsigned char)text[i] & 0x3f);
                return length;
        }
        return 0;
}

static size_t model(const char *text, size_t size, bool has_lines, char *ret_fit)
{
        size_t used = 0;

        for (size_t at = 0; at < size;) {
                uint32_t rune = 0;
                size_t length = letter_at(text + at, size - at, &rune);
                bool stays = length > 0 && (!steers(rune) || (has_lines && rune == '\n'));
                for (size_t i = 0; i < length && stays; i++)
                        ret_fit[used++] = text[at + i];
                if (!stays)
                        ret_fit[used++] = '?';
                at += length > 0 ? length : 1;
        }
        return used;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        char text[BYTES_MAX + 1], fit[BYTES_MAX + 1], show[STR_SHOW_MAX];

        if (size > BYTES_MAX)
                return 0;
        for (int has_lines = 0; has_lines < 2; has_lines++) {
                if (size > 0)
                        memcpy(text, data, size);
                text[size] = '\0';
                size_t wanted = model(text, size, has_lines, fit);
                size_t got = str_make_fit(text, size, has_lines);
                assert(got == wanted);
                assert(got <= size);
                assert(memcmp(text, fit, got) == 0);
                assert(text[got] == '\0');
                assert(str_is_utf8(text, got, NULL));
                assert(str_make_fit(text, got, has_lines) == got);
                assert(memcmp(text, fit, got) == 0);
        }
        /* A short text is shown as it is made fit. */
        if (size > 0)
                memcpy(text, data, size);
        text[size] = '\0';
        str_show(text, show);
        assert(str_is_utf8(show, strlen(show), NULL));
        size_t length = strlen(text);
        (void)str_make_fit(text, length, false);
        if (length < STR_SHOW_MAX)
                assert(strcmp(show, text) == 0);
        return 0;
}
