/* The functions that carry out the instructions. */
#ifndef QS_OPS_H
#define QS_OPS_H

#include "opcodes.h"
#include "vm.h"

typedef Step (*OpHandler)(Vm *vm, Frame *f);

extern const OpHandler ops_table[OP_COUNT];

#define DECLARE(name, operands) Step op_##name(Vm *vm, Frame *f);
OPCODES(DECLARE)
#undef DECLARE

static inline Step step_from(bool ok)
{
    return ok ? STEP_OK : STEP_ERROR;
}

/* Drops `count` operands and pushes the result. */
static inline Step finish(Vm *vm, int count, Value result)
{
    vm->sp -= count;
    vm_push(vm, result);
    return STEP_OK;
}

#endif
