/* The heap objects and their constructors. */
#ifndef QS_OBJECT_H
#define QS_OBJECT_H

#include "heap.h"
#include "value.h"

#include "../rt/bigint.h"
#include "../rt/matrix.h"
#include "../rt/prng.h"
#include "../rt/regex.h"

typedef struct Vm Vm;

/* Immutable bytes, usually UTF-8; NUL-terminated for convenience. */
typedef struct {
    Obj obj;
    uint32_t len;
    uint32_t hash; /* 0: not computed yet */
    char data[];
} Str;

typedef struct {
    Obj obj;
    size_t len, cap;
    Value *items;
} List;

/* Insertion-ordered hash table; see map.h for the operations. */
typedef struct {
    Value key; /* nil in a deleted entry */
    Value value;
    uint32_t hash;
} MapEntry;

typedef struct {
    Obj obj;
    uint32_t live; /* entries not deleted */
    uint32_t used, cap;
    MapEntry *entries;
    uint32_t *slots; /* entry number plus one, or 0 */
    uint32_t slot_count;
} Map;

typedef struct {
    Obj obj;
    int64_t from, to, step; /* `to` is excluded */
} Range;

typedef struct {
    Obj obj;
    Big big;
} BigObj;

typedef struct {
    Obj obj;
    Matrix m;
} MatrixObj;

typedef struct {
    Obj obj;
    Str *pattern;
    Regex re;
} RegexObj;

typedef struct {
    Obj obj;
    Prng rng;
} RngObj;

typedef struct {
    uint8_t index;
    bool from_local; /* a local of the enclosing function, or one of its upvalues */
} UpvalueRef;

/* The compiled body of a function; built in code.c. */
typedef struct {
    Obj obj;
    Str *name;
    uint8_t arity;
    uint8_t upvalue_count;
    UpvalueRef *upvalues;
    uint8_t *code;
    size_t code_len, code_cap;
    Value *constants;
    size_t constant_count, constant_cap;
    uint32_t *lines; /* pairs: first code offset, line */
    size_t line_count, line_cap;
} Proto;

/* A captured variable: in the stack while its frame lives, then in the cell itself. */
typedef struct Cell {
    Obj obj;
    Value *at;
    Value closed;
    struct Cell *next_open;
} Cell;

typedef struct {
    Obj obj;
    Proto *proto;
    uint8_t cell_count;
    Cell *cells[];
} Closure;

typedef bool (*NativeFn)(Vm *vm, int argc, Value *argv, Value *result);

typedef struct {
    const char *name;
    NativeFn fn;
    int min_args, max_args;
} NativeDef;

typedef struct {
    Obj obj;
    const NativeDef *def;
} Native;

Range *range_new(Heap *heap, int64_t from, int64_t to, int64_t step);
int64_t range_length(const Range *r);
int64_t range_at(const Range *r, int64_t index); /* index < range_length(r) */
BigObj *big_new(Heap *heap, Big *big); /* takes over the limbs */
MatrixObj *matrix_new(Heap *heap, Matrix *m); /* takes over the cells */
RegexObj *regex_new(Heap *heap, Str *pattern, Regex *re); /* takes over the program */
RngObj *rng_new(Heap *heap, uint64_t seed);
Cell *cell_new(Heap *heap, Value *at);
Closure *closure_new(Heap *heap, Proto *proto);
Native *native_new(Heap *heap, const NativeDef *def);

/* Used by the collector: push what the object refers to on the gray stack; free its memory. */
void object_trace(Heap *heap, Obj *obj);
void object_release(Heap *heap, Obj *obj);

#define AS_STR(v) ((Str *)(v).as.object)
#define AS_LIST(v) ((List *)(v).as.object)
#define AS_MAP(v) ((Map *)(v).as.object)
#define AS_RANGE(v) ((Range *)(v).as.object)
#define AS_BIG(v) ((BigObj *)(v).as.object)
#define AS_MATRIX(v) ((MatrixObj *)(v).as.object)
#define AS_REGEX(v) ((RegexObj *)(v).as.object)
#define AS_RNG(v) ((RngObj *)(v).as.object)
#define AS_CLOSURE(v) ((Closure *)(v).as.object)
#define AS_NATIVE(v) ((Native *)(v).as.object)

#endif
