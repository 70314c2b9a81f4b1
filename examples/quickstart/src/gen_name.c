/* Code for variables: reading, declaring and assigning. */
#include "compiler.h"

/* How a name is reached: opcodes to read and write it, and their operand. */
typedef struct {
    Opcode get, set;
    size_t operand;
} Place;

static Place resolve(Compiler *c, Text name)
{
    int local = scope_local(c->fn, name);
    if (local >= 0)
        return (Place){OP_GET_LOCAL, OP_SET_LOCAL, (size_t)local};
    int upvalue = scope_upvalue(c, c->fn, name);
    if (upvalue >= 0)
        return (Place){OP_GET_UPVALUE, OP_SET_UPVALUE, (size_t)upvalue};
    uint32_t number = strtab_add(c->globals, name.data, name.len);
    return (Place){OP_GET_GLOBAL, OP_SET_GLOBAL, number};
}

static void emit_access(Compiler *c, Opcode op, size_t operand)
{
    if (op == OP_GET_GLOBAL || op == OP_SET_GLOBAL)
        emit_word(c, op, operand);
    else
        emit_byte(c, op, operand);
}

void gen_get_name(Compiler *c, Text name)
{
    Place place = resolve(c, name);
    emit_access(c, place.get, place.operand);
}

void gen_declare(Compiler *c, Text name)
{
    const FnState *fn = c->fn;
    if (fn->outer || fn->depth > 0) {
        scope_declare(c, name); /* the value on the stack becomes the variable */
        return;
    }
    emit_word(c, OP_DEFINE_GLOBAL, strtab_add(c->globals, name.data, name.len));
}

static void gen_operation(Compiler *c, const Stmt *s)
{
    gen_expr(c, s->expr);
    if (s->op != TOK_ASSIGN)
        emit(c, binary_opcode(s->op));
}

static void assign_name(Compiler *c, const Stmt *s)
{
    Place place = resolve(c, s->target->text);
    if (s->op != TOK_ASSIGN)
        emit_access(c, place.get, place.operand);
    gen_operation(c, s);
    emit_access(c, place.set, place.operand);
}

static void assign_index(Compiler *c, const Stmt *s)
{
    gen_expr(c, s->target->left);
    gen_expr(c, s->target->right);
    if (s->op != TOK_ASSIGN) {
        emit(c, OP_DUP_2);
        emit(c, OP_GET_INDEX);
    }
    gen_operation(c, s);
    c->line = s->line;
    emit(c, OP_SET_INDEX);
}

static void assign_field(Compiler *c, const Stmt *s)
{
    gen_expr(c, s->target->left);
    if (s->op != TOK_ASSIGN) {
        emit(c, OP_DUP);
        emit_text(c, OP_GET_FIELD, s->target->text);
    }
    gen_operation(c, s);
    emit_text(c, OP_SET_FIELD, s->target->text);
}

void gen_assign(Compiler *c, const Stmt *s)
{
    switch (s->target->kind) {
    case EX_NAME:
        assign_name(c, s);
        break;
    case EX_INDEX:
        assign_index(c, s);
        break;
    default:
        assign_field(c, s);
        break;
    }
}
