/* Syntax tree -> bytecode. */
#ifndef QS_COMPILER_H
#define QS_COMPILER_H

#include "code.h"
#include "parser.h"

#include "../rt/strtab.h"

/*
 * The program as a function without parameters, which returns the value of a
 * final expression statement.  Names declared at the top level are global; they
 * get numbers in `globals`.  NULL and *error if the source is malformed.
 */
Proto *compile_program(Heap *heap, Strtab *globals, const char *source, size_t len,
                       SyntaxError *error);

/* What follows is shared by scope.c, emit.c and the gen_*.c files. */

enum { MAX_LOCALS = 250, MAX_UPVALUES = 250, MAX_BREAKS = 64 };

typedef struct {
    Text name; /* empty for a hidden variable */
    int depth;
    bool captured;
} Local;

/* An enclosing loop of the statement being compiled. */
typedef struct Loop {
    struct Loop *outer;
    size_t start;   /* where `continue` goes */
    int locals;     /* number of locals that outlive an iteration */
    int try_depth;
    size_t breaks[MAX_BREAKS]; /* jumps to the end of the loop */
    int break_count;
} Loop;

/* A function being compiled. */
typedef struct FnState {
    struct FnState *outer;
    Proto *proto;
    Local locals[MAX_LOCALS];
    int local_count;
    UpvalueRef upvalues[MAX_UPVALUES];
    int upvalue_count;
    int depth; /* of blocks */
    int try_depth;
    Loop *loop;
} FnState;

typedef struct {
    Heap *heap;
    Strtab *globals;
    FnState *fn;
    SyntaxError *error;
    bool failed;
    uint32_t line;
} Compiler;

void compile_fail(Compiler *c, const char *message);

/* scope.c */
void fn_begin(Compiler *c, FnState *fn, Text name);
Proto *fn_end(Compiler *c);
void scope_begin(Compiler *c);
void scope_end(Compiler *c);
void scope_drop(Compiler *c, int count); /* code to leave only `count` locals on the stack */
void scope_declare(Compiler *c, Text name);
int scope_local(const FnState *fn, Text name);     /* -1 if there is none */
int scope_upvalue(Compiler *c, FnState *fn, Text name); /* -1 if there is none */

/* emit.c */
void emit(Compiler *c, Opcode op);
void emit_byte(Compiler *c, Opcode op, size_t operand);
void emit_word(Compiler *c, Opcode op, size_t operand);
void emit_raw(Compiler *c, size_t byte);
void emit_constant(Compiler *c, Opcode op, Value v);
void emit_text(Compiler *c, Opcode op, Text text); /* a string constant */
size_t emit_jump(Compiler *c, Opcode op); /* forward: returns what to patch */
void patch_jump(Compiler *c, size_t at);  /* to here */
void emit_loop(Compiler *c, size_t start);

/* gen_expr.c, gen_name.c, gen_stmt.c */
void gen_expr(Compiler *c, const Expr *e);
void gen_function(Compiler *c, const Function *f);
Opcode binary_opcode(TokenKind op);
void gen_get_name(Compiler *c, Text name);
void gen_declare(Compiler *c, Text name); /* binds the value on top of the stack */
void gen_assign(Compiler *c, const Stmt *s);
void gen_body(Compiler *c, const StmtList *body); /* in a scope of its own */
void gen_program(Compiler *c, const StmtList *program);

#endif
