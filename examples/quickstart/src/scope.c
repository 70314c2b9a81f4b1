/* Functions, blocks and variables during compilation; see compiler.h. */
#include "compiler.h"
#include "str.h"

#include "../rt/mem.h"

#include <string.h>

static bool same(Text a, Text b)
{
    return a.len == b.len && memcmp(a.data, b.data, a.len) == 0;
}

void fn_begin(Compiler *c, FnState *fn, Text name)
{
    fn->outer = c->fn;
    fn->proto = proto_new(c->heap, str_new(c->heap, name.data, name.len));
    fn->local_count = 0;
    fn->upvalue_count = 0;
    fn->depth = 0;
    fn->try_depth = 0;
    fn->loop = NULL;
    c->fn = fn;
    scope_declare(c, (Text){"", 0}); /* slot 0 holds the function itself */
}

Proto *fn_end(Compiler *c)
{
    FnState *fn = c->fn;
    Proto *p = fn->proto;
    size_t n = (size_t)fn->upvalue_count;
    p->upvalue_count = (uint8_t)n;
    if (n > 0) {
        p->upvalues = rt_alloc_array(n, sizeof *p->upvalues);
        memcpy(p->upvalues, fn->upvalues, n * sizeof *p->upvalues);
    }
    proto_finish(c->heap, p);
    c->fn = fn->outer;
    return p;
}

void scope_begin(Compiler *c)
{
    c->fn->depth++;
}

void scope_drop(Compiler *c, int count)
{
    const FnState *fn = c->fn;
    bool captured = false;
    for (int i = count; i < fn->local_count; i++)
        captured |= fn->locals[i].captured;
    if (captured)
        emit_byte(c, OP_CLOSE_CELLS, (size_t)count);
    if (fn->local_count - count == 1)
        emit(c, OP_POP);
    else if (fn->local_count > count)
        emit_byte(c, OP_POP_N, (size_t)(fn->local_count - count));
}

void scope_end(Compiler *c)
{
    FnState *fn = c->fn;
    int count = fn->local_count;
    while (count > 0 && fn->locals[count - 1].depth == fn->depth)
        count--;
    scope_drop(c, count);
    fn->local_count = count;
    fn->depth--;
}

void scope_declare(Compiler *c, Text name)
{
    FnState *fn = c->fn;
    if (fn->local_count == MAX_LOCALS) {
        compile_fail(c, "too many local variables");
        return;
    }
    for (int i = fn->local_count; i-- > 0 && fn->locals[i].depth == fn->depth;)
        if (name.len > 0 && same(fn->locals[i].name, name))
            compile_fail(c, "variable declared twice in a block");
    fn->locals[fn->local_count++] = (Local){name, fn->depth, false};
}

int scope_local(const FnState *fn, Text name)
{
    for (int i = fn->local_count; i-- > 0;)
        if (same(fn->locals[i].name, name))
            return i;
    return -1;
}

static int add_upvalue(Compiler *c, FnState *fn, int index, bool from_local)
{
    for (int i = 0; i < fn->upvalue_count; i++)
        if (fn->upvalues[i].index == index && fn->upvalues[i].from_local == from_local)
            return i;
    if (fn->upvalue_count == MAX_UPVALUES) {
        compile_fail(c, "too many captured variables");
        return 0;
    }
    fn->upvalues[fn->upvalue_count] = (UpvalueRef){(uint8_t)index, from_local};
    return fn->upvalue_count++;
}

int scope_upvalue(Compiler *c, FnState *fn, Text name)
{
    if (!fn->outer)
        return -1;
    int local = scope_local(fn->outer, name);
    if (local >= 0) {
        fn->outer->locals[local].captured = true;
        return add_upvalue(c, fn, local, true);
    }
    int upvalue = scope_upvalue(c, fn->outer, name);
    return upvalue < 0 ? -1 : add_upvalue(c, fn, upvalue, false);
}
