/* The module `regex` and the methods of compiled patterns. */
#include "../src/native.h"
#include "../src/show.h"

#include <string.h>

static bool regex_new_from(Vm *vm, int argc, Value *argv, Value *result)
{
    Str *pattern, *flags;
    Regex re;
    const char *error;
    bool ignore_case = false;
    if (!arg_str(vm, argv, 0, &pattern))
        return false;
    if (argc > 1) {
        if (!arg_str(vm, argv, 1, &flags))
            return false;
        ignore_case = strchr(flags->data, 'i') != NULL;
    }
    if (!regex_compile(&re, pattern->data, pattern->len, ignore_case, &error))
        return vm_throw(vm, "regex: %s", error);
    return give(result, value_object(regex_new(&vm->heap, pattern, &re)));
}

static const Regex *self(const Value *argv)
{
    return &AS_REGEX(argv[0])->re;
}

static bool search(const Value *argv, const Str *s, size_t from, RegexMatch *m)
{
    return regex_search(self(argv), s->data, s->len, from, m);
}

static Value group(Vm *vm, const Str *s, const RegexMatch *m, int number)
{
    size_t begin = m->slot[2 * number], end = m->slot[2 * number + 1];
    if (begin == REGEX_UNSET || end == REGEX_UNSET)
        return value_nil();
    return value_object(str_new(&vm->heap, s->data + begin, end - begin));
}

/* Where to look for the next match: an empty one must not be found again. */
static size_t after(const RegexMatch *m)
{
    return m->slot[1] > m->slot[0] ? m->slot[1] : m->slot[1] + 1;
}

static bool re_test(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    Str *s;
    RegexMatch m;
    return arg_str(vm, argv, 1, &s) && give(result, value_bool(search(argv, s, 0, &m)));
}

/* The groups of the first match, the whole match first; nil if there is none. */
static bool re_match(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    Str *s;
    RegexMatch m;
    if (!arg_str(vm, argv, 1, &s))
        return false;
    if (!search(argv, s, 0, &m))
        return true;
    List *list = list_new(&vm->heap, (size_t)self(argv)->groups);
    for (int i = 0; i < self(argv)->groups; i++)
        list_push(&vm->heap, list, group(vm, s, &m, i));
    return give(result, value_object(list));
}

static bool re_find(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    Str *s;
    RegexMatch m;
    if (!arg_str(vm, argv, 1, &s))
        return false;
    if (search(argv, s, 0, &m))
        *result = value_int((int64_t)m.slot[0]);
    return true;
}

/* The text of all matches. */
static bool re_find_all(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    Str *s;
    RegexMatch m;
    if (!arg_str(vm, argv, 1, &s))
        return false;
    List *list = list_new(&vm->heap, 0);
    for (size_t at = 0; search(argv, s, at, &m); at = after(&m))
        list_push(&vm->heap, list, group(vm, s, &m, 0));
    return give(result, value_object(list));
}

static bool re_split(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    Str *s;
    RegexMatch m;
    if (!arg_str(vm, argv, 1, &s))
        return false;
    List *list = list_new(&vm->heap, 0);
    size_t start = 0;
    for (size_t at = 0; search(argv, s, at, &m); at = after(&m)) {
        if (m.slot[1] == m.slot[0])
            continue; /* an empty match separates nothing */
        Str *piece = str_new(&vm->heap, s->data + start, m.slot[0] - start);
        list_push(&vm->heap, list, value_object(piece));
        start = m.slot[1];
    }
    Str *rest = str_new(&vm->heap, s->data + start, s->len - start);
    list_push(&vm->heap, list, value_object(rest));
    return give(result, value_object(list));
}

/* Copies the replacement, in which $0 to $9 stand for groups. */
static void expand(Buf *out, const Str *with, const Str *s, const RegexMatch *m)
{
    for (size_t i = 0; i < with->len; i++) {
        char c = with->data[i];
        if (c != '$' || i + 1 == with->len) {
            buf_putc(out, c);
            continue;
        }
        char digit = with->data[++i];
        if (digit < '0' || digit > '9') {
            buf_putc(out, digit);
            continue;
        }
        size_t begin = m->slot[2 * (digit - '0')], end = m->slot[2 * (digit - '0') + 1];
        if (begin != REGEX_UNSET && end != REGEX_UNSET)
            buf_write(out, s->data + begin, end - begin);
    }
}

static bool replacement(Vm *vm, Buf *out, Value with, const Str *s, const RegexMatch *m)
{
    Value text;
    if (value_is(with, OBJ_STR)) {
        expand(out, AS_STR(with), s, m);
        return true;
    }
    if (!call1(vm, with, group(vm, s, m, 0), &text))
        return false;
    show_value(out, text);
    return true;
}

/* Replaces all matches, by a text or by what a function makes of them. */
static bool re_replace(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    Str *s;
    RegexMatch m;
    Buf out;
    if (!arg_str(vm, argv, 1, &s))
        return false;
    buf_init(&out);
    size_t start = 0;
    for (size_t at = 0; search(argv, s, at, &m); at = after(&m)) {
        buf_write(&out, s->data + start, m.slot[0] - start);
        start = m.slot[1];
        if (!replacement(vm, &out, argv[2], s, &m)) {
            buf_free(&out);
            return false;
        }
    }
    buf_write(&out, s->data + start, s->len - start);
    return give_buf(vm, result, &out);
}

void lib_regex(Vm *vm)
{
    static const NativeDef functions[] = {
        {"compile", regex_new_from, 1, 2},
        {NULL, NULL, 0, 0},
    };
    static const NativeDef methods[] = {
        {"test", re_test, 2, 2},         {"match", re_match, 2, 2},
        {"find", re_find, 2, 2},         {"find_all", re_find_all, 2, 2},
        {"split", re_split, 2, 2},       {"replace", re_replace, 3, 3},
        {NULL, NULL, 0, 0},
    };
    vm_define_module(vm, "regex", functions);
    vm_define_methods(vm, TYPE_REGEX, methods);
}
