/* Code for statements: each leaves the stack as it found it, but for declared locals. */
#include "compiler.h"

typedef void (*StmtGenerator)(Compiler *c, const Stmt *s);

static void gen_stmt(Compiler *c, const Stmt *s);

static const Text HIDDEN = {"", 0};

static void gen_all(Compiler *c, const StmtList *body)
{
    for (size_t i = 0; i < body->count; i++)
        gen_stmt(c, body->items[i]);
}

void gen_body(Compiler *c, const StmtList *body)
{
    scope_begin(c);
    gen_all(c, body);
    scope_end(c);
}

static void gen_expression(Compiler *c, const Stmt *s)
{
    gen_expr(c, s->expr);
    emit(c, OP_POP);
}

static void gen_let(Compiler *c, const Stmt *s)
{
    if (s->expr)
        gen_expr(c, s->expr);
    else
        emit(c, OP_NIL);
    gen_declare(c, s->name);
}

static void gen_block(Compiler *c, const Stmt *s)
{
    gen_body(c, &s->body);
}

/* Code that jumps if the condition is false; returns what to patch. */
static size_t gen_condition(Compiler *c, const Expr *e)
{
    if (e->kind == EX_BINARY && e->op == TOK_LT) {
        gen_expr(c, e->left);
        gen_expr(c, e->right);
        return emit_jump(c, OP_JUMP_NOT_LT);
    }
    gen_expr(c, e);
    return emit_jump(c, OP_JUMP_FALSE);
}

static void gen_if(Compiler *c, const Stmt *s)
{
    size_t otherwise = gen_condition(c, s->expr);
    gen_body(c, &s->body);
    if (s->other.count == 0) {
        patch_jump(c, otherwise);
        return;
    }
    size_t end = emit_jump(c, OP_JUMP);
    patch_jump(c, otherwise);
    gen_body(c, &s->other);
    patch_jump(c, end);
}

static void loop_begin(Compiler *c, Loop *loop)
{
    FnState *fn = c->fn;
    loop->outer = fn->loop;
    loop->start = fn->proto->code_len;
    loop->locals = fn->local_count;
    loop->try_depth = fn->try_depth;
    loop->break_count = 0;
    fn->loop = loop;
}

static void loop_end(Compiler *c, Loop *loop)
{
    for (int i = 0; i < loop->break_count; i++)
        patch_jump(c, loop->breaks[i]);
    c->fn->loop = loop->outer;
}

static void gen_while(Compiler *c, const Stmt *s)
{
    Loop loop;
    loop_begin(c, &loop);
    size_t end = gen_condition(c, s->expr);
    gen_body(c, &s->body);
    emit_loop(c, loop.start);
    patch_jump(c, end);
    loop_end(c, &loop);
}

/* Two hidden locals hold what is iterated over, and how far; ITERATE pushes the variables. */
static void gen_for(Compiler *c, const Stmt *s)
{
    Loop loop;
    scope_begin(c);
    gen_expr(c, s->expr);
    scope_declare(c, HIDDEN);
    emit_byte(c, OP_SMALL_INT, 0);
    scope_declare(c, HIDDEN);
    loop_begin(c, &loop);
    emit_byte(c, OP_ITERATE, (size_t)loop.locals - 2);
    emit_raw(c, s->name2.len > 0 ? 2 : 1);
    emit_raw(c, 0);
    emit_raw(c, 0);
    size_t end = c->fn->proto->code_len - 2;
    scope_begin(c);
    scope_declare(c, s->name);
    if (s->name2.len > 0)
        scope_declare(c, s->name2);
    gen_body(c, &s->body);
    scope_end(c);
    emit_loop(c, loop.start);
    patch_jump(c, end);
    loop_end(c, &loop);
    scope_end(c);
}

/* Leaves the try blocks and locals inside the loop, before a jump out of its body. */
static void leave_body(Compiler *c, const Loop *loop)
{
    for (int i = loop->try_depth; i < c->fn->try_depth; i++)
        emit(c, OP_END_TRY);
    scope_drop(c, loop->locals);
}

static void gen_break(Compiler *c, const Stmt *s)
{
    (void)s;
    Loop *loop = c->fn->loop;
    if (!loop) {
        compile_fail(c, "break outside a loop");
        return;
    }
    if (loop->break_count == MAX_BREAKS) {
        compile_fail(c, "too many breaks in a loop");
        return;
    }
    leave_body(c, loop);
    loop->breaks[loop->break_count++] = emit_jump(c, OP_JUMP);
}

static void gen_continue(Compiler *c, const Stmt *s)
{
    (void)s;
    const Loop *loop = c->fn->loop;
    if (!loop) {
        compile_fail(c, "continue outside a loop");
        return;
    }
    leave_body(c, loop);
    emit_loop(c, loop->start);
}

/* Tests the subject, in local `slot`, against each value of the case. */
static void gen_case(Compiler *c, const Case *k, size_t slot, size_t *end)
{
    size_t next = 0;
    for (size_t i = 0; i < k->values.count; i++) {
        emit_byte(c, OP_GET_LOCAL, slot);
        gen_expr(c, k->values.items[i]);
        emit(c, OP_EQ);
        if (i > 0) {
            /* The stack holds the result for the values before, then for this one. */
            emit(c, OP_BIT_OR);
        }
    }
    if (k->values.count > 0)
        next = emit_jump(c, OP_JUMP_FALSE);
    gen_body(c, &k->body);
    *end = emit_jump(c, OP_JUMP);
    if (k->values.count > 0)
        patch_jump(c, next);
}

static void gen_match(Compiler *c, const Stmt *s)
{
    scope_begin(c);
    gen_expr(c, s->expr);
    scope_declare(c, HIDDEN);
    size_t slot = (size_t)c->fn->local_count - 1, ends[MAX_BREAKS];
    if (s->cases.count > MAX_BREAKS)
        compile_fail(c, "too many cases");
    for (size_t i = 0; i < s->cases.count && !c->failed; i++)
        gen_case(c, &s->cases.items[i], slot, &ends[i]);
    for (size_t i = 0; i < s->cases.count && !c->failed; i++)
        patch_jump(c, ends[i]);
    scope_end(c);
}

/* A local function may refer to itself, so it is declared before its body is compiled. */
static void gen_fn(Compiler *c, const Stmt *s)
{
    if (c->fn->outer || c->fn->depth > 0) {
        emit(c, OP_NIL);
        gen_declare(c, s->name);
        size_t slot = (size_t)c->fn->local_count - 1;
        gen_function(c, s->expr->function);
        emit_byte(c, OP_SET_LOCAL, slot);
        return;
    }
    gen_function(c, s->expr->function);
    gen_declare(c, s->name);
}

static void gen_return(Compiler *c, const Stmt *s)
{
    if (s->expr)
        gen_expr(c, s->expr);
    else
        emit(c, OP_NIL);
    emit(c, OP_RETURN);
}

static void gen_try(Compiler *c, const Stmt *s)
{
    size_t handler = emit_jump(c, OP_TRY);
    c->fn->try_depth++;
    gen_body(c, &s->body);
    c->fn->try_depth--;
    emit(c, OP_END_TRY);
    size_t end = emit_jump(c, OP_JUMP);
    patch_jump(c, handler);
    scope_begin(c);
    scope_declare(c, s->name); /* the thrown value, which is on the stack */
    gen_all(c, &s->other);
    scope_end(c);
    patch_jump(c, end);
}

static void gen_throw(Compiler *c, const Stmt *s)
{
    gen_expr(c, s->expr);
    c->line = s->line;
    emit(c, OP_THROW);
}

static void gen_stmt(Compiler *c, const Stmt *s)
{
    static const StmtGenerator generators[] = {
        [ST_EXPR] = gen_expression, [ST_LET] = gen_let,       [ST_ASSIGN] = gen_assign,
        [ST_BLOCK] = gen_block,     [ST_IF] = gen_if,         [ST_WHILE] = gen_while,
        [ST_FOR] = gen_for,         [ST_MATCH] = gen_match,   [ST_FN] = gen_fn,
        [ST_RETURN] = gen_return,   [ST_BREAK] = gen_break,   [ST_CONTINUE] = gen_continue,
        [ST_TRY] = gen_try,         [ST_THROW] = gen_throw,
    };
    c->line = s->line;
    generators[s->kind](c, s);
}

void gen_program(Compiler *c, const StmtList *program)
{
    size_t n = program->count;
    const Stmt *last = n > 0 ? program->items[n - 1] : NULL;
    bool has_result = last && last->kind == ST_EXPR;
    for (size_t i = 0; i < n - has_result; i++)
        gen_stmt(c, program->items[i]);
    if (has_result)
        gen_expr(c, last->expr);
    else
        emit(c, OP_NIL);
    emit(c, OP_RETURN);
}
