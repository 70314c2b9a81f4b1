/* Instructions on containers and strings: building, indexing, slicing, joining. */
#include "format.h"
#include "list.h"
#include "map.h"
#include "ops.h"
#include "show.h"
#include "str.h"

Step op_LIST(Vm *vm, Frame *f)
{
    size_t n = read_word(f);
    List *list = list_from(&vm->heap, vm->sp - n, n);
    return finish(vm, (int)n, value_object(list));
}

static Step bad_key(Vm *vm, Value key)
{
    return step_from(vm_throw(vm, "%s cannot be a map key", value_type_name(key)));
}

Step op_MAP(Vm *vm, Frame *f)
{
    size_t n = read_word(f);
    const Value *pairs = vm->sp - 2 * n;
    Map *map = map_new(&vm->heap);
    for (size_t i = 0; i < n; i++) {
        if (!map_key_ok(pairs[2 * i]))
            return bad_key(vm, pairs[2 * i]);
        map_set(&vm->heap, map, pairs[2 * i], pairs[2 * i + 1]);
    }
    return finish(vm, (int)(2 * n), value_object(map));
}

Step op_RANGE(Vm *vm, Frame *f)
{
    bool inclusive = read_byte(f) != 0;
    Value from = vm->sp[-2], to = vm->sp[-1];
    if (from.tag != VAL_INT || to.tag != VAL_INT)
        return step_from(vm_throw(vm, "the ends of a range must be int"));
    int64_t end = to.as.integer;
    if (inclusive && end < INT64_MAX)
        end++;
    return finish(vm, 2, value_object(range_new(&vm->heap, from.as.integer, end, 1)));
}

Step op_JOIN(Vm *vm, Frame *f)
{
    size_t n = read_byte(f);
    Buf out;
    buf_init(&out);
    for (size_t i = 0; i < n; i++)
        show_value(&out, vm->sp[(ptrdiff_t)i - (ptrdiff_t)n]);
    return finish(vm, (int)n, value_object(str_from_buf(&vm->heap, &out)));
}

Step op_FORMAT(Vm *vm, Frame *f)
{
    const Str *spec = AS_STR(read_constant(f));
    Buf out;
    buf_init(&out);
    if (!format_value(vm, &out, vm->sp[-1], spec->data, spec->len)) {
        buf_free(&out);
        return STEP_ERROR;
    }
    return finish(vm, 1, value_object(str_from_buf(&vm->heap, &out)));
}

/* A missing key reads as nil. */
static Value lookup(const Map *map, Value key)
{
    Value v = value_nil();
    map_get(map, key, &v);
    return v;
}

/* Negative indices count from the end; -1 if there is no such element. */
static int64_t element_index(Value index, size_t len)
{
    int64_t n = (int64_t)len;
    if (index.tag != VAL_INT)
        return -1;
    int64_t i = index.as.integer;
    if (i < 0)
        i += n;
    return i >= 0 && i < n ? i : -1;
}

static Step bad_index(Vm *vm, Value container, Value index)
{
    if (index.tag != VAL_INT)
        return step_from(vm_throw(vm, "cannot index %s with %s", value_type_name(container),
                                  value_type_name(index)));
    return step_from(vm_throw(vm, "index %lld out of range", (long long)index.as.integer));
}

static Step get_element(Vm *vm, Value c, Value index)
{
    size_t len = value_is(c, OBJ_LIST)  ? AS_LIST(c)->len
                 : value_is(c, OBJ_STR) ? AS_STR(c)->len
                                        : (size_t)range_length(AS_RANGE(c));
    int64_t i = element_index(index, len);
    if (i < 0)
        return bad_index(vm, c, index);
    if (value_is(c, OBJ_LIST))
        return finish(vm, 2, AS_LIST(c)->items[i]);
    if (value_is(c, OBJ_STR))
        return finish(vm, 2, value_object(vm_char(vm, (unsigned char)AS_STR(c)->data[i])));
    return finish(vm, 2, value_int(range_at(AS_RANGE(c), i)));
}

Step op_GET_INDEX(Vm *vm, Frame *f)
{
    (void)f;
    Value c = vm->sp[-2], index = vm->sp[-1];
    if (value_is(c, OBJ_MAP))
        return map_key_ok(index) ? finish(vm, 2, lookup(AS_MAP(c), index)) : bad_key(vm, index);
    if (value_is(c, OBJ_LIST) || value_is(c, OBJ_STR) || value_is(c, OBJ_RANGE))
        return get_element(vm, c, index);
    return step_from(vm_throw(vm, "cannot index %s", value_type_name(c)));
}

Step op_SET_INDEX(Vm *vm, Frame *f)
{
    (void)f;
    Value c = vm->sp[-3], index = vm->sp[-2], v = vm->sp[-1];
    if (value_is(c, OBJ_MAP)) {
        if (!map_key_ok(index))
            return bad_key(vm, index);
        map_set(&vm->heap, AS_MAP(c), index, v);
    } else if (value_is(c, OBJ_LIST)) {
        int64_t i = element_index(index, AS_LIST(c)->len);
        if (i < 0)
            return bad_index(vm, c, index);
        AS_LIST(c)->items[i] = v;
    } else {
        return step_from(vm_throw(vm, "cannot assign to an element of %s", value_type_name(c)));
    }
    vm->sp -= 3;
    return STEP_OK;
}

Step op_GET_FIELD(Vm *vm, Frame *f)
{
    Value name = read_constant(f), c = vm->sp[-1], method;
    if (value_is(c, OBJ_MAP))
        return finish(vm, 1, lookup(AS_MAP(c), name));
    if (vm_find_method(vm, c, name, &method))
        return finish(vm, 1, method);
    return step_from(
        vm_throw(vm, "%s has no field %.100s", value_type_name(c), AS_STR(name)->data));
}

Step op_SET_FIELD(Vm *vm, Frame *f)
{
    Value name = read_constant(f), c = vm->sp[-2];
    if (!value_is(c, OBJ_MAP))
        return step_from(vm_throw(vm, "cannot set a field of %s", value_type_name(c)));
    map_set(&vm->heap, AS_MAP(c), name, vm->sp[-1]);
    vm->sp -= 2;
    return STEP_OK;
}

/* A slice end: nil means the default; out of range values are clamped. */
static bool slice_end(Value v, size_t len, size_t missing, size_t *end)
{
    *end = missing;
    if (v.tag == VAL_NIL)
        return true;
    if (v.tag != VAL_INT)
        return false;
    int64_t i = v.as.integer, n = (int64_t)len;
    if (i < 0)
        i = i + n < 0 ? 0 : i + n;
    *end = (size_t)(i > n ? n : i);
    return true;
}

Step op_SLICE(Vm *vm, Frame *f)
{
    (void)f;
    Value c = vm->sp[-3];
    size_t from, to;
    if (!value_is(c, OBJ_LIST) && !value_is(c, OBJ_STR))
        return step_from(vm_throw(vm, "cannot slice %s", value_type_name(c)));
    size_t len = value_is(c, OBJ_LIST) ? AS_LIST(c)->len : AS_STR(c)->len;
    if (!slice_end(vm->sp[-2], len, 0, &from) || !slice_end(vm->sp[-1], len, len, &to))
        return step_from(vm_throw(vm, "the ends of a slice must be int"));
    if (value_is(c, OBJ_LIST))
        return finish(vm, 3, value_object(list_slice(&vm->heap, AS_LIST(c), from, to)));
    size_t n = from < to ? to - from : 0;
    return finish(vm, 3, value_object(str_new(&vm->heap, AS_STR(c)->data + from, n)));
}
