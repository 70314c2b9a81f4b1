/* Syntax tree -> program for the matcher. */
#include "mem.h"
#include "regex_node.h"

#include <string.h>

enum { MAX_PATTERN = 10000, MAX_CODE = 20000 };

static uint32_t emit(Regex *re, RegexOp op, uint32_t x, uint32_t y)
{
    if (re->len == re->cap) {
        re->cap = re->cap ? re->cap * 2 : 32;
        re->code = rt_realloc(re->code, re->cap * sizeof *re->code);
    }
    re->code[re->len] = (RegexInsn){op, x, y};
    return (uint32_t)re->len++;
}

static uint32_t add_set(Regex *re, const ByteSet *set)
{
    re->sets = rt_realloc(re->sets, (re->set_count + 1) * sizeof *re->sets);
    re->sets[re->set_count] = *set;
    return (uint32_t)re->set_count++;
}

/* Sets the branches of the split at `pc`: into the body, or past it. */
static void patch_split(Regex *re, uint32_t pc, uint32_t body, uint32_t after, bool lazy)
{
    re->code[pc].x = lazy ? after : body;
    re->code[pc].y = lazy ? body : after;
}

static void generate(Regex *re, const RegexNode *n);

static void generate_repeat(Regex *re, const RegexNode *n)
{
    for (int i = 0; i < n->min; i++)
        generate(re, n->left);
    if (n->max < 0) {
        uint32_t split = emit(re, RX_SPLIT, 0, 0);
        generate(re, n->left);
        emit(re, RX_JUMP, split, 0);
        patch_split(re, split, split + 1, (uint32_t)re->len, n->lazy);
        return;
    }
    for (int i = n->min; i < n->max; i++) {
        uint32_t split = emit(re, RX_SPLIT, 0, 0);
        generate(re, n->left);
        patch_split(re, split, split + 1, (uint32_t)re->len, n->lazy);
    }
}

static void generate_alternative(Regex *re, const RegexNode *n)
{
    uint32_t split = emit(re, RX_SPLIT, 0, 0);
    generate(re, n->left);
    uint32_t jump = emit(re, RX_JUMP, 0, 0);
    patch_split(re, split, split + 1, (uint32_t)re->len, false);
    generate(re, n->right);
    re->code[jump].x = (uint32_t)re->len;
}

static void generate_group(Regex *re, const RegexNode *n)
{
    if (n->value < 0) {
        generate(re, n->left);
        return;
    }
    emit(re, RX_SAVE, 2 * (uint32_t)n->value, 0);
    generate(re, n->left);
    emit(re, RX_SAVE, 2 * (uint32_t)n->value + 1, 0);
}

static void generate(Regex *re, const RegexNode *n)
{
    if (re->len > MAX_CODE) /* reported by regex_compile */
        return;
    switch (n->kind) {
    case N_EMPTY:
        break;
    case N_BYTE:
        emit(re, RX_BYTE, (uint32_t)n->value, 0);
        break;
    case N_ANY:
        emit(re, RX_ANY, 0, 0);
        break;
    case N_SET:
        emit(re, RX_SET, add_set(re, &n->set), 0);
        break;
    case N_CAT:
        generate(re, n->left);
        generate(re, n->right);
        break;
    case N_ALT:
        generate_alternative(re, n);
        break;
    case N_REPEAT:
        generate_repeat(re, n);
        break;
    case N_GROUP:
        generate_group(re, n);
        break;
    case N_ASSERT:
        emit(re, (RegexOp)n->value, 0, 0);
        break;
    }
}

bool regex_compile(Regex *re, const char *pattern, size_t len, bool ignore_case,
                   const char **error)
{
    memset(re, 0, sizeof *re);
    re->groups = 1;
    re->ignore_case = ignore_case;
    if (len > MAX_PATTERN) {
        *error = "pattern too large";
        return false;
    }
    Arena arena;
    arena_init(&arena);
    RegexNode *root = regex_parse(re, &arena, pattern, len, error);
    if (root) {
        emit(re, RX_SAVE, 0, 0);
        generate(re, root);
        emit(re, RX_SAVE, 1, 0);
        emit(re, RX_MATCH, 0, 0);
    }
    arena_free(&arena);
    if (root && re->len <= MAX_CODE) {
        re->scratch = regex_scratch_new(re);
        return true;
    }
    if (root)
        *error = "pattern too large";
    regex_free(re);
    return false;
}

void regex_free(Regex *re)
{
    rt_free(re->code);
    rt_free(re->sets);
    regex_scratch_free(re->scratch);
    memset(re, 0, sizeof *re);
}
