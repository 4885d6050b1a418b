/* words.h - numbers as people read them. Pure. All return `buf`. */
#pragma once

#define WORDS_MAX 32

const char *words_whole(double number, char buf[WORDS_MAX]);              /* "12,345" */
const char *words_span(double seconds, char buf[WORDS_MAX]);              /* "45 s", "3.4 h" */
const char *words_percent(double part, double all, char buf[WORDS_MAX]);  /* "12.3 %" */
