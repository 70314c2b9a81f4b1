/* Functions that every program uses: output, conversion, checks. */
#include "../src/arith.h"
#include "../src/format.h"
#include "../src/native.h"
#include "../src/show.h"

#include "../rt/hash.h"
#include "../rt/num.h"

enum { OUTPUT_BUFFER = 16 * 1024 };

static void put_arguments(Vm *vm, int argc, const Value *argv)
{
    for (int i = 0; i < argc; i++) {
        if (i > 0)
            buf_putc(&vm->out, ' ');
        show_value(&vm->out, argv[i]);
    }
}

static bool core_write(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)result;
    put_arguments(vm, argc, argv);
    if (vm->out.len > OUTPUT_BUFFER)
        vm_flush(vm);
    return true;
}

static bool core_print(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)result;
    put_arguments(vm, argc, argv);
    buf_putc(&vm->out, '\n');
    if (vm->out.len > OUTPUT_BUFFER)
        vm_flush(vm);
    return true;
}

static bool core_type(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    return give_cstr(vm, result, value_type_name(argv[0]));
}

static bool core_str(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    Buf out;
    buf_init(&out);
    show_value(&out, argv[0]);
    return give_buf(vm, result, &out);
}

static bool core_repr(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    Buf out;
    buf_init(&out);
    show_repr(&out, argv[0]);
    return give_buf(vm, result, &out);
}

static bool core_format(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    Str *spec;
    Buf out;
    if (!arg_str(vm, argv, 1, &spec))
        return false;
    buf_init(&out);
    if (format_value(vm, &out, argv[0], spec->data, spec->len))
        return give_buf(vm, result, &out);
    buf_free(&out);
    return false;
}

static bool parse_int(Vm *vm, const Str *s, unsigned base, Value *result)
{
    int64_t i;
    Big big;
    if (num_parse_int(s->data, s->len, base, &i))
        return give(result, value_int(i));
    big_init(&big);
    if (base == 10 && big_parse(&big, s->data, s->len))
        return give(result, arith_from_big(vm, &big));
    return vm_throw(vm, "not an integer: %.40s", s->data);
}

static bool core_int(Vm *vm, int argc, Value *argv, Value *result)
{
    size_t base = 10;
    if (argc > 1 && !arg_size(vm, argv, 1, 36, &base))
        return false;
    if (base < 2)
        return vm_throw(vm, "bad base");
    Value v = argv[0];
    if (value_is(v, OBJ_STR))
        return parse_int(vm, AS_STR(v), (unsigned)base, result);
    if (value_type(v) == TYPE_INT)
        return give(result, v);
    if (v.tag == VAL_BOOL)
        return give(result, value_int(v.as.boolean));
    if (v.tag == VAL_FLOAT && v.as.number > -9.2e18 && v.as.number < 9.2e18)
        return give(result, value_int((int64_t)v.as.number));
    return vm_throw(vm, "cannot convert %s to int", value_type_name(v));
}

static bool core_float(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    double d;
    if (value_is(argv[0], OBJ_STR)) {
        const Str *s = AS_STR(argv[0]);
        if (!num_parse_float(s->data, s->len, &d))
            return vm_throw(vm, "not a number: %.40s", s->data);
    } else if (!arg_float(vm, argv, 0, &d)) {
        return false;
    }
    return give(result, value_float(d));
}

static bool core_len(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    Value v = argv[0];
    if (value_is(v, OBJ_STR))
        return give(result, value_int(AS_STR(v)->len));
    if (value_is(v, OBJ_LIST))
        return give(result, value_int((int64_t)AS_LIST(v)->len));
    if (value_is(v, OBJ_MAP))
        return give(result, value_int(AS_MAP(v)->live));
    if (value_is(v, OBJ_RANGE))
        return give(result, value_int(range_length(AS_RANGE(v))));
    return vm_throw(vm, "%s has no length", value_type_name(v));
}

static bool core_range(Vm *vm, int argc, Value *argv, Value *result)
{
    int64_t from = 0, to, step = 1;
    if (!arg_int(vm, argv, argc > 1, &to) || (argc > 1 && !arg_int(vm, argv, 0, &from)) ||
        (argc > 2 && !arg_int(vm, argv, 2, &step)))
        return false;
    if (step == 0)
        return vm_throw(vm, "the step of a range must not be 0");
    return give(result, value_object(range_new(&vm->heap, from, to, step)));
}

static bool core_assert(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)result;
    if (value_truthy(argv[0]))
        return true;
    if (argc > 1)
        return vm_throw_value(vm, argv[1]);
    return vm_throw(vm, "assertion failed");
}

static bool core_compare(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    int order;
    if (!value_compare(argv[0], argv[1], &order))
        return vm_throw(vm, "cannot compare %s and %s", value_type_name(argv[0]),
                        value_type_name(argv[1]));
    return give(result, value_int(order));
}

/* A hash of the value's text, the same on every machine. */
static bool core_hash(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)vm;
    (void)argc;
    Buf text;
    buf_init(&text);
    show_repr(&text, argv[0]);
    *result = value_int(hash_bytes(text.data, text.len, 0));
    buf_free(&text);
    return true;
}

void lib_core(Vm *vm)
{
    static const NativeDef functions[] = {
        {"write", core_write, 0, -1},    {"print", core_print, 0, -1},
        {"type", core_type, 1, 1},       {"str", core_str, 1, 1},
        {"repr", core_repr, 1, 1},       {"format", core_format, 2, 2},
        {"int", core_int, 1, 2},         {"float", core_float, 1, 1},
        {"len", core_len, 1, 1},         {"range", core_range, 1, 3},
        {"assert", core_assert, 1, 2},   {"compare", core_compare, 2, 2},
        {"hash", core_hash, 1, 1},       {NULL, NULL, 0, 0},
    };
    vm_define_functions(vm, functions);
}
