/* The module `text`: words, paragraphs, similarity. */
#include "../src/native.h"

#include "../rt/distance.h"
#include "../rt/stem.h"
#include "../rt/textscan.h"
#include "../rt/words.h"

static bool two_texts(Vm *vm, const Value *argv, Str **a, Str **b)
{
    return arg_str(vm, argv, 0, a) && arg_str(vm, argv, 1, b);
}

static bool text_levenshtein(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    Str *a, *b;
    if (!two_texts(vm, argv, &a, &b))
        return false;
    size_t d = distance_levenshtein(a->data, a->len, b->data, b->len);
    return give(result, value_int((int64_t)d));
}

static bool text_hamming(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    Str *a, *b;
    if (!two_texts(vm, argv, &a, &b))
        return false;
    size_t d = distance_hamming(a->data, a->len, b->data, b->len);
    return give(result, value_int((int64_t)d));
}

static bool text_similarity(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    Str *a, *b;
    if (!two_texts(vm, argv, &a, &b))
        return false;
    return give(result, value_float(distance_jaro_winkler(a->data, a->len, b->data, b->len)));
}

static bool text_lcs(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    Str *a, *b;
    Buf out;
    if (!two_texts(vm, argv, &a, &b))
        return false;
    if ((uint64_t)a->len * b->len > 1u << 24)
        return vm_throw(vm, "texts too long");
    buf_init(&out);
    distance_lcs(&out, a->data, a->len, b->data, b->len);
    return give_buf(vm, result, &out);
}

/* Result of a function from one text to another. */
static bool transform(Vm *vm, const Value *argv, Value *result,
                      void (*f)(Buf *out, const char *text, size_t len))
{
    Str *s;
    Buf out;
    if (!arg_str(vm, argv, 0, &s))
        return false;
    buf_init(&out);
    f(&out, s->data, s->len);
    return give_buf(vm, result, &out);
}

static bool text_soundex(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    return transform(vm, argv, result, distance_soundex);
}

static bool text_stem(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    return transform(vm, argv, result, stem_word);
}

static bool text_plural(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    return transform(vm, argv, result, words_plural);
}

static bool text_dedented(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    return transform(vm, argv, result, text_dedent);
}

static bool text_matches(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    Str *pattern, *s;
    return two_texts(vm, argv, &pattern, &s) &&
           give(result, value_bool(text_glob(pattern->data, pattern->len, s->data, s->len)));
}

static bool lay_out(Vm *vm, const Value *argv, Value *result,
                    void (*f)(Buf *out, const char *text, size_t len, size_t width))
{
    Str *s;
    size_t width;
    Buf out;
    if (!arg_str(vm, argv, 0, &s) || !arg_size(vm, argv, 1, 10000, &width))
        return false;
    buf_init(&out);
    f(&out, s->data, s->len, width);
    return give_buf(vm, result, &out);
}

static bool text_wrapped(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    return lay_out(vm, argv, result, text_wrap);
}

static bool text_justified(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    return lay_out(vm, argv, result, text_justify);
}

static bool spell(Vm *vm, const Value *argv, Value *result, void (*f)(Buf *out, int64_t value))
{
    int64_t n;
    Buf out;
    if (!arg_int(vm, argv, 0, &n))
        return false;
    buf_init(&out);
    f(&out, n);
    return give_buf(vm, result, &out);
}

static bool text_cardinal(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    return spell(vm, argv, result, words_cardinal);
}

static bool text_ordinal(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    return spell(vm, argv, result, words_ordinal);
}

static bool text_roman(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    int64_t n;
    Buf out;
    if (!arg_int(vm, argv, 0, &n))
        return false;
    buf_init(&out);
    if (!words_roman(&out, n))
        return vm_throw(vm, "no roman numeral for the number");
    return give_buf(vm, result, &out);
}

static bool text_unroman(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    Str *s;
    int64_t n;
    if (!arg_str(vm, argv, 0, &s))
        return false;
    if (words_parse_roman(s->data, s->len, &n))
        *result = value_int(n); /* otherwise nil */
    return true;
}

void lib_text(Vm *vm)
{
    static const NativeDef functions[] = {
        {"levenshtein", text_levenshtein, 2, 2}, {"hamming", text_hamming, 2, 2},
        {"similarity", text_similarity, 2, 2},   {"lcs", text_lcs, 2, 2},
        {"soundex", text_soundex, 1, 1},         {"stem", text_stem, 1, 1},
        {"plural", text_plural, 1, 1},           {"dedent", text_dedented, 1, 1},
        {"glob", text_matches, 2, 2},            {"wrap", text_wrapped, 2, 2},
        {"justify", text_justified, 2, 2},       {"cardinal", text_cardinal, 1, 1},
        {"ordinal", text_ordinal, 1, 1},         {"roman", text_roman, 1, 1},
        {"unroman", text_unroman, 1, 1},         {NULL, NULL, 0, 0},
    };
    vm_define_module(vm, "text", functions);
}
