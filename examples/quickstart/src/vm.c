#include "vm.h"

#include "code.h"
#include "compiler.h"
#include "map.h"
#include "ops.h"
#include "str.h"

#include "../rt/mem.h"
#include "../rt/num.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void vm_init(Vm *vm)
{
    memset(vm, 0, sizeof *vm);
    heap_init(&vm->heap);
    strtab_init(&vm->global_names);
    buf_init(&vm->out);
    buf_init(&vm->trace);
    vm->stack = rt_alloc_array(VM_STACK_VALUES, sizeof *vm->stack);
    vm->sp = vm->stack;
    vm->stack_limit = vm->stack + VM_STACK_VALUES - VM_STACK_SPARE;
    vm->frames = rt_alloc_array(VM_MAX_FRAMES, sizeof *vm->frames);
    vm->handlers = rt_alloc_array(VM_MAX_HANDLERS, sizeof *vm->handlers);
    vm->error = value_nil();
    for (int t = 0; t < TYPE_COUNT; t++)
        vm->methods[t] = map_new(&vm->heap);
}

void vm_free(Vm *vm)
{
    heap_free(&vm->heap);
    strtab_free(&vm->global_names);
    buf_free(&vm->out);
    buf_free(&vm->trace);
    rt_free(vm->stack);
    rt_free(vm->frames);
    rt_free(vm->handlers);
    rt_free(vm->globals);
}

void vm_flush(Vm *vm)
{
    if (vm->out.len > 0)
        fwrite(vm->out.data, 1, vm->out.len, stdout);
    fflush(stdout);
    buf_clear(&vm->out);
}

static void mark_roots(Vm *vm)
{
    Heap *heap = &vm->heap;
    for (const Value *v = vm->stack; v < vm->sp; v++)
        heap_mark(heap, *v);
    for (int i = 0; i < vm->depth; i++)
        heap_mark_object(heap, vm->frames[i].closure);
    for (Cell *c = vm->open_cells; c; c = c->next_open)
        heap_mark_object(heap, c);
    for (uint32_t i = 0; i < vm->global_count; i++)
        heap_mark(heap, vm->globals[i]);
    for (int t = 0; t < TYPE_COUNT; t++)
        heap_mark_object(heap, vm->methods[t]);
    for (int c = 0; c < 256; c++)
        heap_mark_object(heap, vm->chars[c]);
    heap_mark(heap, vm->error);
}

void vm_safe_point(Vm *vm)
{
    if (!heap_needs_collection(&vm->heap))
        return;
    mark_roots(vm);
    heap_trace(&vm->heap);
    heap_sweep(&vm->heap);
}

/* One line for each active function, the innermost first. */
static void record_trace(Vm *vm)
{
    buf_clear(&vm->trace);
    for (int i = vm->depth; i-- > 0 && vm->depth - i <= 10;) {
        const Frame *f = &vm->frames[i];
        const Proto *p = f->closure->proto;
        buf_puts(&vm->trace, "  at line ");
        num_put_int(&vm->trace, proto_line(p, (size_t)(f->ip - p->code) - 1));
        buf_puts(&vm->trace, " in ");
        buf_puts(&vm->trace, p->name->data);
        buf_putc(&vm->trace, '\n');
    }
}

bool vm_throw_value(Vm *vm, Value v)
{
    vm->error = v;
    record_trace(vm);
    return false;
}

bool vm_throw(Vm *vm, const char *format, ...)
{
    char message[200];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    return vm_throw_value(vm, value_object(str_from_cstr(&vm->heap, message)));
}

bool vm_compile(Vm *vm, const char *source, size_t len, Value *function)
{
    SyntaxError error;
    Proto *p = compile_program(&vm->heap, &vm->global_names, source, len, &error);
    vm_grow_globals(vm);
    if (!p)
        return vm_throw(vm, "syntax error in line %u: %s", (unsigned)error.line, error.message);
    *function = value_object(closure_new(&vm->heap, p));
    return true;
}

/* Drops the frames above `depth` and what they have on the stack from `sp` on. */
static void cut_back(Vm *vm, int depth, Value *sp)
{
    vm_close_cells(vm, sp);
    vm->sp = sp;
    vm->depth = depth;
    vm->frame = &vm->frames[depth - 1];
}

/* Goes on at the innermost catch block of the frames from `entry` up, if there is one. */
static bool unwind(Vm *vm, int entry)
{
    if (vm->handler_count == 0 || vm->handlers[vm->handler_count - 1].depth < entry)
        return false;
    const Handler *h = &vm->handlers[--vm->handler_count];
    cut_back(vm, h->depth, h->sp);
    vm->frame->ip = h->ip;
    vm_push(vm, vm->error);
    vm->error = value_nil();
    return true;
}

/* Runs the frame on top until it returns; false if it threw. */
static bool run(Vm *vm)
{
    int entry = vm->depth;
    Value *base = vm->frame->base;
    for (;;) {
        Step step;
        do {
            Frame *f = vm->frame;
            step = ops_table[*f->ip++](vm, f);
        } while (step == STEP_OK);
        if (step == STEP_DONE)
            return true;
        if (!unwind(vm, entry)) {
            cut_back(vm, entry - 1, base);
            return false;
        }
    }
}

bool vm_call(Vm *vm, Value callee, int argc, const Value *argv, Value *result)
{
    int depth = vm->depth;
    Value *sp = vm->sp;
    if (vm->native_depth >= VM_MAX_NATIVE_DEPTH)
        return vm_throw(vm, "calls nested too deeply");
    vm_push(vm, callee);
    for (int i = 0; i < argc; i++)
        vm_push(vm, argv[i]);
    if (!vm_begin_call(vm, argc)) {
        vm->sp = sp;
        return false;
    }
    if (vm->depth > depth) {
        vm->frame->entry = true;
        vm->native_depth++;
        bool ok = run(vm);
        vm->native_depth--;
        if (!ok)
            return false;
    }
    *result = vm_pop(vm);
    return true;
}
