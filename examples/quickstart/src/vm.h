/*
 * The virtual machine: a stack machine in which every opcode is a function of
 * its own (the ops_*.c files), called through a table.
 */
#ifndef QS_VM_H
#define QS_VM_H

#include "object.h"

#include "../rt/buf.h"
#include "../rt/strtab.h"

enum {
    VM_STACK_VALUES = 96 * 1024,
    VM_STACK_SPARE = 64, /* values that a native function may push */
    VM_MAX_FRAMES = 2000,
    VM_MAX_HANDLERS = 500,
    VM_MAX_NATIVE_DEPTH = 150 /* native functions that call back into the machine */
};

typedef struct {
    Closure *closure;
    const uint8_t *ip;
    Value *base; /* slot 0: the function; then its locals */
    bool entry;  /* called from C: returning leaves vm_run */
} Frame;

/* An active try block. */
typedef struct {
    int depth; /* frames below and including its own */
    Value *sp;
    const uint8_t *ip; /* of the catch block */
} Handler;

struct Vm {
    Value *sp; /* the first free slot of the stack */
    Frame *frame;
    int depth; /* frames in use; frame == &frames[depth - 1] */
    int native_depth;
    Value *stack, *stack_limit;
    Frame *frames;
    Handler *handlers;
    int handler_count;
    Cell *open_cells; /* by decreasing stack address */
    Value *globals;   /* by number in global_names */
    uint32_t global_count;
    Strtab global_names;
    Map *methods[TYPE_COUNT];
    Str *chars[256]; /* one-byte strings, made when first needed */
    Value error;     /* what was thrown and not caught yet */
    Buf trace;       /* where */
    Buf out;         /* standard output */
    Heap heap;
};

/* What an instruction did. */
typedef enum { STEP_OK, STEP_DONE, STEP_ERROR } Step;

void vm_init(Vm *vm);
void vm_free(Vm *vm);
void vm_flush(Vm *vm);

/* Compiles a program to a function; throws the syntax error if it fails. */
bool vm_compile(Vm *vm, const char *source, size_t len, Value *function);

/* Calls a function with arguments; false if it threw. */
bool vm_call(Vm *vm, Value callee, int argc, const Value *argv, Value *result);

/* Throws an error message; always false, for `return vm_throw(...)`. */
#ifdef __GNUC__
__attribute__((format(printf, 2, 3)))
#endif
bool vm_throw(Vm *vm, const char *format, ...);
bool vm_throw_value(Vm *vm, Value v);

/* Collects garbage if that is due.  Every live object must be reachable from the machine. */
void vm_safe_point(Vm *vm);

void vm_set_global(Vm *vm, const char *name, Value v);

/* Arrays of definitions end with a NULL name. */
void vm_define_functions(Vm *vm, const NativeDef *defs);
void vm_define_module(Vm *vm, const char *name, const NativeDef *defs);
void vm_define_methods(Vm *vm, Type type, const NativeDef *defs);

/* The native method of a value by its type; false if there is none of that name. */
bool vm_find_method(const Vm *vm, Value receiver, Value name, Value *method);
Str *vm_char(Vm *vm, unsigned char c);

/* For the ops_*.c files: starts a call of sp[-argc-1]; natives return before this does. */
bool vm_begin_call(Vm *vm, int argc);
Cell *vm_capture(Vm *vm, Value *at);
void vm_close_cells(Vm *vm, const Value *from);
void vm_grow_globals(Vm *vm);

static inline void vm_push(Vm *vm, Value v)
{
    *vm->sp++ = v;
}

static inline Value vm_pop(Vm *vm)
{
    return *--vm->sp;
}

static inline size_t read_byte(Frame *f)
{
    return *f->ip++;
}

static inline size_t read_word(Frame *f)
{
    f->ip += 2;
    return (size_t)f->ip[-2] << 8 | f->ip[-1];
}

static inline Value read_constant(Frame *f)
{
    return f->closure->proto->constants[read_word(f)];
}

#endif
