/*
 * Regular expressions over bytes: . [set] [^set] \d \w \s (and negations) \b \B
 * ^ $ ( ) (?: ) | * + ? {m,n}, each repetition also lazy with a trailing '?'.
 * Matching simulates the automaton (Pike's algorithm): linear in the subject.
 */
#ifndef RT_REGEX_H
#define RT_REGEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { REGEX_MAX_GROUPS = 10, REGEX_SLOTS = 2 * REGEX_MAX_GROUPS };

typedef enum {
    RX_BYTE,   /* x: the byte */
    RX_ANY,    /* any byte but newline */
    RX_SET,    /* x: index of the set */
    RX_JUMP,   /* x: target */
    RX_SPLIT,  /* x: preferred target, y: other target */
    RX_SAVE,   /* x: capture slot */
    RX_BEGIN,
    RX_END,
    RX_WORD_EDGE,
    RX_NOT_WORD_EDGE,
    RX_MATCH
} RegexOp;

typedef struct {
    RegexOp op;
    uint32_t x, y;
} RegexInsn;

typedef struct {
    uint32_t bits[8];
} ByteSet;

typedef struct RegexScratch RegexScratch;

typedef struct {
    RegexInsn *code;
    size_t len, cap;
    ByteSet *sets;
    size_t set_count;
    int groups; /* including group 0, the whole match */
    bool ignore_case;
    RegexScratch *scratch; /* the matcher's work space */
} Regex;

bool byteset_has(const ByteSet *set, unsigned char c);
void byteset_add(ByteSet *set, unsigned char lo, unsigned char hi);
bool regex_is_word(unsigned char c);

/* On failure returns false and points *error at a static message. */
bool regex_compile(Regex *re, const char *pattern, size_t len, bool ignore_case,
                   const char **error);
void regex_free(Regex *re);

/* Used by the compiler. */
RegexScratch *regex_scratch_new(const Regex *re);
void regex_scratch_free(RegexScratch *scratch);

typedef struct {
    size_t slot[REGEX_SLOTS]; /* begin and end of each group, or REGEX_UNSET */
} RegexMatch;

#define REGEX_UNSET ((size_t)-1)

/* Leftmost match starting at or after `from`. */
bool regex_search(const Regex *re, const char *text, size_t len, size_t from, RegexMatch *match);

#endif
