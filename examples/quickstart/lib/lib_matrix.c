/* The module `matrix` and the methods of matrices. */
#include "../src/arith.h"
#include "../src/native.h"

enum { MAX_SIZE = 1000 };

static bool give_matrix(Vm *vm, Value *result, Matrix *m)
{
    return give(result, value_object(matrix_new(&vm->heap, m)));
}

static const Matrix *self(const Value *argv)
{
    return &AS_MATRIX(argv[0])->m;
}

static bool fill_row(Vm *vm, Matrix *m, size_t row, const List *list)
{
    if (list->len != m->cols)
        return vm_throw(vm, "rows of different lengths");
    for (size_t j = 0; j < m->cols; j++)
        if (!arith_to_double(list->items[j], matrix_at(m, row, j)))
            return vm_throw(vm, "a matrix holds numbers, not %s",
                            value_type_name(list->items[j]));
    return true;
}

/* From a list of rows. */
static bool matrix_from(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    List *rows;
    Matrix m;
    if (!arg_list(vm, argv, 0, &rows))
        return false;
    for (size_t i = 0; i < rows->len; i++)
        if (!value_is(rows->items[i], OBJ_LIST))
            return vm_throw(vm, "expected a list of rows");
    size_t cols = rows->len > 0 ? AS_LIST(rows->items[0])->len : 0;
    if (rows->len == 0 || cols == 0 || rows->len > MAX_SIZE || cols > MAX_SIZE)
        return vm_throw(vm, "bad size of a matrix");
    matrix_init(&m, rows->len, cols);
    for (size_t i = 0; i < m.rows; i++) {
        if (!fill_row(vm, &m, i, AS_LIST(rows->items[i]))) {
            matrix_free(&m);
            return false;
        }
    }
    return give_matrix(vm, result, &m);
}

static bool matrix_unit(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    size_t n;
    Matrix m;
    if (!arg_size(vm, argv, 0, MAX_SIZE, &n))
        return false;
    matrix_identity(&m, n);
    return give_matrix(vm, result, &m);
}

static bool matrix_get(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    size_t i, j;
    if (!arg_size(vm, argv, 1, self(argv)->rows - 1, &i) ||
        !arg_size(vm, argv, 2, self(argv)->cols - 1, &j))
        return false;
    return give(result, value_float(*matrix_at(self(argv), i, j)));
}

static bool matrix_rows(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    const Matrix *m = self(argv);
    List *rows = list_new(&vm->heap, m->rows);
    for (size_t i = 0; i < m->rows; i++) {
        List *row = list_new(&vm->heap, m->cols);
        for (size_t j = 0; j < m->cols; j++)
            list_push(&vm->heap, row, value_float(*matrix_at(m, i, j)));
        list_push(&vm->heap, rows, value_object(row));
    }
    return give(result, value_object(rows));
}

static bool checked(Vm *vm, bool ok, Value *result, Matrix *m)
{
    if (!ok)
        return vm_throw(vm, "matrices do not fit, or singular");
    return give_matrix(vm, result, m);
}

static bool matrix_plus(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    Matrix *other, m;
    return arg_matrix(vm, argv, 1, &other) &&
           checked(vm, matrix_add(&m, self(argv), other, 1), result, &m);
}

static bool matrix_minus(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    Matrix *other, m;
    return arg_matrix(vm, argv, 1, &other) &&
           checked(vm, matrix_add(&m, self(argv), other, -1), result, &m);
}

static bool matrix_times(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    Matrix *other, m;
    return arg_matrix(vm, argv, 1, &other) &&
           checked(vm, matrix_mul(&m, self(argv), other), result, &m);
}

static bool matrix_solve_for(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    Matrix *rhs, m;
    return arg_matrix(vm, argv, 1, &rhs) &&
           checked(vm, matrix_solve(&m, self(argv), rhs), result, &m);
}

static bool matrix_inverted(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    Matrix m;
    return checked(vm, matrix_inverse(&m, self(argv)), result, &m);
}

static bool matrix_power(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    size_t n;
    Matrix m;
    return arg_size(vm, argv, 1, 1000000, &n) &&
           checked(vm, matrix_pow(&m, self(argv), (unsigned)n), result, &m);
}

static bool matrix_transposed(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    Matrix m;
    matrix_transpose(&m, self(argv));
    return give_matrix(vm, result, &m);
}

static bool matrix_scaled(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    double factor;
    Matrix m;
    if (!arg_float(vm, argv, 1, &factor))
        return false;
    matrix_copy(&m, self(argv));
    matrix_scale(&m, factor);
    return give_matrix(vm, result, &m);
}

static bool matrix_determinant(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    double det;
    if (!matrix_det(self(argv), &det))
        return vm_throw(vm, "matrix is not square");
    return give(result, value_float(det));
}

static bool matrix_trace_of(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    double trace;
    if (!matrix_trace(self(argv), &trace))
        return vm_throw(vm, "matrix is not square");
    return give(result, value_float(trace));
}

static bool matrix_norm_of(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)vm;
    (void)argc;
    return give(result, value_float(matrix_norm(self(argv))));
}

void lib_matrix(Vm *vm)
{
    static const NativeDef functions[] = {
        {"new", matrix_from, 1, 1},
        {"identity", matrix_unit, 1, 1},
        {NULL, NULL, 0, 0},
    };
    static const NativeDef methods[] = {
        {"get", matrix_get, 3, 3},         {"rows", matrix_rows, 1, 1},
        {"add", matrix_plus, 2, 2},        {"sub", matrix_minus, 2, 2},
        {"mul", matrix_times, 2, 2},       {"solve", matrix_solve_for, 2, 2},
        {"inverse", matrix_inverted, 1, 1}, {"pow", matrix_power, 2, 2},
        {"transpose", matrix_transposed, 1, 1}, {"scale", matrix_scaled, 2, 2},
        {"det", matrix_determinant, 1, 1}, {"trace", matrix_trace_of, 1, 1},
        {"norm", matrix_norm_of, 1, 1},    {NULL, NULL, 0, 0},
    };
    vm_define_module(vm, "matrix", functions);
    vm_define_methods(vm, TYPE_MATRIX, methods);
}
