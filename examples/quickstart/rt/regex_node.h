/* Syntax tree of a regular expression, between the parser and the code generator. */
#ifndef RT_REGEX_NODE_H
#define RT_REGEX_NODE_H

#include "arena.h"
#include "regex.h"

typedef enum {
    N_EMPTY,
    N_BYTE,
    N_ANY,
    N_SET,
    N_CAT,
    N_ALT,
    N_REPEAT,
    N_GROUP,
    N_ASSERT
} RegexNodeKind;

typedef struct RegexNode {
    RegexNodeKind kind;
    struct RegexNode *left, *right;
    int min, max; /* N_REPEAT; max < 0: unbounded */
    bool lazy;
    int value; /* N_BYTE: byte, N_GROUP: number or -1, N_ASSERT: RegexOp */
    ByteSet set;
} RegexNode;

/*
 * Parses a pattern; the nodes live in the arena.  Counts the groups in re->groups.
 * Returns NULL and sets *error to a static message if the pattern is malformed.
 */
RegexNode *regex_parse(Regex *re, Arena *arena, const char *pattern, size_t len,
                       const char **error);

#endif
