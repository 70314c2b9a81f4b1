/* Formatted conversion of a value to text. */
#ifndef QS_FORMAT_H
#define QS_FORMAT_H

#include "vm.h"

/*
 * Specification: [[fill]align][+][0][width][,][.precision][type]
 *   align  < left, > right, ^ centre (default: numbers right, others left)
 *   type   d x o b c integer; f e % float; s text, q quoted; r roman; w words; n ordinal
 */
bool format_value(Vm *vm, Buf *out, Value v, const char *spec, size_t len);

#endif
