/* Code for expressions: each leaves its value on the stack. */
#include "compiler.h"

typedef void (*ExprGenerator)(Compiler *c, const Expr *e);

static void gen_nil(Compiler *c, const Expr *e)
{
    (void)e;
    emit(c, OP_NIL);
}

static void gen_bool(Compiler *c, const Expr *e)
{
    emit(c, e->integer ? OP_TRUE : OP_FALSE);
}

static bool is_small(const Expr *e)
{
    return e->kind == EX_INT && e->integer >= -127 && e->integer <= 127;
}

static void gen_int(Compiler *c, const Expr *e)
{
    if (is_small(e))
        emit_byte(c, OP_SMALL_INT, (uint8_t)e->integer);
    else
        emit_constant(c, OP_CONST, value_int(e->integer));
}

static void gen_big(Compiler *c, const Expr *e)
{
    Big b;
    big_init(&b);
    big_parse(&b, e->text.data, e->text.len);
    emit_constant(c, OP_CONST, value_object(big_new(c->heap, &b)));
}

static void gen_float(Compiler *c, const Expr *e)
{
    emit_constant(c, OP_CONST, value_float(e->number));
}

static void gen_string(Compiler *c, const Expr *e)
{
    emit_text(c, OP_CONST, e->text);
}

static void gen_name(Compiler *c, const Expr *e)
{
    gen_get_name(c, e->text);
}

static size_t gen_each(Compiler *c, const ExprList *list)
{
    for (size_t i = 0; i < list->count; i++)
        gen_expr(c, list->items[i]);
    return list->count;
}

static void gen_template(Compiler *c, const Expr *e)
{
    size_t n = gen_each(c, &e->list);
    emit_byte(c, OP_JOIN, n);
}

static void gen_format(Compiler *c, const Expr *e)
{
    gen_expr(c, e->left);
    emit_text(c, OP_FORMAT, e->text);
}

static void gen_unary(Compiler *c, const Expr *e)
{
    gen_expr(c, e->left);
    emit(c, e->op == TOK_MINUS ? OP_NEG : e->op == TOK_NOT ? OP_NOT : OP_BIT_NOT);
}

Opcode binary_opcode(TokenKind op)
{
    static const uint8_t opcodes[TOK_COUNT] = {
        [TOK_PLUS] = OP_ADD,     [TOK_MINUS] = OP_SUB,        [TOK_STAR] = OP_MUL,
        [TOK_SLASH] = OP_DIV,    [TOK_SLASH_SLASH] = OP_IDIV, [TOK_PERCENT] = OP_MOD,
        [TOK_STAR_STAR] = OP_POW, [TOK_AMP] = OP_BIT_AND,     [TOK_BAR] = OP_BIT_OR,
        [TOK_CARET] = OP_BIT_XOR, [TOK_SHL] = OP_SHL,         [TOK_SHR] = OP_SHR,
        [TOK_EQ] = OP_EQ,        [TOK_NE] = OP_NE,            [TOK_LT] = OP_LT,
        [TOK_LE] = OP_LE,        [TOK_GT] = OP_GT,            [TOK_GE] = OP_GE,
        [TOK_IN] = OP_IN,
    };
    return (Opcode)opcodes[op];
}

static void gen_binary(Compiler *c, const Expr *e)
{
    gen_expr(c, e->left);
    bool sum = e->op == TOK_PLUS || e->op == TOK_MINUS;
    if (sum && is_small(e->right)) {
        int64_t n = e->op == TOK_PLUS ? e->right->integer : -e->right->integer;
        emit_byte(c, OP_ADD_INT, (uint8_t)n);
        return;
    }
    gen_expr(c, e->right);
    c->line = e->line;
    emit(c, binary_opcode(e->op));
}

/* `and`, `or`, `??`: the left value stays if it decides, otherwise the right one replaces it. */
static void gen_short_circuit(Compiler *c, const Expr *e, Opcode op)
{
    gen_expr(c, e->left);
    size_t end = emit_jump(c, op);
    emit(c, OP_POP);
    gen_expr(c, e->right);
    patch_jump(c, end);
}

static void gen_and(Compiler *c, const Expr *e)
{
    gen_short_circuit(c, e, OP_JUMP_AND);
}

static void gen_or(Compiler *c, const Expr *e)
{
    gen_short_circuit(c, e, OP_JUMP_OR);
}

static void gen_coalesce(Compiler *c, const Expr *e)
{
    gen_short_circuit(c, e, OP_JUMP_NOT_NIL);
}

static void gen_cond(Compiler *c, const Expr *e)
{
    gen_expr(c, e->third);
    size_t otherwise = emit_jump(c, OP_JUMP_FALSE);
    gen_expr(c, e->left);
    size_t end = emit_jump(c, OP_JUMP);
    patch_jump(c, otherwise);
    gen_expr(c, e->right);
    patch_jump(c, end);
}

static void gen_range(Compiler *c, const Expr *e)
{
    gen_expr(c, e->left);
    gen_expr(c, e->right);
    emit_byte(c, OP_RANGE, (size_t)e->integer);
}

static void gen_call(Compiler *c, const Expr *e)
{
    gen_expr(c, e->left);
    size_t argc = gen_each(c, &e->list);
    c->line = e->line;
    emit_byte(c, OP_CALL, argc);
}

static void gen_method(Compiler *c, const Expr *e)
{
    gen_expr(c, e->left);
    size_t argc = gen_each(c, &e->list);
    c->line = e->line;
    if (argc > 0xFF)
        compile_fail(c, "too many arguments");
    emit_text(c, OP_INVOKE, e->text);
    emit_raw(c, argc);
}

static void gen_field(Compiler *c, const Expr *e)
{
    gen_expr(c, e->left);
    emit_text(c, OP_GET_FIELD, e->text);
}

static void gen_index(Compiler *c, const Expr *e)
{
    gen_expr(c, e->left);
    gen_expr(c, e->right);
    c->line = e->line;
    emit(c, OP_GET_INDEX);
}

static void gen_optional(Compiler *c, const Expr *e)
{
    if (e)
        gen_expr(c, e);
    else
        emit(c, OP_NIL);
}

static void gen_slice(Compiler *c, const Expr *e)
{
    gen_expr(c, e->left);
    gen_optional(c, e->right);
    gen_optional(c, e->third);
    emit(c, OP_SLICE);
}

static void gen_list(Compiler *c, const Expr *e)
{
    size_t n = gen_each(c, &e->list);
    emit_word(c, OP_LIST, n);
}

static void gen_map(Compiler *c, const Expr *e)
{
    size_t n = gen_each(c, &e->list);
    emit_word(c, OP_MAP, n / 2);
}

void gen_function(Compiler *c, const Function *f)
{
    FnState fn;
    fn_begin(c, &fn, f->name.len > 0 ? f->name : (Text){"fn", 2});
    if (f->params.count >= MAX_LOCALS)
        compile_fail(c, "too many parameters");
    for (size_t i = 0; i < f->params.count && !c->failed; i++)
        scope_declare(c, f->params.items[i]);
    fn.proto->arity = (uint8_t)f->params.count;
    gen_body(c, &f->body);
    emit(c, OP_NIL);
    emit(c, OP_RETURN);
    Proto *p = fn_end(c);
    emit_constant(c, OP_CLOSURE, value_object(p));
}

static void gen_lambda(Compiler *c, const Expr *e)
{
    gen_function(c, e->function);
}

void gen_expr(Compiler *c, const Expr *e)
{
    static const ExprGenerator generators[] = {
        [EX_NIL] = gen_nil,           [EX_BOOL] = gen_bool,     [EX_INT] = gen_int,
        [EX_BIG] = gen_big,           [EX_FLOAT] = gen_float,   [EX_STRING] = gen_string,
        [EX_NAME] = gen_name,         [EX_TEMPLATE] = gen_template,
        [EX_FORMAT] = gen_format,     [EX_UNARY] = gen_unary,   [EX_BINARY] = gen_binary,
        [EX_AND] = gen_and,           [EX_OR] = gen_or,         [EX_COALESCE] = gen_coalesce,
        [EX_COND] = gen_cond,         [EX_RANGE] = gen_range,   [EX_CALL] = gen_call,
        [EX_METHOD] = gen_method,     [EX_FIELD] = gen_field,   [EX_INDEX] = gen_index,
        [EX_SLICE] = gen_slice,       [EX_LIST] = gen_list,     [EX_MAP] = gen_map,
        [EX_FUNCTION] = gen_lambda,
    };
    c->line = e->line;
    generators[e->kind](c, e);
}
