/*
 * The instruction set.  Each instruction is an opcode byte followed by its
 * operands: B a byte, W a 16-bit word, S a signed byte, J a 16-bit jump distance.
 * The virtual machine calls the function op_NAME for each of them.
 */
#ifndef QS_OPCODES_H
#define QS_OPCODES_H

#define OPCODES(X)         \
    X(CONST, "W")          \
    X(NIL, "")             \
    X(TRUE, "")            \
    X(FALSE, "")           \
    X(SMALL_INT, "S")      \
    X(POP, "")             \
    X(POP_N, "B")          \
    X(DUP, "")             \
    X(DUP_2, "")           \
    X(GET_LOCAL, "B")      \
    X(SET_LOCAL, "B")      \
    X(GET_GLOBAL, "W")     \
    X(SET_GLOBAL, "W")     \
    X(DEFINE_GLOBAL, "W")  \
    X(GET_UPVALUE, "B")    \
    X(SET_UPVALUE, "B")    \
    X(GET_FIELD, "W")      \
    X(SET_FIELD, "W")      \
    X(GET_INDEX, "")       \
    X(SET_INDEX, "")       \
    X(SLICE, "")           \
    X(LIST, "W")           \
    X(MAP, "W")            \
    X(RANGE, "B")          \
    X(JOIN, "B")           \
    X(FORMAT, "W")         \
    X(ADD, "")             \
    X(SUB, "")             \
    X(MUL, "")             \
    X(DIV, "")             \
    X(IDIV, "")            \
    X(MOD, "")             \
    X(POW, "")             \
    X(NEG, "")             \
    X(ADD_INT, "S")        \
    X(BIT_AND, "")         \
    X(BIT_OR, "")          \
    X(BIT_XOR, "")         \
    X(BIT_NOT, "")         \
    X(SHL, "")             \
    X(SHR, "")             \
    X(NOT, "")             \
    X(EQ, "")              \
    X(NE, "")              \
    X(LT, "")              \
    X(LE, "")              \
    X(GT, "")              \
    X(GE, "")              \
    X(IN, "")              \
    X(JUMP, "J")           \
    X(LOOP, "J")           \
    X(JUMP_FALSE, "J")     \
    X(JUMP_AND, "J")       \
    X(JUMP_OR, "J")        \
    X(JUMP_NOT_NIL, "J")   \
    X(JUMP_NOT_LT, "J")    \
    X(ITERATE, "BBJ")      \
    X(CLOSURE, "W")        \
    X(CLOSE_CELLS, "B")    \
    X(CALL, "B")           \
    X(INVOKE, "WB")        \
    X(RETURN, "")          \
    X(TRY, "J")            \
    X(END_TRY, "")         \
    X(THROW, "")

typedef enum {
#define ENUM(name, operands) OP_##name,
    OPCODES(ENUM)
#undef ENUM
    OP_COUNT
} Opcode;

#endif
