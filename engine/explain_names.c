#include "engine/explain.h"

#define X(name, wire) wire,
static const char *const verdict_names[] = {VERDICTS(X)};
static const char *const unblock_names[] = {UNBLOCKS(X)};
static const char *const ahead_texts[] = {AHEADS(X)};
static const char *const idle_texts[] = {IDLES(X)};
#undef X
#define X(name, text) #name,
static const char *const code_names[] = {CODES(X)};
static const char *const idle_names[] = {IDLES(X)};
#undef X

const char *verdict_name(enum verdict verdict)
{
        return verdict_names[verdict];
}

const char *node_code_name(enum node_code code)
{
        return code_names[code];
}

const char *unblock_name(enum unblock_kind kind)
{
        return unblock_names[kind];
}

const char *ahead_text(enum ahead ahead)
{
        return ahead_texts[ahead];
}

const char *idle_code_name(enum idle_code code)
{
        return idle_names[code];
}

const char *idle_code_text(enum idle_code code)
{
        return idle_texts[code];
}
