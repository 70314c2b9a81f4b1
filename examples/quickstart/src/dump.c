/* Printing of syntax trees, declared in ast.h. */
#include "ast.h"

#include "../rt/num.h"

static void put_expr(Buf *out, const Expr *e);
static void put_stmt(Buf *out, const Stmt *s);

static void put_text(Buf *out, Text t)
{
    buf_write(out, t.data, t.len);
}

static void put_exprs(Buf *out, const ExprList *list)
{
    for (size_t i = 0; i < list->count; i++) {
        buf_putc(out, ' ');
        put_expr(out, list->items[i]);
    }
}

static void put_body(Buf *out, const char *label, const StmtList *body)
{
    buf_puts(out, " (");
    buf_puts(out, label);
    for (size_t i = 0; i < body->count; i++) {
        buf_putc(out, ' ');
        put_stmt(out, body->items[i]);
    }
    buf_putc(out, ')');
}

static void put_operand(Buf *out, const Expr *e)
{
    if (!e)
        return;
    buf_putc(out, ' ');
    put_expr(out, e);
}

static void put_function(Buf *out, const Function *f)
{
    buf_puts(out, "(fn ");
    put_text(out, f->name);
    buf_putc(out, '(');
    for (size_t i = 0; i < f->params.count; i++) {
        if (i > 0)
            buf_putc(out, ' ');
        put_text(out, f->params.items[i]);
    }
    buf_putc(out, ')');
    put_body(out, "do", &f->body);
    buf_putc(out, ')');
}

static const char *expr_label(const Expr *e)
{
    switch (e->kind) {
    case EX_TEMPLATE:
        return "template";
    case EX_FORMAT:
        return "format";
    case EX_AND:
        return "and";
    case EX_OR:
        return "or";
    case EX_COALESCE:
        return "??";
    case EX_COND:
        return "?:";
    case EX_RANGE:
        return e->integer ? "..=" : "..";
    case EX_CALL:
        return "call";
    case EX_METHOD:
        return "method";
    case EX_FIELD:
        return "field";
    case EX_INDEX:
        return "index";
    case EX_SLICE:
        return "slice";
    case EX_LIST:
        return "list";
    case EX_MAP:
        return "map";
    default:
        return token_name(e->op);
    }
}

static bool put_atom(Buf *out, const Expr *e)
{
    switch (e->kind) {
    case EX_NIL:
        buf_puts(out, "nil");
        return true;
    case EX_BOOL:
        buf_puts(out, e->integer ? "true" : "false");
        return true;
    case EX_INT:
        num_put_int(out, e->integer);
        return true;
    case EX_FLOAT:
        num_put_float(out, e->number);
        return true;
    case EX_BIG:
    case EX_NAME:
        put_text(out, e->text);
        return true;
    case EX_STRING:
        buf_putc(out, '"');
        put_text(out, e->text);
        buf_putc(out, '"');
        return true;
    case EX_FUNCTION:
        put_function(out, e->function);
        return true;
    default:
        return false;
    }
}

static void put_expr(Buf *out, const Expr *e)
{
    if (put_atom(out, e))
        return;
    buf_putc(out, '(');
    buf_puts(out, expr_label(e));
    if (e->text.len > 0) {
        buf_putc(out, ' ');
        put_text(out, e->text);
    }
    put_operand(out, e->left);
    put_operand(out, e->right);
    put_operand(out, e->third);
    put_exprs(out, &e->list);
    buf_putc(out, ')');
}

static void put_cases(Buf *out, const CaseList *cases)
{
    for (size_t i = 0; i < cases->count; i++) {
        buf_puts(out, " (case");
        put_exprs(out, &cases->items[i].values);
        put_body(out, "do", &cases->items[i].body);
        buf_putc(out, ')');
    }
}

static void put_stmt(Buf *out, const Stmt *s)
{
    static const char *const labels[] = {
        "expr", "let",   "set",    "block", "if",       "while", "for",
        "match", "fn",   "return", "break", "continue", "try",   "throw",
    };
    buf_putc(out, '(');
    buf_puts(out, labels[s->kind]);
    if (s->kind == ST_ASSIGN && s->op != TOK_ASSIGN)
        buf_puts(out, token_name(s->op));
    if (s->name.len > 0) {
        buf_putc(out, ' ');
        put_text(out, s->name);
    }
    if (s->name2.len > 0) {
        buf_putc(out, ' ');
        put_text(out, s->name2);
    }
    put_operand(out, s->target);
    put_operand(out, s->expr);
    put_cases(out, &s->cases);
    if (s->body.count > 0)
        put_body(out, "do", &s->body);
    if (s->other.count > 0)
        put_body(out, "else", &s->other);
    buf_putc(out, ')');
}

void ast_dump(Buf *out, const StmtList *program)
{
    for (size_t i = 0; i < program->count; i++) {
        put_stmt(out, program->items[i]);
        buf_putc(out, '\n');
    }
}
