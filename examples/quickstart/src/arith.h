/* Arithmetic on values.  Each throws and returns false if the operands do not fit. */
#ifndef QS_ARITH_H
#define QS_ARITH_H

#include "vm.h"

bool arith_add(Vm *vm, Value a, Value b, Value *r);
bool arith_sub(Vm *vm, Value a, Value b, Value *r);
bool arith_mul(Vm *vm, Value a, Value b, Value *r);
bool arith_div(Vm *vm, Value a, Value b, Value *r);  /* always a float */
bool arith_idiv(Vm *vm, Value a, Value b, Value *r); /* rounded down */
bool arith_mod(Vm *vm, Value a, Value b, Value *r);  /* of that division */
bool arith_pow(Vm *vm, Value a, Value b, Value *r);
bool arith_neg(Vm *vm, Value a, Value *r);

/* The value of a big integer, which is given up: a machine integer if it fits. */
Value arith_from_big(Vm *vm, Big *b);

/* A big integer with the value of an int; false for other types. */
bool arith_to_big(Value v, Big *b);
bool arith_to_double(Value v, double *d);

#endif
