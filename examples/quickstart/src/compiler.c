/* Drives the stages of compilation; see compiler.h. */
#include "compiler.h"

#include <string.h>

void compile_fail(Compiler *c, const char *message)
{
    if (c->failed)
        return;
    c->failed = true;
    c->error->line = c->line;
    strncpy(c->error->message, message, sizeof c->error->message - 1);
    c->error->message[sizeof c->error->message - 1] = '\0';
}

static Proto *generate(Compiler *c, const StmtList *program)
{
    FnState main;
    fn_begin(c, &main, (Text){"main", 4});
    gen_program(c, program);
    return fn_end(c);
}

Proto *compile_program(Heap *heap, Strtab *globals, const char *source, size_t len,
                       SyntaxError *error)
{
    Arena arena;
    StmtList program = {NULL, 0, 0};
    Compiler c = {.heap = heap, .globals = globals, .error = error};
    Proto *proto = NULL;
    arena_init(&arena);
    if (parse_program(&arena, source, len, &program, error))
        proto = generate(&c, &program);
    arena_free(&arena);
    return c.failed ? NULL : proto;
}
