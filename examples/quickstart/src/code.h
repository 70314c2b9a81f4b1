/* Function prototypes: the bytecode and tables of one function. */
#ifndef QS_CODE_H
#define QS_CODE_H

#include "object.h"
#include "opcodes.h"

#include "../rt/buf.h"

Proto *proto_new(Heap *heap, Str *name);
void proto_trace(Heap *heap, Proto *p);
void proto_release(Heap *heap, Proto *p);

void proto_emit(Proto *p, uint8_t byte, uint32_t line);

/* Index of the constant in the table, which keeps equal constants once. */
size_t proto_constant(Proto *p, Value v);
uint32_t proto_line(const Proto *p, size_t offset);

/* Reports the final size of the tables to the heap. */
void proto_finish(Heap *heap, Proto *p);

const char *opcode_name(Opcode op);
const char *opcode_operands(Opcode op);

/* Readable listing of a function and, recursively, of those nested in it. */
void proto_disassemble(const Proto *p, Buf *out);

#endif
