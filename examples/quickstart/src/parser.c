/* The parser's token handling; see parser.h. */
#include "parser.h"

#include <string.h>

enum { MAX_DEPTH = 150 };

static void append(SyntaxError *e, const char *text, size_t len)
{
    size_t used = strlen(e->message), room = sizeof e->message - 1 - used;
    if (len > room)
        len = room;
    memcpy(e->message + used, text, len);
    e->message[used + len] = '\0';
}

void parser_fail(Parser *ps, const char *message, const char *detail)
{
    if (!ps->failed) {
        SyntaxError *e = ps->error;
        e->line = ps->cur.line;
        e->message[0] = '\0';
        append(e, message, strlen(message));
        append(e, detail, strlen(detail));
    }
    ps->failed = true;
    ps->lx.p = ps->lx.end;
    ps->cur.kind = TOK_END;
}

void parser_advance(Parser *ps)
{
    ps->prev = ps->cur;
    ps->cur = lexer_next(&ps->lx);
    if (ps->cur.kind == TOK_ERROR)
        parser_fail(ps, ps->cur.text, "");
}

void parser_start(Parser *ps, Arena *arena, const char *source, size_t len, uint32_t line,
                  SyntaxError *error)
{
    memset(ps, 0, sizeof *ps);
    ps->arena = arena;
    ps->error = error;
    lexer_init(&ps->lx, source, len, line);
    parser_advance(ps);
}

bool parser_enter(Parser *ps)
{
    if (++ps->depth <= MAX_DEPTH)
        return true;
    parser_fail(ps, "nesting too deep", "");
    return false;
}

void parser_leave(Parser *ps)
{
    ps->depth--;
}

bool parser_check(const Parser *ps, TokenKind kind)
{
    return ps->cur.kind == kind;
}

bool parser_accept(Parser *ps, TokenKind kind)
{
    if (ps->cur.kind != kind)
        return false;
    parser_advance(ps);
    return true;
}

void parser_expect(Parser *ps, TokenKind kind)
{
    if (!parser_accept(ps, kind))
        parser_fail(ps, "expected ", token_name(kind));
}

Text parser_name(Parser *ps)
{
    Text name = {ps->cur.text, ps->cur.len};
    parser_expect(ps, TOK_NAME);
    return name;
}

Text parser_field_name(Parser *ps)
{
    if (ps->cur.kind >= TOK_AND && ps->cur.kind <= TOK_WHILE)
        ps->cur.kind = TOK_NAME;
    return parser_name(ps);
}
