/* Arithmetic and bitwise instructions. */
#include "arith.h"
#include "list.h"
#include "ops.h"
#include "str.h"

static Step result_of(Vm *vm, bool ok, Value r)
{
    return ok ? finish(vm, 2, r) : STEP_ERROR;
}

/* `+` also joins strings, lists, and adds matrices. */
static Step add_objects(Vm *vm, Value a, Value b)
{
    Value r = value_nil();
    if (value_is(a, OBJ_STR) && value_is(b, OBJ_STR))
        return finish(vm, 2, value_object(str_concat(&vm->heap, AS_STR(a), AS_STR(b))));
    if (value_is(a, OBJ_LIST) && value_is(b, OBJ_LIST)) {
        List *list = list_from(&vm->heap, AS_LIST(a)->items, AS_LIST(a)->len);
        list_extend(&vm->heap, list, AS_LIST(b));
        return finish(vm, 2, value_object(list));
    }
    return result_of(vm, arith_add(vm, a, b, &r), r);
}

Step op_ADD(Vm *vm, Frame *f)
{
    (void)f;
    Value a = vm->sp[-2], b = vm->sp[-1], r;
    if (a.tag == VAL_OBJECT)
        return add_objects(vm, a, b);
    return result_of(vm, arith_add(vm, a, b, &r), r);
}

Step op_ADD_INT(Vm *vm, Frame *f)
{
    Value a = vm->sp[-1], b = value_int((int8_t)read_byte(f)), r;
    if (!arith_add(vm, a, b, &r))
        return STEP_ERROR;
    vm->sp[-1] = r;
    return STEP_OK;
}

Step op_SUB(Vm *vm, Frame *f)
{
    (void)f;
    Value r;
    return result_of(vm, arith_sub(vm, vm->sp[-2], vm->sp[-1], &r), r);
}

static Step repeat_text(Vm *vm, const Str *s, int64_t count)
{
    Buf out;
    if (count > 0 && s->len > 0 && (uint64_t)count > (1u << 26) / s->len)
        return step_from(vm_throw(vm, "string too large"));
    buf_init(&out);
    for (; count > 0; count--)
        buf_write(&out, s->data, s->len);
    return finish(vm, 2, value_object(str_from_buf(&vm->heap, &out)));
}

static Step repeat_list(Vm *vm, const List *items, int64_t count)
{
    if (count > 0 && items->len > 0 && (uint64_t)count > (1u << 24) / items->len)
        return step_from(vm_throw(vm, "list too large"));
    List *list = list_new(&vm->heap, 0);
    for (; count > 0; count--)
        list_extend(&vm->heap, list, items);
    return finish(vm, 2, value_object(list));
}

Step op_MUL(Vm *vm, Frame *f)
{
    (void)f;
    Value a = vm->sp[-2], b = vm->sp[-1], r;
    if (value_is(a, OBJ_STR) && b.tag == VAL_INT)
        return repeat_text(vm, AS_STR(a), b.as.integer);
    if (value_is(a, OBJ_LIST) && b.tag == VAL_INT)
        return repeat_list(vm, AS_LIST(a), b.as.integer);
    return result_of(vm, arith_mul(vm, a, b, &r), r);
}

Step op_DIV(Vm *vm, Frame *f)
{
    (void)f;
    Value r;
    return result_of(vm, arith_div(vm, vm->sp[-2], vm->sp[-1], &r), r);
}

Step op_IDIV(Vm *vm, Frame *f)
{
    (void)f;
    Value r;
    return result_of(vm, arith_idiv(vm, vm->sp[-2], vm->sp[-1], &r), r);
}

Step op_MOD(Vm *vm, Frame *f)
{
    (void)f;
    Value r;
    return result_of(vm, arith_mod(vm, vm->sp[-2], vm->sp[-1], &r), r);
}

Step op_POW(Vm *vm, Frame *f)
{
    (void)f;
    Value r;
    return result_of(vm, arith_pow(vm, vm->sp[-2], vm->sp[-1], &r), r);
}

Step op_NEG(Vm *vm, Frame *f)
{
    (void)f;
    Value r;
    if (!arith_neg(vm, vm->sp[-1], &r))
        return STEP_ERROR;
    vm->sp[-1] = r;
    return STEP_OK;
}

typedef enum { BITS_AND, BITS_OR, BITS_XOR } BitOperation;

static int64_t combine(BitOperation op, int64_t x, int64_t y)
{
    return op == BITS_AND ? x & y : op == BITS_OR ? x | y : x ^ y;
}

/* On integers bit by bit; on booleans without short circuit. */
static Step bitwise(Vm *vm, BitOperation op)
{
    Value a = vm->sp[-2], b = vm->sp[-1];
    if (a.tag == VAL_INT && b.tag == VAL_INT)
        return finish(vm, 2, value_int(combine(op, a.as.integer, b.as.integer)));
    if (a.tag == VAL_BOOL && b.tag == VAL_BOOL)
        return finish(vm, 2, value_bool(combine(op, a.as.boolean, b.as.boolean) != 0));
    return step_from(vm_throw(vm, "bitwise operation on %s and %s", value_type_name(a),
                              value_type_name(b)));
}

Step op_BIT_AND(Vm *vm, Frame *f)
{
    (void)f;
    return bitwise(vm, BITS_AND);
}

Step op_BIT_OR(Vm *vm, Frame *f)
{
    (void)f;
    return bitwise(vm, BITS_OR);
}

Step op_BIT_XOR(Vm *vm, Frame *f)
{
    (void)f;
    return bitwise(vm, BITS_XOR);
}

Step op_BIT_NOT(Vm *vm, Frame *f)
{
    (void)f;
    Value a = vm->sp[-1];
    if (a.tag != VAL_INT)
        return step_from(vm_throw(vm, "bitwise operation on %s", value_type_name(a)));
    return finish(vm, 1, value_int(~a.as.integer));
}

static bool shift_operands(Vm *vm)
{
    Value a = vm->sp[-2], b = vm->sp[-1];
    if (a.tag == VAL_INT && b.tag == VAL_INT && b.as.integer >= 0 && b.as.integer < 64)
        return true;
    return vm_throw(vm, "bad operands of a shift");
}

Step op_SHL(Vm *vm, Frame *f)
{
    (void)f;
    if (!shift_operands(vm))
        return STEP_ERROR;
    uint64_t x = (uint64_t)vm->sp[-2].as.integer;
    return finish(vm, 2, value_int((int64_t)(x << vm->sp[-1].as.integer)));
}

/* The sign bit is shifted in. */
Step op_SHR(Vm *vm, Frame *f)
{
    (void)f;
    if (!shift_operands(vm))
        return STEP_ERROR;
    int64_t x = vm->sp[-2].as.integer, n = vm->sp[-1].as.integer;
    return finish(vm, 2, value_int(x < 0 ? ~(~x >> n) : x >> n));
}
