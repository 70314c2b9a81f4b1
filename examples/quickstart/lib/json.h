/* JSON texts and the values they stand for. */
#ifndef QS_JSON_H
#define QS_JSON_H

#include "../src/vm.h"

bool json_read(Vm *vm, const char *text, size_t len, Value *result);

/* indent < 0: everything on one line. */
bool json_write(Vm *vm, Buf *out, Value v, int indent);

#endif
