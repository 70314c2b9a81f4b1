/* The module `meta`: the stages of the compiler, as functions on source texts. */
#include "../src/code.h"
#include "../src/native.h"
#include "../src/parser.h"

static bool meta_compile(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    Str *source;
    return arg_str(vm, argv, 0, &source) && vm_compile(vm, source->data, source->len, result);
}

/* Compiles and runs a program; its value is that of a final expression. */
static bool meta_eval(Vm *vm, int argc, Value *argv, Value *result)
{
    Value function;
    return meta_compile(vm, argc, argv, &function) && vm_call(vm, function, 0, NULL, result);
}

/* The kinds of the tokens, up to the end or the first error. */
static bool meta_tokens(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    Str *source;
    Lexer lx;
    if (!arg_str(vm, argv, 0, &source))
        return false;
    List *list = list_new(&vm->heap, 0);
    lexer_init(&lx, source->data, source->len, 1);
    for (Token t = lexer_next(&lx); t.kind != TOK_END; t = lexer_next(&lx)) {
        Str *name = str_from_cstr(&vm->heap, token_name(t.kind));
        list_push(&vm->heap, list, value_object(name));
        if (t.kind == TOK_ERROR)
            break;
    }
    return give(result, value_object(list));
}

static bool meta_tree(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    Str *source;
    StmtList program = {NULL, 0, 0};
    SyntaxError error;
    Arena arena;
    Buf out;
    if (!arg_str(vm, argv, 0, &source))
        return false;
    arena_init(&arena);
    buf_init(&out);
    bool ok = parse_program(&arena, source->data, source->len, &program, &error);
    if (ok)
        ast_dump(&out, &program);
    arena_free(&arena);
    if (ok)
        return give_buf(vm, result, &out);
    return vm_throw(vm, "syntax error in line %u: %s", (unsigned)error.line, error.message);
}

static bool meta_listing(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    Buf out;
    if (!value_is(argv[0], OBJ_CLOSURE))
        return vm_throw(vm, "argument 1 must be a function of the program");
    buf_init(&out);
    proto_disassemble(AS_CLOSURE(argv[0])->proto, &out);
    return give_buf(vm, result, &out);
}

/* Number of collections so far and bytes in use. */
static bool meta_heap(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    (void)argv;
    Value pair[] = {value_int((int64_t)vm->heap.collections), value_int((int64_t)vm->heap.bytes)};
    return give(result, value_object(list_from(&vm->heap, pair, 2)));
}

void lib_meta(Vm *vm)
{
    static const NativeDef functions[] = {
        {"compile", meta_compile, 1, 1}, {"eval", meta_eval, 1, 1},
        {"tokens", meta_tokens, 1, 1},   {"tree", meta_tree, 1, 1},
        {"listing", meta_listing, 1, 1}, {"heap", meta_heap, 0, 0},
        {NULL, NULL, 0, 0},
    };
    vm_define_module(vm, "meta", functions);
}
