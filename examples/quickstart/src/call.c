/* Function calls and captured variables; see vm.h. */
#include "vm.h"

static bool wrong_count(Vm *vm, const char *name, int argc, const char *wanted)
{
    return vm_throw(vm, "%s: %s arguments (%d given)", name, wanted, argc);
}

static bool call_native(Vm *vm, const NativeDef *def, int argc)
{
    if (argc < def->min_args)
        return wrong_count(vm, def->name, argc, "too few");
    if (def->max_args >= 0 && argc > def->max_args)
        return wrong_count(vm, def->name, argc, "too many");
    Value result = value_nil(), *argv = vm->sp - argc;
    if (vm->sp > vm->stack_limit)
        return vm_throw(vm, "stack overflow");
    if (!def->fn(vm, argc, argv, &result))
        return false;
    vm->sp = argv - 1;
    vm_push(vm, result);
    return true;
}

/*
 * Loops leave the stack as they found it and no byte of code pushes more than
 * one value, so the code's length bounds the stack that a function needs.
 */
static bool call_closure(Vm *vm, Closure *c, int argc)
{
    const Proto *p = c->proto;
    if (argc != p->arity)
        return wrong_count(vm, p->name->data, argc, argc < p->arity ? "too few" : "too many");
    if (vm->depth == VM_MAX_FRAMES || (size_t)(vm->stack_limit - vm->sp) < p->code_len)
        return vm_throw(vm, "stack overflow");
    vm->frame = &vm->frames[vm->depth++];
    *vm->frame = (Frame){c, p->code, vm->sp - argc - 1, false};
    return true;
}

bool vm_begin_call(Vm *vm, int argc)
{
    Value callee = vm->sp[-argc - 1];
    if (value_is(callee, OBJ_CLOSURE))
        return call_closure(vm, AS_CLOSURE(callee), argc);
    if (value_is(callee, OBJ_NATIVE))
        return call_native(vm, AS_NATIVE(callee)->def, argc);
    return vm_throw(vm, "cannot call a value of type %s", value_type_name(callee));
}

Cell *vm_capture(Vm *vm, Value *at)
{
    Cell **link = &vm->open_cells;
    while (*link && (*link)->at > at)
        link = &(*link)->next_open;
    if (*link && (*link)->at == at)
        return *link;
    Cell *cell = cell_new(&vm->heap, at);
    cell->next_open = *link;
    *link = cell;
    return cell;
}

void vm_close_cells(Vm *vm, const Value *from)
{
    while (vm->open_cells && vm->open_cells->at >= from) {
        Cell *cell = vm->open_cells;
        vm->open_cells = cell->next_open;
        cell->closed = *cell->at;
        cell->at = &cell->closed;
    }
}
