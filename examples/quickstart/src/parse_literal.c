/* Literals: numbers, strings with escapes, and templates with embedded expressions. */
#include "parser.h"

#include "../rt/num.h"
#include "../rt/utf8.h"

#include <string.h>

/* The digits of a number token without the separating underscores. */
static Text digits(Parser *ps, Token t)
{
    char *copy = arena_alloc(ps->arena, t.len + 1);
    size_t n = 0;
    for (size_t i = 0; i < t.len; i++)
        if (t.text[i] != '_')
            copy[n++] = t.text[i];
    return (Text){copy, n};
}

Expr *parse_integer(Parser *ps, Token t)
{
    Expr *e = ast_expr(ps->arena, EX_INT, t.line);
    Text d = digits(ps, t);
    unsigned base = 10;
    if (d.len > 1 && d.data[0] == '0' && (d.data[1] == 'x' || d.data[1] == 'b')) {
        base = d.data[1] == 'x' ? 16 : 2;
        d = (Text){d.data + 2, d.len - 2};
    }
    if (num_parse_int(d.data, d.len, base, &e->integer))
        return e;
    if (base != 10)
        parser_fail(ps, "malformed number", "");
    e->kind = EX_BIG;
    e->text = d;
    return e;
}

Expr *parse_float(Parser *ps, Token t)
{
    Expr *e = ast_expr(ps->arena, EX_FLOAT, t.line);
    Text d = digits(ps, t);
    if (!num_parse_float(d.data, d.len, &e->number))
        parser_fail(ps, "malformed number", "");
    return e;
}

/* \u{XXXX}: text is at the 'u'; returns the number of characters taken, 0 on error. */
static size_t unicode_escape(Buf *out, const char *text, size_t len)
{
    int64_t code;
    const char *close = len > 2 && text[1] == '{' ? memchr(text, '}', len) : NULL;
    if (!close || !num_parse_int(text + 2, (size_t)(close - text) - 2, 16, &code) || code < 0 ||
        code > 0x10FFFF)
        return 0;
    utf8_put(out, (uint32_t)code);
    return (size_t)(close - text) + 1;
}

/* text is after the backslash. */
static size_t put_escape(Buf *out, const char *text, size_t len)
{
    static const char letters[] = "ntr0e\"\\{}", meanings[] = "\n\t\r\0\033\"\\{}";
    const char *found = memchr(letters, text[0], sizeof letters - 1);
    if (text[0] == 'u')
        return unicode_escape(out, text, len);
    if (!found)
        return 0;
    buf_putc(out, meanings[found - letters]);
    return 1;
}

static Expr *string_literal(Parser *ps, const char *text, size_t len, uint32_t line)
{
    Buf out;
    buf_init(&out);
    for (size_t i = 0; i < len; i++) {
        if (text[i] != '\\') {
            buf_putc(&out, text[i]);
            continue;
        }
        size_t taken = i + 1 < len ? put_escape(&out, text + i + 1, len - i - 1) : 0;
        if (taken == 0)
            parser_fail(ps, "unknown escape in string", "");
        i += taken;
    }
    Expr *e = ast_expr(ps->arena, EX_STRING, line);
    e->text = (Text){arena_copy(ps->arena, out.data, out.len), out.len};
    buf_free(&out);
    return e;
}

Expr *parse_string(Parser *ps, Token t)
{
    return string_literal(ps, t.text, t.len, t.line);
}

/* The expression at *p, after '{'; with a format after ':'.  Moves *p past the '}'. */
static Expr *parse_hole(Parser *ps, const char **p, const char *end, uint32_t line)
{
    Parser inner;
    parser_start(&inner, ps->arena, *p, (size_t)(end - *p), line, ps->error);
    inner.depth = ps->depth;
    Expr *e = parse_expr(&inner);
    if (inner.failed) {
        ps->failed = true;
        parser_fail(ps, "", "");
        return e;
    }
    const char *at = inner.cur.text;
    if (parser_check(&inner, TOK_COLON)) {
        const char *close = memchr(at, '}', (size_t)(end - at));
        Expr *format = ast_expr(ps->arena, EX_FORMAT, line);
        format->left = e;
        format->text = (Text){at + 1, close ? (size_t)(close - at - 1) : 0};
        at = close;
        e = format;
    } else if (!parser_check(&inner, TOK_RBRACE)) {
        at = NULL;
    }
    if (!at)
        parser_fail(ps, "expected } in template", "");
    *p = at ? at + 1 : end;
    return e;
}

static const char *literal_end(const char *p, const char *end)
{
    while (p < end && *p != '{')
        p += *p == '\\' && p + 1 < end ? 2 : 1;
    return p;
}

Expr *parse_template(Parser *ps, Token t)
{
    Expr *e = ast_expr(ps->arena, EX_TEMPLATE, t.line);
    const char *p = t.text, *end = t.text + t.len;
    while (p < end && !ps->failed) {
        const char *stop = literal_end(p, end);
        if (stop > p) {
            Expr *part = string_literal(ps, p, (size_t)(stop - p), t.line);
            ast_add_expr(ps->arena, &e->list, part);
        }
        p = stop;
        if (p < end) {
            p++;
            ast_add_expr(ps->arena, &e->list, parse_hole(ps, &p, end, t.line));
        }
    }
    return e;
}
