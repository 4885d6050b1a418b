/* say.h - the agent's log: one event, one line on standard error, as journald takes it.
 *
 * A fixed phrase, then key=value. Not pure; any thread.
 */
#pragma once

enum say_level { SAY_ERROR = 3, SAY_WARN = 4, SAY_INFO = 6 };

/* say(SAY_WARN, "run refused", "run=%s reason=%s", ...); `format` "": nothing more. */
void say(enum say_level level, const char *phrase, const char *format, ...)
        __attribute__((format(printf, 3, 4)));
