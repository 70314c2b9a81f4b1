/* Constant folding, declared in ast.h.  The parser folds as it builds, bottom up. */
#include "ast.h"

static Expr *to_int(Expr *e, int64_t value)
{
    e->kind = EX_INT;
    e->integer = value;
    e->left = e->right = NULL;
    return e;
}

static Expr *to_float(Expr *e, double value)
{
    e->kind = EX_FLOAT;
    e->number = value;
    e->left = e->right = NULL;
    return e;
}

static Expr *to_bool(Expr *e, bool value)
{
    e->kind = EX_BOOL;
    e->integer = value;
    e->left = e->right = NULL;
    return e;
}

/* Results that overflow are left to run time, which goes on with big integers. */
static Expr *fold_integers(Expr *e, int64_t a, int64_t b)
{
    int64_t r;
    switch (e->op) {
    case TOK_PLUS:
        return __builtin_add_overflow(a, b, &r) ? e : to_int(e, r);
    case TOK_MINUS:
        return __builtin_sub_overflow(a, b, &r) ? e : to_int(e, r);
    case TOK_STAR:
        return __builtin_mul_overflow(a, b, &r) ? e : to_int(e, r);
    case TOK_AMP:
        return to_int(e, a & b);
    case TOK_BAR:
        return to_int(e, a | b);
    case TOK_CARET:
        return to_int(e, a ^ b);
    case TOK_EQ:
        return to_bool(e, a == b);
    case TOK_NE:
        return to_bool(e, a != b);
    case TOK_LT:
        return to_bool(e, a < b);
    case TOK_LE:
        return to_bool(e, a <= b);
    case TOK_GT:
        return to_bool(e, a > b);
    case TOK_GE:
        return to_bool(e, a >= b);
    default:
        return e;
    }
}

static Expr *fold_floats(Expr *e, double a, double b)
{
    switch (e->op) {
    case TOK_PLUS:
        return to_float(e, a + b);
    case TOK_MINUS:
        return to_float(e, a - b);
    case TOK_STAR:
        return to_float(e, a * b);
    default:
        return e;
    }
}

static Expr *fold_unary(Expr *e)
{
    const Expr *x = e->left;
    int64_t r;
    if (e->op == TOK_MINUS && x->kind == EX_INT)
        return __builtin_sub_overflow((int64_t)0, x->integer, &r) ? e : to_int(e, r);
    if (e->op == TOK_MINUS && x->kind == EX_FLOAT)
        return to_float(e, -x->number);
    if (e->op == TOK_TILDE && x->kind == EX_INT)
        return to_int(e, ~x->integer);
    if (e->op == TOK_NOT && x->kind == EX_BOOL)
        return to_bool(e, !x->integer);
    return e;
}

static bool is_constant(const Expr *e)
{
    return e->kind == EX_NIL || e->kind == EX_BOOL || e->kind == EX_INT || e->kind == EX_FLOAT ||
           e->kind == EX_STRING;
}

static bool is_true(const Expr *e)
{
    return e->kind != EX_NIL && (e->kind != EX_BOOL || e->integer);
}

Expr *ast_fold(Expr *e)
{
    switch (e->kind) {
    case EX_UNARY:
        return fold_unary(e);
    case EX_BINARY:
        if (e->left->kind == EX_INT && e->right->kind == EX_INT)
            return fold_integers(e, e->left->integer, e->right->integer);
        if (e->left->kind == EX_FLOAT && e->right->kind == EX_FLOAT)
            return fold_floats(e, e->left->number, e->right->number);
        return e;
    case EX_AND:
        return !is_constant(e->left) ? e : is_true(e->left) ? e->right : e->left;
    case EX_OR:
        return !is_constant(e->left) ? e : is_true(e->left) ? e->left : e->right;
    case EX_COND:
        return !is_constant(e->third) ? e : is_true(e->third) ? e->left : e->right;
    default:
        return e;
    }
}
