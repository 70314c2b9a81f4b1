/* For writing native functions: their arguments and results. */
#ifndef QS_NATIVE_H
#define QS_NATIVE_H

#include "list.h"
#include "map.h"
#include "str.h"
#include "vm.h"

/* Fetch argument number i; throw and return false if it has the wrong type. */
bool arg_int(Vm *vm, const Value *argv, int i, int64_t *out);
bool arg_size(Vm *vm, const Value *argv, int i, size_t max, size_t *out); /* 0..max */
bool arg_float(Vm *vm, const Value *argv, int i, double *out);            /* any number */
bool arg_big(Vm *vm, const Value *argv, int i, Big *out); /* a copy, to be freed */
bool arg_str(Vm *vm, const Value *argv, int i, Str **out);
bool arg_list(Vm *vm, const Value *argv, int i, List **out);
bool arg_map(Vm *vm, const Value *argv, int i, Map **out);
bool arg_matrix(Vm *vm, const Value *argv, int i, Matrix **out);
bool arg_date(Vm *vm, const Value *argv, int i, int64_t *days); /* day number or text */

/* Set the result; always true. */
bool give(Value *result, Value v);
bool give_buf(Vm *vm, Value *result, Buf *b); /* as a string; frees the buffer */
bool give_cstr(Vm *vm, Value *result, const char *text);

/* Calls a function with one or two arguments. */
bool call1(Vm *vm, Value fn, Value a, Value *result);
bool call2(Vm *vm, Value fn, Value a, Value b, Value *result);

/* Stable sort by value_compare, or by the order function if it is not nil. */
bool sort_list(Vm *vm, List *list, Value order);

/* Every module of native functions. */
void lib_define_all(Vm *vm);

void lib_core(Vm *vm);
void lib_str(Vm *vm);
void lib_list(Vm *vm);
void lib_seq(Vm *vm);
void lib_map(Vm *vm);
void lib_math(Vm *vm);
void lib_big(Vm *vm);
void lib_random(Vm *vm);
void lib_regex(Vm *vm);
void lib_data(Vm *vm);
void lib_codec(Vm *vm);
void lib_text(Vm *vm);
void lib_date(Vm *vm);
void lib_matrix(Vm *vm);
void lib_poly(Vm *vm);
void lib_graph(Vm *vm);
void lib_meta(Vm *vm);

#endif
