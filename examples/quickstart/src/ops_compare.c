/* Comparison, membership and conditional instructions. */
#include "map.h"
#include "ops.h"

#include "../rt/textscan.h"

Step op_NOT(Vm *vm, Frame *f)
{
    (void)f;
    return finish(vm, 1, value_bool(!value_truthy(vm->sp[-1])));
}

Step op_EQ(Vm *vm, Frame *f)
{
    (void)f;
    return finish(vm, 2, value_bool(value_equal(vm->sp[-2], vm->sp[-1])));
}

Step op_NE(Vm *vm, Frame *f)
{
    (void)f;
    return finish(vm, 2, value_bool(!value_equal(vm->sp[-2], vm->sp[-1])));
}

/* Order of the two operands; NaNs are unordered, which is not an error. */
static bool order_operands(Vm *vm, int *order, bool *ordered)
{
    Value a = vm->sp[-2], b = vm->sp[-1];
    if (a.tag == VAL_INT && b.tag == VAL_INT) {
        *order = a.as.integer < b.as.integer ? -1 : a.as.integer > b.as.integer;
        *ordered = true;
        return true;
    }
    *ordered = value_compare(a, b, order);
    if (*ordered || a.tag == VAL_FLOAT || b.tag == VAL_FLOAT)
        return true;
    return vm_throw(vm, "cannot compare %s and %s", value_type_name(a), value_type_name(b));
}

Step op_LT(Vm *vm, Frame *f)
{
    (void)f;
    int order;
    bool ordered;
    if (!order_operands(vm, &order, &ordered))
        return STEP_ERROR;
    return finish(vm, 2, value_bool(ordered && order < 0));
}

Step op_LE(Vm *vm, Frame *f)
{
    (void)f;
    int order;
    bool ordered;
    if (!order_operands(vm, &order, &ordered))
        return STEP_ERROR;
    return finish(vm, 2, value_bool(ordered && order <= 0));
}

Step op_GT(Vm *vm, Frame *f)
{
    (void)f;
    int order;
    bool ordered;
    if (!order_operands(vm, &order, &ordered))
        return STEP_ERROR;
    return finish(vm, 2, value_bool(ordered && order > 0));
}

Step op_GE(Vm *vm, Frame *f)
{
    (void)f;
    int order;
    bool ordered;
    if (!order_operands(vm, &order, &ordered))
        return STEP_ERROR;
    return finish(vm, 2, value_bool(ordered && order >= 0));
}

Step op_JUMP_NOT_LT(Vm *vm, Frame *f)
{
    int order;
    bool ordered;
    size_t distance = read_word(f);
    if (!order_operands(vm, &order, &ordered))
        return STEP_ERROR;
    vm->sp -= 2;
    if (!ordered || order >= 0)
        f->ip += distance;
    return STEP_OK;
}

static bool list_contains(const List *list, Value v)
{
    for (size_t i = 0; i < list->len; i++)
        if (value_equal(list->items[i], v))
            return true;
    return false;
}

static bool range_contains(const Range *r, int64_t i)
{
    if (r->step > 0 ? i < r->from || i >= r->to : i > r->from || i <= r->to)
        return false;
    uint64_t span = r->step > 0 ? (uint64_t)i - (uint64_t)r->from : (uint64_t)r->from - (uint64_t)i;
    return span % (r->step > 0 ? (uint64_t)r->step : 0 - (uint64_t)r->step) == 0;
}

Step op_IN(Vm *vm, Frame *f)
{
    (void)f;
    Value x = vm->sp[-2], c = vm->sp[-1], ignored;
    bool found;
    if (value_is(c, OBJ_LIST))
        found = list_contains(AS_LIST(c), x);
    else if (value_is(c, OBJ_MAP))
        found = map_key_ok(x) && map_get(AS_MAP(c), x, &ignored);
    else if (value_is(c, OBJ_RANGE))
        found = x.tag == VAL_INT && range_contains(AS_RANGE(c), x.as.integer);
    else if (value_is(c, OBJ_STR) && value_is(x, OBJ_STR))
        found = text_find(AS_STR(c)->data, AS_STR(c)->len, AS_STR(x)->data, AS_STR(x)->len, 0) !=
                TEXT_NOT_FOUND;
    else
        return step_from(vm_throw(vm, "cannot look for %s in %s", value_type_name(x),
                                  value_type_name(c)));
    return finish(vm, 2, value_bool(found));
}
