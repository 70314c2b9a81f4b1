/* Methods of strings. */
#include "../src/native.h"
#include "../src/show.h"

#include "../rt/textscan.h"
#include "../rt/utf8.h"

#include <string.h>

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_alpha(char c)
{
    c |= 0x20;
    return c >= 'a' && c <= 'z';
}

static char to_upper(char c)
{
    return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
}

static char to_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static Value substring(Vm *vm, const Str *s, size_t from, size_t to)
{
    return value_object(str_new(&vm->heap, s->data + from, to - from));
}

static bool str_len(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)vm;
    (void)argc;
    return give(result, value_int(AS_STR(argv[0])->len));
}

static bool str_upper(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    Str *s = str_new(&vm->heap, AS_STR(argv[0])->data, AS_STR(argv[0])->len);
    for (size_t i = 0; i < s->len; i++)
        s->data[i] = to_upper(s->data[i]);
    return give(result, value_object(s));
}

static bool str_lower(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    Str *s = str_new(&vm->heap, AS_STR(argv[0])->data, AS_STR(argv[0])->len);
    for (size_t i = 0; i < s->len; i++)
        s->data[i] = to_lower(s->data[i]);
    return give(result, value_object(s));
}

/* Every word with an initial capital. */
static bool str_title(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    Str *s = str_new(&vm->heap, AS_STR(argv[0])->data, AS_STR(argv[0])->len);
    for (size_t i = 0; i < s->len; i++) {
        bool inside = i > 0 && (is_alpha(s->data[i - 1]) || is_digit(s->data[i - 1]));
        s->data[i] = inside ? to_lower(s->data[i]) : to_upper(s->data[i]);
    }
    return give(result, value_object(s));
}

static bool str_trim(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    const Str *s = AS_STR(argv[0]);
    size_t from = 0, to = s->len;
    while (from < to && is_space(s->data[from]))
        from++;
    while (to > from && is_space(s->data[to - 1]))
        to--;
    return give(result, substring(vm, s, from, to));
}

static List *split_words(Vm *vm, const Str *s)
{
    List *list = list_new(&vm->heap, 0);
    for (size_t i = 0; i < s->len;) {
        while (i < s->len && is_space(s->data[i]))
            i++;
        size_t start = i;
        while (i < s->len && !is_space(s->data[i]))
            i++;
        if (i > start)
            list_push(&vm->heap, list, substring(vm, s, start, i));
    }
    return list;
}

static List *split_at(Vm *vm, const Str *s, const Str *separator)
{
    List *list = list_new(&vm->heap, 0);
    size_t start = 0, at;
    while ((at = text_find(s->data, s->len, separator->data, separator->len, start)) !=
           TEXT_NOT_FOUND) {
        list_push(&vm->heap, list, substring(vm, s, start, at));
        start = at + separator->len;
    }
    list_push(&vm->heap, list, substring(vm, s, start, s->len));
    return list;
}

static bool str_split(Vm *vm, int argc, Value *argv, Value *result)
{
    Str *separator;
    if (argc == 1)
        return give(result, value_object(split_words(vm, AS_STR(argv[0]))));
    if (!arg_str(vm, argv, 1, &separator))
        return false;
    if (separator->len == 0)
        return vm_throw(vm, "empty separator");
    return give(result, value_object(split_at(vm, AS_STR(argv[0]), separator)));
}

/* The lines, without their ends; a final newline does not begin another line. */
static bool str_lines(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    const Str *s = AS_STR(argv[0]);
    List *list = list_new(&vm->heap, 0);
    for (size_t start = 0; start < s->len;) {
        const char *nl = memchr(s->data + start, '\n', s->len - start);
        size_t end = nl ? (size_t)(nl - s->data) : s->len;
        list_push(&vm->heap, list, substring(vm, s, start, end));
        start = end + 1;
    }
    return give(result, value_object(list));
}

static bool str_join(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    List *list;
    Buf out;
    if (!arg_list(vm, argv, 1, &list))
        return false;
    buf_init(&out);
    for (size_t i = 0; i < list->len; i++) {
        if (i > 0)
            buf_write(&out, AS_STR(argv[0])->data, AS_STR(argv[0])->len);
        show_value(&out, list->items[i]);
    }
    return give_buf(vm, result, &out);
}

static Value position(size_t at)
{
    return at == TEXT_NOT_FOUND ? value_nil() : value_int((int64_t)at);
}

static bool str_find(Vm *vm, int argc, Value *argv, Value *result)
{
    const Str *s = AS_STR(argv[0]);
    Str *what;
    size_t from = 0;
    if (!arg_str(vm, argv, 1, &what) || (argc > 2 && !arg_size(vm, argv, 2, s->len, &from)))
        return false;
    return give(result, position(text_find(s->data, s->len, what->data, what->len, from)));
}

static bool str_rfind(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    const Str *s = AS_STR(argv[0]);
    Str *what;
    if (!arg_str(vm, argv, 1, &what))
        return false;
    return give(result, position(text_rfind(s->data, s->len, what->data, what->len)));
}

static bool str_count(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    const Str *s = AS_STR(argv[0]);
    Str *what;
    if (!arg_str(vm, argv, 1, &what))
        return false;
    return give(result, value_int((int64_t)text_count(s->data, s->len, what->data, what->len)));
}

static bool str_replace(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    const Str *s = AS_STR(argv[0]);
    Str *what, *with;
    Buf out;
    if (!arg_str(vm, argv, 1, &what) || !arg_str(vm, argv, 2, &with))
        return false;
    if (what->len == 0)
        return vm_throw(vm, "cannot replace an empty string");
    buf_init(&out);
    size_t start = 0, at;
    while ((at = text_find(s->data, s->len, what->data, what->len, start)) != TEXT_NOT_FOUND) {
        buf_write(&out, s->data + start, at - start);
        buf_write(&out, with->data, with->len);
        start = at + what->len;
    }
    buf_write(&out, s->data + start, s->len - start);
    return give_buf(vm, result, &out);
}

static bool str_starts_with(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    const Str *s = AS_STR(argv[0]);
    Str *p;
    if (!arg_str(vm, argv, 1, &p))
        return false;
    return give(result, value_bool(p->len <= s->len && memcmp(s->data, p->data, p->len) == 0));
}

static bool str_ends_with(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    const Str *s = AS_STR(argv[0]);
    Str *p;
    if (!arg_str(vm, argv, 1, &p))
        return false;
    bool fits = p->len <= s->len;
    return give(result,
                value_bool(fits && memcmp(s->data + s->len - p->len, p->data, p->len) == 0));
}

static bool align(Vm *vm, int argc, const Value *argv, Value *result, Align how)
{
    const Str *s = AS_STR(argv[0]);
    Str *fill = NULL;
    size_t width;
    Buf out;
    if (!arg_size(vm, argv, 1, 10000, &width) || (argc > 2 && !arg_str(vm, argv, 2, &fill)))
        return false;
    buf_init(&out);
    text_align(&out, s->data, s->len, width, fill && fill->len > 0 ? fill->data[0] : ' ', how);
    return give_buf(vm, result, &out);
}

static bool str_pad_left(Vm *vm, int argc, Value *argv, Value *result)
{
    return align(vm, argc, argv, result, ALIGN_RIGHT);
}

static bool str_pad_right(Vm *vm, int argc, Value *argv, Value *result)
{
    return align(vm, argc, argv, result, ALIGN_LEFT);
}

static bool str_center(Vm *vm, int argc, Value *argv, Value *result)
{
    return align(vm, argc, argv, result, ALIGN_CENTER);
}

static bool str_chars(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    const Str *s = AS_STR(argv[0]);
    List *list = list_new(&vm->heap, s->len);
    uint32_t code;
    for (size_t i = 0; i < s->len;) {
        size_t n = utf8_decode(s->data + i, s->len - i, &code);
        list_push(&vm->heap, list, substring(vm, s, i, i + n));
        i += n;
    }
    return give(result, value_object(list));
}

static bool str_codes(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    const Str *s = AS_STR(argv[0]);
    List *list = list_new(&vm->heap, s->len);
    uint32_t code;
    for (size_t i = 0; i < s->len;) {
        i += utf8_decode(s->data + i, s->len - i, &code);
        list_push(&vm->heap, list, value_int(code));
    }
    return give(result, value_object(list));
}

static bool str_reverse(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    const Str *s = AS_STR(argv[0]);
    Str *r = str_new(&vm->heap, s->data, s->len);
    uint32_t code;
    for (size_t i = 0, n; i < s->len; i += n) {
        n = utf8_decode(s->data + i, s->len - i, &code);
        memcpy(r->data + s->len - i - n, s->data + i, n);
    }
    return give(result, value_object(r));
}

static bool str_width(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)vm;
    (void)argc;
    const Str *s = AS_STR(argv[0]);
    return give(result, value_int((int64_t)utf8_width(s->data, s->len)));
}

static bool every(const Str *s, bool (*predicate)(char))
{
    for (size_t i = 0; i < s->len; i++)
        if (!predicate(s->data[i]))
            return false;
    return s->len > 0;
}

static bool str_is_digit(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)vm;
    (void)argc;
    return give(result, value_bool(every(AS_STR(argv[0]), is_digit)));
}

static bool str_is_alpha(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)vm;
    (void)argc;
    return give(result, value_bool(every(AS_STR(argv[0]), is_alpha)));
}

static bool str_is_space(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)vm;
    (void)argc;
    return give(result, value_bool(every(AS_STR(argv[0]), is_space)));
}

static bool str_is_valid(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)vm;
    (void)argc;
    return give(result, value_bool(utf8_valid(AS_STR(argv[0])->data, AS_STR(argv[0])->len)));
}

void lib_str(Vm *vm)
{
    static const NativeDef methods[] = {
        {"len", str_len, 1, 1},             {"upper", str_upper, 1, 1},
        {"lower", str_lower, 1, 1},         {"title", str_title, 1, 1},
        {"trim", str_trim, 1, 1},           {"split", str_split, 1, 2},
        {"lines", str_lines, 1, 1},         {"join", str_join, 2, 2},
        {"find", str_find, 2, 3},           {"rfind", str_rfind, 2, 2},
        {"count", str_count, 2, 2},         {"replace", str_replace, 3, 3},
        {"starts_with", str_starts_with, 2, 2}, {"ends_with", str_ends_with, 2, 2},
        {"pad_left", str_pad_left, 2, 3},   {"pad_right", str_pad_right, 2, 3},
        {"center", str_center, 2, 3},       {"chars", str_chars, 1, 1},
        {"codes", str_codes, 1, 1},         {"reverse", str_reverse, 1, 1},
        {"width", str_width, 1, 1},         {"is_digit", str_is_digit, 1, 1},
        {"is_alpha", str_is_alpha, 1, 1},   {"is_space", str_is_space, 1, 1},
        {"is_valid", str_is_valid, 1, 1},   {NULL, NULL, 0, 0},
    };
    vm_define_methods(vm, TYPE_STR, methods);
}
