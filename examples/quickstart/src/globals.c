/* Global variables, modules of native functions, and methods; see vm.h. */
#include "map.h"
#include "str.h"
#include "vm.h"

#include "../rt/mem.h"

#include <string.h>

/* Gives every global that was numbered meanwhile its variable. */
void vm_grow_globals(Vm *vm)
{
    uint32_t count = vm->global_names.count;
    if (count == vm->global_count)
        return;
    vm->globals = rt_realloc(vm->globals, count * sizeof *vm->globals);
    while (vm->global_count < count)
        vm->globals[vm->global_count++] = value_undefined();
}

void vm_set_global(Vm *vm, const char *name, Value v)
{
    uint32_t number = strtab_add(&vm->global_names, name, strlen(name));
    vm_grow_globals(vm);
    vm->globals[number] = v;
}

void vm_define_functions(Vm *vm, const NativeDef *defs)
{
    for (; defs->name; defs++)
        vm_set_global(vm, defs->name, value_object(native_new(&vm->heap, defs)));
}

static void define_in(Vm *vm, Map *map, const NativeDef *defs)
{
    for (; defs->name; defs++)
        map_set_cstr(&vm->heap, map, defs->name, value_object(native_new(&vm->heap, defs)));
}

void vm_define_module(Vm *vm, const char *name, const NativeDef *defs)
{
    Map *module = map_new(&vm->heap);
    define_in(vm, module, defs);
    vm_set_global(vm, name, value_object(module));
}

void vm_define_methods(Vm *vm, Type type, const NativeDef *defs)
{
    define_in(vm, vm->methods[type], defs);
}

bool vm_find_method(const Vm *vm, Value receiver, Value name, Value *method)
{
    return map_get(vm->methods[value_type(receiver)], name, method);
}

Str *vm_char(Vm *vm, unsigned char c)
{
    if (!vm->chars[c])
        vm->chars[c] = str_new(&vm->heap, (const char *)&c, 1);
    return vm->chars[c];
}
