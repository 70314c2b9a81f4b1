/* Expressions, from the operators that bind least to primary expressions. */
#include "parser.h"

enum { MAX_LINKS = 4000 }; /* of a chain of operators, which makes a tree as deep */

typedef enum {
    BIND_NONE,
    BIND_PIPE,
    BIND_COALESCE,
    BIND_OR,
    BIND_AND,
    BIND_NOT,
    BIND_COMPARE,
    BIND_RANGE,
    BIND_BIT_OR,
    BIND_BIT_XOR,
    BIND_BIT_AND,
    BIND_SHIFT,
    BIND_SUM,
    BIND_PRODUCT,
    BIND_UNARY,
    BIND_POWER
} Binding;

static const uint8_t binding[TOK_COUNT] = {
    [TOK_PIPE_GT] = BIND_PIPE,    [TOK_QUESTION_2] = BIND_COALESCE,
    [TOK_OR] = BIND_OR,           [TOK_AND] = BIND_AND,
    [TOK_EQ] = BIND_COMPARE,      [TOK_NE] = BIND_COMPARE,
    [TOK_LT] = BIND_COMPARE,      [TOK_LE] = BIND_COMPARE,
    [TOK_GT] = BIND_COMPARE,      [TOK_GE] = BIND_COMPARE,
    [TOK_IN] = BIND_COMPARE,      [TOK_DOT_DOT] = BIND_RANGE,
    [TOK_DOT_DOT_EQ] = BIND_RANGE, [TOK_BAR] = BIND_BIT_OR,
    [TOK_CARET] = BIND_BIT_XOR,   [TOK_AMP] = BIND_BIT_AND,
    [TOK_SHL] = BIND_SHIFT,       [TOK_SHR] = BIND_SHIFT,
    [TOK_PLUS] = BIND_SUM,        [TOK_MINUS] = BIND_SUM,
    [TOK_STAR] = BIND_PRODUCT,    [TOK_SLASH] = BIND_PRODUCT,
    [TOK_SLASH_SLASH] = BIND_PRODUCT, [TOK_PERCENT] = BIND_PRODUCT,
    [TOK_STAR_STAR] = BIND_POWER,
};

static Expr *parse_binding(Parser *ps, Binding least);

static void parse_arguments(Parser *ps, ExprList *list, TokenKind close)
{
    while (!parser_check(ps, close) && !ps->failed) {
        ast_add_expr(ps->arena, list, parse_expr(ps));
        if (!parser_accept(ps, TOK_COMMA))
            break;
    }
    parser_expect(ps, close);
}

static Expr *parse_list(Parser *ps)
{
    Expr *e = ast_expr(ps->arena, EX_LIST, ps->prev.line);
    parse_arguments(ps, &e->list, TOK_RBRACKET);
    return e;
}

/* A name or a string stands for itself; other keys are in brackets. */
static Expr *parse_map_key(Parser *ps)
{
    if (parser_accept(ps, TOK_LBRACKET)) {
        Expr *key = parse_expr(ps);
        parser_expect(ps, TOK_RBRACKET);
        return key;
    }
    if (parser_accept(ps, TOK_STRING))
        return parse_string(ps, ps->prev);
    if (parser_accept(ps, TOK_INT))
        return parse_integer(ps, ps->prev);
    Expr *key = ast_expr(ps->arena, EX_STRING, ps->cur.line);
    key->text = parser_field_name(ps);
    return key;
}

static Expr *parse_map(Parser *ps)
{
    Expr *e = ast_expr(ps->arena, EX_MAP, ps->prev.line);
    while (!parser_check(ps, TOK_RBRACE) && !ps->failed) {
        ast_add_expr(ps->arena, &e->list, parse_map_key(ps));
        parser_expect(ps, TOK_COLON);
        ast_add_expr(ps->arena, &e->list, parse_expr(ps));
        if (!parser_accept(ps, TOK_COMMA))
            break;
    }
    parser_expect(ps, TOK_RBRACE);
    return e;
}

Expr *parse_function(Parser *ps, Text name, uint32_t line)
{
    Expr *e = ast_expr(ps->arena, EX_FUNCTION, line);
    Function *f = arena_alloc(ps->arena, sizeof *f);
    e->function = f;
    f->name = name;
    parser_expect(ps, TOK_LPAREN);
    while (!parser_check(ps, TOK_RPAREN) && !ps->failed) {
        ast_add_text(ps->arena, &f->params, parser_name(ps));
        if (!parser_accept(ps, TOK_COMMA))
            break;
    }
    parser_expect(ps, TOK_RPAREN);
    if (parser_accept(ps, TOK_ARROW)) {
        Stmt *s = ast_stmt(ps->arena, ST_RETURN, ps->cur.line);
        s->expr = parse_expr(ps);
        ast_add_stmt(ps->arena, &f->body, s);
    } else {
        parse_block(ps, &f->body);
    }
    return e;
}

static Expr *parse_constant(Parser *ps, ExprKind kind, int64_t value)
{
    Expr *e = ast_expr(ps->arena, kind, ps->prev.line);
    e->integer = value;
    return e;
}

static Expr *parse_name(Parser *ps)
{
    Expr *e = ast_expr(ps->arena, EX_NAME, ps->prev.line);
    e->text = (Text){ps->prev.text, ps->prev.len};
    return e;
}

static Expr *parse_group(Parser *ps)
{
    Expr *e = parse_expr(ps);
    parser_expect(ps, TOK_RPAREN);
    return e;
}

static Expr *parse_primary(Parser *ps)
{
    parser_advance(ps);
    switch (ps->prev.kind) {
    case TOK_NIL:
        return parse_constant(ps, EX_NIL, 0);
    case TOK_TRUE:
        return parse_constant(ps, EX_BOOL, 1);
    case TOK_FALSE:
        return parse_constant(ps, EX_BOOL, 0);
    case TOK_INT:
        return parse_integer(ps, ps->prev);
    case TOK_FLOAT:
        return parse_float(ps, ps->prev);
    case TOK_STRING:
        return parse_string(ps, ps->prev);
    case TOK_TEMPLATE:
        return parse_template(ps, ps->prev);
    case TOK_NAME:
        return parse_name(ps);
    case TOK_LPAREN:
        return parse_group(ps);
    case TOK_LBRACKET:
        return parse_list(ps);
    case TOK_LBRACE:
        return parse_map(ps);
    case TOK_FN:
        return parse_function(ps, (Text){"", 0}, ps->prev.line);
    default:
        parser_fail(ps, "expected an expression, not ", token_name(ps->prev.kind));
        return parse_constant(ps, EX_NIL, 0);
    }
}

/* x.name or x.name(...) */
static Expr *parse_member(Parser *ps, Expr *receiver)
{
    Expr *e = ast_expr(ps->arena, EX_FIELD, ps->cur.line);
    e->left = receiver;
    e->text = parser_field_name(ps);
    if (parser_accept(ps, TOK_LPAREN)) {
        e->kind = EX_METHOD;
        parse_arguments(ps, &e->list, TOK_RPAREN);
    }
    return e;
}

/* x[i], x[from:to], x[from:], x[:to] or x[:] */
static Expr *parse_subscript(Parser *ps, Expr *receiver)
{
    Expr *e = ast_expr(ps->arena, EX_INDEX, ps->cur.line);
    e->left = receiver;
    if (!parser_check(ps, TOK_COLON))
        e->right = parse_expr(ps);
    if (parser_accept(ps, TOK_COLON)) {
        e->kind = EX_SLICE;
        if (!parser_check(ps, TOK_RBRACKET))
            e->third = parse_expr(ps);
    }
    parser_expect(ps, TOK_RBRACKET);
    return e;
}

static Expr *parse_call(Parser *ps, Expr *callee)
{
    Expr *e = ast_expr(ps->arena, EX_CALL, ps->cur.line);
    e->left = callee;
    parse_arguments(ps, &e->list, TOK_RPAREN);
    return e;
}

static Expr *parse_postfix(Parser *ps)
{
    Expr *e = parse_primary(ps);
    for (int links = 0;; links++) {
        if (links == MAX_LINKS)
            parser_fail(ps, "expression too long", "");
        if (parser_accept(ps, TOK_LPAREN))
            e = parse_call(ps, e);
        else if (parser_accept(ps, TOK_LBRACKET))
            e = parse_subscript(ps, e);
        else if (parser_accept(ps, TOK_DOT))
            e = parse_member(ps, e);
        else
            return e;
    }
}

static Expr *parse_prefix(Parser *ps)
{
    TokenKind op = ps->cur.kind;
    if (op != TOK_MINUS && op != TOK_TILDE && op != TOK_NOT)
        return parse_postfix(ps);
    Expr *e = ast_expr(ps->arena, EX_UNARY, ps->cur.line);
    parser_advance(ps);
    e->op = op;
    e->left = parse_binding(ps, op == TOK_NOT ? BIND_NOT : BIND_UNARY);
    return ast_fold(e);
}

/* x |> f is f(x), and x |> f(y) is f(x, y). */
static Expr *make_pipe(Parser *ps, Expr *left, Expr *right)
{
    Expr *call = ast_expr(ps->arena, EX_CALL, right->line);
    call->left = right;
    ast_add_expr(ps->arena, &call->list, left);
    if (right->kind == EX_CALL || right->kind == EX_METHOD) {
        call->kind = right->kind;
        call->text = right->text;
        call->left = right->left;
        for (size_t i = 0; i < right->list.count; i++)
            ast_add_expr(ps->arena, &call->list, right->list.items[i]);
    }
    return call;
}

static Expr *make_binary(Parser *ps, TokenKind op, Expr *left, Expr *right)
{
    switch (op) {
    case TOK_PIPE_GT:
        return make_pipe(ps, left, right);
    case TOK_QUESTION_2:
        return ast_binary(ps->arena, EX_COALESCE, op, left, right);
    case TOK_AND:
        return ast_fold(ast_binary(ps->arena, EX_AND, op, left, right));
    case TOK_OR:
        return ast_fold(ast_binary(ps->arena, EX_OR, op, left, right));
    case TOK_DOT_DOT:
    case TOK_DOT_DOT_EQ: {
        Expr *e = ast_binary(ps->arena, EX_RANGE, op, left, right);
        e->integer = op == TOK_DOT_DOT_EQ;
        return e;
    }
    default:
        return ast_fold(ast_binary(ps->arena, EX_BINARY, op, left, right));
    }
}

/* Operators of at least the given binding; only ** associates to the right. */
static Expr *parse_binding(Parser *ps, Binding least)
{
    if (!parser_enter(ps))
        return parse_constant(ps, EX_NIL, 0);
    Expr *left = parse_prefix(ps);
    for (int links = 0;; links++) {
        if (links == MAX_LINKS)
            parser_fail(ps, "expression too long", "");
        TokenKind op = ps->cur.kind;
        Binding b = (Binding)binding[op];
        if (b == BIND_NONE || b < least)
            break;
        parser_advance(ps);
        Expr *right = parse_binding(ps, b == BIND_POWER ? b : b + 1);
        left = make_binary(ps, op, left, right);
    }
    parser_leave(ps);
    return left;
}

Expr *parse_expr(Parser *ps)
{
    Expr *e = parse_binding(ps, BIND_PIPE);
    if (!parser_accept(ps, TOK_QUESTION))
        return e;
    Expr *cond = ast_expr(ps->arena, EX_COND, e->line);
    cond->third = e;
    cond->left = parse_expr(ps);
    parser_expect(ps, TOK_COLON);
    cond->right = parse_expr(ps);
    return ast_fold(cond);
}
