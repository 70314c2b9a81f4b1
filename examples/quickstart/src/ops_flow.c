/* Control flow: jumps, iteration, calls, exceptions. */
#include "map.h"
#include "ops.h"
#include "str.h"

#include "../rt/utf8.h"

Step op_JUMP(Vm *vm, Frame *f)
{
    (void)vm;
    size_t distance = read_word(f);
    f->ip += distance;
    return STEP_OK;
}

Step op_LOOP(Vm *vm, Frame *f)
{
    size_t distance = read_word(f);
    f->ip -= distance;
    vm_safe_point(vm);
    return STEP_OK;
}

Step op_JUMP_FALSE(Vm *vm, Frame *f)
{
    size_t distance = read_word(f);
    if (!value_truthy(vm_pop(vm)))
        f->ip += distance;
    return STEP_OK;
}

Step op_JUMP_AND(Vm *vm, Frame *f)
{
    size_t distance = read_word(f);
    if (!value_truthy(vm->sp[-1]))
        f->ip += distance;
    return STEP_OK;
}

Step op_JUMP_OR(Vm *vm, Frame *f)
{
    size_t distance = read_word(f);
    if (value_truthy(vm->sp[-1]))
        f->ip += distance;
    return STEP_OK;
}

Step op_JUMP_NOT_NIL(Vm *vm, Frame *f)
{
    size_t distance = read_word(f);
    if (vm->sp[-1].tag != VAL_NIL)
        f->ip += distance;
    return STEP_OK;
}

/* Each of these fetches the element at *cursor and moves it on; false at the end. */

static bool next_of_list(const List *list, int64_t *cursor, Value *key, Value *item)
{
    if ((size_t)*cursor >= list->len)
        return false;
    *key = value_int(*cursor);
    *item = list->items[(*cursor)++];
    return true;
}

static bool next_of_range(const Range *r, int64_t *cursor, Value *key, Value *item)
{
    if (*cursor >= range_length(r))
        return false;
    *key = value_int(*cursor);
    *item = value_int(range_at(r, (*cursor)++));
    return true;
}

static bool next_of_map(const Map *map, int64_t *cursor, Value *key, Value *item)
{
    MapEntry *e;
    uint32_t at = (uint32_t)*cursor;
    if (!map_next(map, &at, &e))
        return false;
    *cursor = (int64_t)at + 1;
    *key = e->key;
    *item = e->value;
    return true;
}

static bool next_of_str(Vm *vm, const Str *s, int64_t *cursor, Value *key, Value *item)
{
    size_t at = (size_t)*cursor;
    uint32_t code;
    if (at >= s->len)
        return false;
    size_t n = utf8_decode(s->data + at, s->len - at, &code);
    *key = value_int(*cursor);
    *item = value_object(n == 1 ? vm_char(vm, (unsigned char)s->data[at])
                                : str_new(&vm->heap, s->data + at, n));
    *cursor += (int64_t)n;
    return true;
}

/* Pushes one variable (item; for maps, key) or two (key or index, and item). */
static Step push_variables(Vm *vm, Value c, size_t count, Value key, Value item)
{
    if (count == 2 || value_is(c, OBJ_MAP))
        vm_push(vm, key);
    if (count == 2 || !value_is(c, OBJ_MAP))
        vm_push(vm, item);
    return STEP_OK;
}

Step op_ITERATE(Vm *vm, Frame *f)
{
    Value *c = f->base + read_byte(f);
    int64_t *cursor = &c[1].as.integer;
    size_t count = read_byte(f), distance = read_word(f);
    Value key, item;
    bool more;
    if (value_is(*c, OBJ_LIST))
        more = next_of_list(AS_LIST(*c), cursor, &key, &item);
    else if (value_is(*c, OBJ_RANGE))
        more = next_of_range(AS_RANGE(*c), cursor, &key, &item);
    else if (value_is(*c, OBJ_MAP))
        more = next_of_map(AS_MAP(*c), cursor, &key, &item);
    else if (value_is(*c, OBJ_STR))
        more = next_of_str(vm, AS_STR(*c), cursor, &key, &item);
    else
        return step_from(vm_throw(vm, "cannot iterate over %s", value_type_name(*c)));
    if (more)
        return push_variables(vm, *c, count, key, item);
    f->ip += distance;
    return STEP_OK;
}

Step op_CALL(Vm *vm, Frame *f)
{
    int argc = (int)read_byte(f);
    vm_safe_point(vm);
    return step_from(vm_begin_call(vm, argc));
}

/* Calls a map's field, or else a method with the receiver as its first argument. */
Step op_INVOKE(Vm *vm, Frame *f)
{
    Value name = read_constant(f), method;
    int argc = (int)read_byte(f);
    Value *receiver = vm->sp - argc - 1;
    vm_safe_point(vm);
    if (value_is(*receiver, OBJ_MAP) && map_get(AS_MAP(*receiver), name, &method)) {
        *receiver = method;
        return step_from(vm_begin_call(vm, argc));
    }
    if (!vm_find_method(vm, *receiver, name, &method))
        return step_from(vm_throw(vm, "%s has no method %.100s", value_type_name(*receiver),
                                  AS_STR(name)->data));
    for (Value *v = vm->sp++; v > receiver; v--)
        v[0] = v[-1];
    *receiver = method;
    return step_from(vm_begin_call(vm, argc + 1));
}

Step op_RETURN(Vm *vm, Frame *f)
{
    Value result = vm_pop(vm);
    bool entry = f->entry;
    vm_close_cells(vm, f->base);
    while (vm->handler_count > 0 && vm->handlers[vm->handler_count - 1].depth == vm->depth)
        vm->handler_count--;
    vm->sp = f->base;
    vm_push(vm, result);
    vm->depth--;
    vm->frame--;
    return entry ? STEP_DONE : STEP_OK;
}

Step op_TRY(Vm *vm, Frame *f)
{
    size_t distance = read_word(f);
    if (vm->handler_count == VM_MAX_HANDLERS)
        return step_from(vm_throw(vm, "try blocks nested too deeply"));
    vm->handlers[vm->handler_count++] = (Handler){vm->depth, vm->sp, f->ip + distance};
    return STEP_OK;
}

Step op_END_TRY(Vm *vm, Frame *f)
{
    (void)f;
    vm->handler_count--;
    return STEP_OK;
}

Step op_THROW(Vm *vm, Frame *f)
{
    (void)f;
    return step_from(vm_throw_value(vm, vm_pop(vm)));
}
