/* Statements and whole programs. */
#include "parser.h"

static Stmt *parse_stmt(Parser *ps);

static void add(Parser *ps, StmtList *list, Stmt *s)
{
    ast_add_stmt(ps->arena, list, s);
}

void parse_block(Parser *ps, StmtList *body)
{
    parser_expect(ps, TOK_LBRACE);
    while (!parser_check(ps, TOK_RBRACE) && !ps->failed)
        add(ps, body, parse_stmt(ps));
    parser_expect(ps, TOK_RBRACE);
}

static void parse_let(Parser *ps, Stmt *s)
{
    s->kind = ST_LET;
    s->name = parser_name(ps);
    if (parser_accept(ps, TOK_ASSIGN))
        s->expr = parse_expr(ps);
    parser_expect(ps, TOK_SEMICOLON);
}

static void parse_if(Parser *ps, Stmt *s)
{
    s->kind = ST_IF;
    s->expr = parse_expr(ps);
    parse_block(ps, &s->body);
    if (parser_accept(ps, TOK_ELSE)) {
        if (parser_check(ps, TOK_IF))
            add(ps, &s->other, parse_stmt(ps));
        else
            parse_block(ps, &s->other);
    }
}

static void parse_while(Parser *ps, Stmt *s)
{
    s->kind = ST_WHILE;
    s->expr = parse_expr(ps);
    parse_block(ps, &s->body);
}

static void parse_for(Parser *ps, Stmt *s)
{
    s->kind = ST_FOR;
    s->name = parser_name(ps);
    if (parser_accept(ps, TOK_COMMA))
        s->name2 = parser_name(ps);
    parser_expect(ps, TOK_IN);
    s->expr = parse_expr(ps);
    parse_block(ps, &s->body);
}

/* The values before '=>'; a single underscore marks the default case. */
static void parse_case_values(Parser *ps, Case *c)
{
    if (parser_check(ps, TOK_NAME) && ps->cur.len == 1 && ps->cur.text[0] == '_') {
        parser_advance(ps);
        return;
    }
    do
        ast_add_expr(ps->arena, &c->values, parse_expr(ps));
    while (parser_accept(ps, TOK_COMMA));
}

static void parse_match(Parser *ps, Stmt *s)
{
    s->kind = ST_MATCH;
    s->expr = parse_expr(ps);
    parser_expect(ps, TOK_LBRACE);
    while (!parser_check(ps, TOK_RBRACE) && !ps->failed) {
        Case *c = ast_add_case(ps->arena, &s->cases);
        parse_case_values(ps, c);
        parser_expect(ps, TOK_ARROW);
        if (parser_check(ps, TOK_LBRACE))
            parse_block(ps, &c->body);
        else
            add(ps, &c->body, parse_stmt(ps));
    }
    parser_expect(ps, TOK_RBRACE);
}

static void parse_try(Parser *ps, Stmt *s)
{
    s->kind = ST_TRY;
    parse_block(ps, &s->body);
    parser_expect(ps, TOK_CATCH);
    s->name = parser_name(ps);
    parse_block(ps, &s->other);
}

static void parse_fn(Parser *ps, Stmt *s)
{
    s->kind = ST_FN;
    s->name = parser_name(ps);
    s->expr = parse_function(ps, s->name, s->line);
}

static void parse_return(Parser *ps, Stmt *s)
{
    s->kind = ST_RETURN;
    if (!parser_check(ps, TOK_SEMICOLON))
        s->expr = parse_expr(ps);
    parser_expect(ps, TOK_SEMICOLON);
}

static void parse_throw(Parser *ps, Stmt *s)
{
    s->kind = ST_THROW;
    s->expr = parse_expr(ps);
    parser_expect(ps, TOK_SEMICOLON);
}

static void parse_break(Parser *ps, Stmt *s)
{
    s->kind = ST_BREAK;
    parser_expect(ps, TOK_SEMICOLON);
}

static void parse_continue(Parser *ps, Stmt *s)
{
    s->kind = ST_CONTINUE;
    parser_expect(ps, TOK_SEMICOLON);
}

/* The binary operator of a compound assignment, TOK_ASSIGN for '=', or TOK_END. */
static TokenKind assignment_operator(TokenKind kind)
{
    switch (kind) {
    case TOK_ASSIGN:
        return TOK_ASSIGN;
    case TOK_PLUS_EQ:
        return TOK_PLUS;
    case TOK_MINUS_EQ:
        return TOK_MINUS;
    case TOK_STAR_EQ:
        return TOK_STAR;
    case TOK_SLASH_EQ:
        return TOK_SLASH;
    case TOK_SLASH_SLASH_EQ:
        return TOK_SLASH_SLASH;
    case TOK_PERCENT_EQ:
        return TOK_PERCENT;
    default:
        return TOK_END;
    }
}

static void parse_simple(Parser *ps, Stmt *s)
{
    s->expr = parse_expr(ps);
    s->op = assignment_operator(ps->cur.kind);
    if (s->op != TOK_END) {
        ExprKind k = s->expr->kind;
        if (k != EX_NAME && k != EX_INDEX && k != EX_FIELD)
            parser_fail(ps, "cannot assign to this expression", "");
        parser_advance(ps);
        s->kind = ST_ASSIGN;
        s->target = s->expr;
        s->expr = parse_expr(ps);
    }
    /* The final expression of a program, its result, may go without a semicolon. */
    if (!parser_check(ps, TOK_END))
        parser_expect(ps, TOK_SEMICOLON);
}

/* A declaration, as opposed to an anonymous function that begins an expression. */
static bool at_named_function(const Parser *ps)
{
    Lexer ahead = ps->lx;
    return parser_check(ps, TOK_FN) && lexer_next(&ahead).kind == TOK_NAME;
}

typedef void (*StmtParser)(Parser *ps, Stmt *s);

/* Parsers for what follows the keyword. */
static const StmtParser by_keyword[TOK_COUNT] = {
    [TOK_LET] = parse_let,       [TOK_IF] = parse_if,
    [TOK_WHILE] = parse_while,   [TOK_FOR] = parse_for,
    [TOK_MATCH] = parse_match,   [TOK_TRY] = parse_try,
    [TOK_RETURN] = parse_return, [TOK_THROW] = parse_throw,
    [TOK_BREAK] = parse_break,   [TOK_CONTINUE] = parse_continue,
};

static void parse_any(Parser *ps, Stmt *s)
{
    StmtParser parser = by_keyword[ps->cur.kind];
    if (at_named_function(ps))
        parser = parse_fn;
    if (parser) {
        parser_advance(ps);
        parser(ps, s);
        return;
    }
    if (!parser_check(ps, TOK_LBRACE)) {
        parse_simple(ps, s);
        return;
    }
    s->kind = ST_BLOCK;
    parse_block(ps, &s->body);
}

static Stmt *parse_stmt(Parser *ps)
{
    Stmt *s = ast_stmt(ps->arena, ST_EXPR, ps->cur.line);
    if (parser_enter(ps))
        parse_any(ps, s);
    parser_leave(ps);
    return s;
}

bool parse_program(Arena *arena, const char *source, size_t len, StmtList *program,
                   SyntaxError *error)
{
    Parser ps;
    parser_start(&ps, arena, source, len, 1, error);
    while (!parser_check(&ps, TOK_END) && !ps.failed)
        add(&ps, program, parse_stmt(&ps));
    return !ps.failed;
}
