#include "native.h"

#include "arith.h"

#include "../rt/date.h"

static bool wrong_type(Vm *vm, const Value *argv, int i, const char *wanted)
{
    vm_throw(vm, "argument %d must be %s, not %s", i + 1, wanted, value_type_name(argv[i]));
    return false;
}

bool arg_int(Vm *vm, const Value *argv, int i, int64_t *out)
{
    if (argv[i].tag != VAL_INT)
        return wrong_type(vm, argv, i, "int");
    *out = argv[i].as.integer;
    return true;
}

bool arg_size(Vm *vm, const Value *argv, int i, size_t max, size_t *out)
{
    int64_t n;
    if (!arg_int(vm, argv, i, &n))
        return false;
    if (n < 0 || (uint64_t)n > max)
        return vm_throw(vm, "argument %d is out of range", i + 1);
    *out = (size_t)n;
    return true;
}

bool arg_float(Vm *vm, const Value *argv, int i, double *out)
{
    return arith_to_double(argv[i], out) || wrong_type(vm, argv, i, "a number");
}

bool arg_big(Vm *vm, const Value *argv, int i, Big *out)
{
    return arith_to_big(argv[i], out) || wrong_type(vm, argv, i, "int");
}

bool arg_str(Vm *vm, const Value *argv, int i, Str **out)
{
    if (!value_is(argv[i], OBJ_STR))
        return wrong_type(vm, argv, i, "str");
    *out = AS_STR(argv[i]);
    return true;
}

bool arg_list(Vm *vm, const Value *argv, int i, List **out)
{
    if (!value_is(argv[i], OBJ_LIST))
        return wrong_type(vm, argv, i, "list");
    *out = AS_LIST(argv[i]);
    return true;
}

bool arg_map(Vm *vm, const Value *argv, int i, Map **out)
{
    if (!value_is(argv[i], OBJ_MAP))
        return wrong_type(vm, argv, i, "map");
    *out = AS_MAP(argv[i]);
    return true;
}

bool arg_matrix(Vm *vm, const Value *argv, int i, Matrix **out)
{
    if (!value_is(argv[i], OBJ_MATRIX))
        return wrong_type(vm, argv, i, "matrix");
    *out = &AS_MATRIX(argv[i])->m;
    return true;
}

bool arg_date(Vm *vm, const Value *argv, int i, int64_t *days)
{
    Date d;
    if (argv[i].tag == VAL_INT) {
        *days = argv[i].as.integer;
        bool near = *days > -300000000 && *days < 300000000;
        return near || vm_throw(vm, "argument %d is out of range", i + 1);
    }
    if (!value_is(argv[i], OBJ_STR))
        return wrong_type(vm, argv, i, "a day number or date");
    if (!date_parse(AS_STR(argv[i])->data, AS_STR(argv[i])->len, &d))
        return vm_throw(vm, "malformed date");
    *days = date_to_days(&d);
    return true;
}

bool give(Value *result, Value v)
{
    *result = v;
    return true;
}

bool give_buf(Vm *vm, Value *result, Buf *b)
{
    return give(result, value_object(str_from_buf(&vm->heap, b)));
}

bool give_cstr(Vm *vm, Value *result, const char *text)
{
    return give(result, value_object(str_from_cstr(&vm->heap, text)));
}

bool call1(Vm *vm, Value fn, Value a, Value *result)
{
    return vm_call(vm, fn, 1, &a, result);
}

bool call2(Vm *vm, Value fn, Value a, Value b, Value *result)
{
    Value argv[] = {a, b};
    return vm_call(vm, fn, 2, argv, result);
}

void lib_define_all(Vm *vm)
{
    static void (*const modules[])(Vm *) = {
        lib_core,  lib_str,    lib_list,  lib_seq,  lib_map,  lib_math,
        lib_big,   lib_random, lib_regex, lib_data, lib_codec, lib_text,
        lib_date,  lib_matrix, lib_poly,  lib_graph, lib_meta,
    };
    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++)
        modules[i](vm);
}
