/* Instructions that move values: constants, locals, globals, captured variables. */
#include "ops.h"

const OpHandler ops_table[OP_COUNT] = {
#define ENTRY(name, operands) op_##name,
    OPCODES(ENTRY)
#undef ENTRY
};

Step op_CONST(Vm *vm, Frame *f)
{
    vm_push(vm, read_constant(f));
    return STEP_OK;
}

Step op_NIL(Vm *vm, Frame *f)
{
    (void)f;
    vm_push(vm, value_nil());
    return STEP_OK;
}

Step op_TRUE(Vm *vm, Frame *f)
{
    (void)f;
    vm_push(vm, value_bool(true));
    return STEP_OK;
}

Step op_FALSE(Vm *vm, Frame *f)
{
    (void)f;
    vm_push(vm, value_bool(false));
    return STEP_OK;
}

Step op_SMALL_INT(Vm *vm, Frame *f)
{
    vm_push(vm, value_int((int8_t)read_byte(f)));
    return STEP_OK;
}

Step op_POP(Vm *vm, Frame *f)
{
    (void)f;
    vm->sp--;
    return STEP_OK;
}

Step op_POP_N(Vm *vm, Frame *f)
{
    vm->sp -= read_byte(f);
    return STEP_OK;
}

Step op_DUP(Vm *vm, Frame *f)
{
    (void)f;
    vm_push(vm, vm->sp[-1]);
    return STEP_OK;
}

Step op_DUP_2(Vm *vm, Frame *f)
{
    (void)f;
    vm_push(vm, vm->sp[-2]);
    vm_push(vm, vm->sp[-2]);
    return STEP_OK;
}

Step op_GET_LOCAL(Vm *vm, Frame *f)
{
    vm_push(vm, f->base[read_byte(f)]);
    return STEP_OK;
}

Step op_SET_LOCAL(Vm *vm, Frame *f)
{
    f->base[read_byte(f)] = vm_pop(vm);
    return STEP_OK;
}

static Step undefined(Vm *vm, size_t number)
{
    const StrtabEntry *e = &vm->global_names.entries[number];
    return step_from(vm_throw(vm, "undefined variable %.*s", (int)e->len, e->text));
}

Step op_GET_GLOBAL(Vm *vm, Frame *f)
{
    size_t number = read_word(f);
    Value v = vm->globals[number];
    if (v.tag == VAL_UNDEFINED)
        return undefined(vm, number);
    vm_push(vm, v);
    return STEP_OK;
}

Step op_SET_GLOBAL(Vm *vm, Frame *f)
{
    size_t number = read_word(f);
    if (vm->globals[number].tag == VAL_UNDEFINED)
        return undefined(vm, number);
    vm->globals[number] = vm_pop(vm);
    return STEP_OK;
}

Step op_DEFINE_GLOBAL(Vm *vm, Frame *f)
{
    vm->globals[read_word(f)] = vm_pop(vm);
    return STEP_OK;
}

Step op_GET_UPVALUE(Vm *vm, Frame *f)
{
    vm_push(vm, *f->closure->cells[read_byte(f)]->at);
    return STEP_OK;
}

Step op_SET_UPVALUE(Vm *vm, Frame *f)
{
    *f->closure->cells[read_byte(f)]->at = vm_pop(vm);
    return STEP_OK;
}

Step op_CLOSURE(Vm *vm, Frame *f)
{
    Proto *p = (Proto *)read_constant(f).as.object;
    Closure *c = closure_new(&vm->heap, p);
    for (int i = 0; i < p->upvalue_count; i++) {
        UpvalueRef ref = p->upvalues[i];
        c->cells[i] = ref.from_local ? vm_capture(vm, f->base + ref.index)
                                     : f->closure->cells[ref.index];
    }
    vm_push(vm, value_object(c));
    return STEP_OK;
}

Step op_CLOSE_CELLS(Vm *vm, Frame *f)
{
    vm_close_cells(vm, f->base + read_byte(f));
    return STEP_OK;
}
