#include "json.h"

#include "../src/list.h"
#include "../src/map.h"
#include "../src/str.h"

#include "../rt/num.h"
#include "../rt/utf8.h"

#include <string.h>

enum { MAX_DEPTH = 200 };

typedef struct {
    Vm *vm;
    const char *text, *p, *end;
    int depth;
    bool failed;
} Reader;

static bool read_value(Reader *r, Value *v);

static bool fail(Reader *r, const char *message)
{
    if (!r->failed)
        vm_throw(r->vm, "json: %s at offset %zu", message, (size_t)(r->p - r->text));
    r->failed = true;
    return false;
}

static void skip_space(Reader *r)
{
    while (r->p < r->end && (*r->p == ' ' || *r->p == '\n' || *r->p == '\t' || *r->p == '\r'))
        r->p++;
}

static bool accept(Reader *r, char c)
{
    skip_space(r);
    if (r->p == r->end || *r->p != c)
        return false;
    r->p++;
    return true;
}

static bool read_keyword(Reader *r, const char *word, Value meaning, Value *v)
{
    size_t n = strlen(word);
    if ((size_t)(r->end - r->p) < n || memcmp(r->p, word, n) != 0)
        return fail(r, "unknown word");
    r->p += n;
    *v = meaning;
    return true;
}

static bool in_number(char c)
{
    return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
}

static bool read_number(Reader *r, Value *v)
{
    const char *start = r->p;
    int64_t i;
    double d;
    while (r->p < r->end && in_number(*r->p))
        r->p++;
    size_t len = (size_t)(r->p - start);
    if (num_parse_int(start, len, 10, &i))
        *v = value_int(i);
    else if (num_parse_float(start, len, &d))
        *v = value_float(d);
    else
        return fail(r, "malformed number");
    return true;
}

static bool read_hex4(Reader *r, uint32_t *code)
{
    int64_t n;
    if (r->end - r->p < 4 || !num_parse_int(r->p, 4, 16, &n) || n < 0)
        return fail(r, "malformed escape");
    r->p += 4;
    *code = (uint32_t)n;
    return true;
}

/* \uXXXX, or two of them for a surrogate pair; after the 'u'. */
static bool read_unicode(Reader *r, Buf *out)
{
    uint32_t code, low;
    if (!read_hex4(r, &code))
        return false;
    if (code >= 0xD800 && code < 0xDC00 && r->end - r->p >= 2 && r->p[0] == '\\' &&
        r->p[1] == 'u') {
        r->p += 2;
        if (!read_hex4(r, &low))
            return false;
        code = low >= 0xDC00 && low < 0xE000 ? 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00)
                                             : UTF8_REPLACEMENT;
    }
    utf8_put(out, code);
    return true;
}

static bool read_escape(Reader *r, Buf *out)
{
    static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    if (r->p == r->end)
        return fail(r, "malformed escape");
    char c = *r->p++;
    if (c == 'u')
        return read_unicode(r, out);
    const char *found = memchr(letters, c, sizeof letters - 1);
    if (!found)
        return fail(r, "malformed escape");
    buf_putc(out, meanings[found - letters]);
    return true;
}

static bool read_characters(Reader *r, Buf *out)
{
    while (r->p < r->end && *r->p != '"') {
        if (*r->p == '\\') {
            r->p++;
            if (!read_escape(r, out))
                return false;
        } else {
            buf_putc(out, *r->p++);
        }
    }
    if (r->p == r->end)
        return fail(r, "unterminated string");
    r->p++;
    return true;
}

/* After the opening quote. */
static bool read_string(Reader *r, Value *v)
{
    Buf out;
    buf_init(&out);
    bool ok = read_characters(r, &out);
    if (ok)
        *v = value_object(str_from_buf(&r->vm->heap, &out));
    buf_free(&out);
    return ok;
}

static bool read_array(Reader *r, Value *v)
{
    List *list = list_new(&r->vm->heap, 0);
    *v = value_object(list);
    if (accept(r, ']'))
        return true;
    do {
        Value item;
        if (!read_value(r, &item))
            return false;
        list_push(&r->vm->heap, list, item);
    } while (accept(r, ','));
    return accept(r, ']') || fail(r, "expected ]");
}

static bool read_object(Reader *r, Value *v)
{
    Map *map = map_new(&r->vm->heap);
    *v = value_object(map);
    if (accept(r, '}'))
        return true;
    do {
        Value key, value;
        if (!accept(r, '"'))
            return fail(r, "expected a key");
        if (!read_string(r, &key))
            return false;
        if (!accept(r, ':'))
            return fail(r, "expected :");
        if (!read_value(r, &value))
            return false;
        map_set(&r->vm->heap, map, key, value);
    } while (accept(r, ','));
    return accept(r, '}') || fail(r, "expected }");
}

static bool read_nested(Reader *r, Value *v)
{
    if (++r->depth > MAX_DEPTH)
        return fail(r, "nested too deeply");
    bool ok = *r->p++ == '[' ? read_array(r, v) : read_object(r, v);
    r->depth--;
    return ok;
}

static bool read_value(Reader *r, Value *v)
{
    skip_space(r);
    if (r->p == r->end)
        return fail(r, "unexpected end");
    switch (*r->p) {
    case '[':
    case '{':
        return read_nested(r, v);
    case '"':
        r->p++;
        return read_string(r, v);
    case 't':
        return read_keyword(r, "true", value_bool(true), v);
    case 'f':
        return read_keyword(r, "false", value_bool(false), v);
    case 'n':
        return read_keyword(r, "null", value_nil(), v);
    default:
        return read_number(r, v);
    }
}

bool json_read(Vm *vm, const char *text, size_t len, Value *result)
{
    Reader r = {.vm = vm, .text = text, .p = text, .end = text + len};
    if (!read_value(&r, result))
        return false;
    skip_space(&r);
    return r.p == r.end || fail(&r, "unexpected text after the value");
}
