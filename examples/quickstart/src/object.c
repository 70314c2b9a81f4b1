#include "object.h"

#include "code.h"
#include "list.h"
#include "map.h"
#include "str.h"

Range *range_new(Heap *heap, int64_t from, int64_t to, int64_t step)
{
    Range *r = heap_new(heap, OBJ_RANGE, sizeof *r);
    r->from = from;
    r->to = to;
    r->step = step;
    return r;
}

int64_t range_length(const Range *r)
{
    if (r->step > 0 ? r->from >= r->to : r->from <= r->to)
        return 0;
    uint64_t span = r->step > 0 ? (uint64_t)r->to - (uint64_t)r->from
                                : (uint64_t)r->from - (uint64_t)r->to;
    uint64_t step = r->step > 0 ? (uint64_t)r->step : 0 - (uint64_t)r->step;
    uint64_t n = (span - 1) / step + 1;
    return n > INT64_MAX ? INT64_MAX : (int64_t)n;
}

int64_t range_at(const Range *r, int64_t index)
{
    return (int64_t)((uint64_t)r->from + (uint64_t)r->step * (uint64_t)index);
}

static size_t big_bytes(const BigObj *b)
{
    return b->big.len * sizeof(Limb);
}

BigObj *big_new(Heap *heap, Big *big)
{
    BigObj *b = heap_new(heap, OBJ_BIG, sizeof *b);
    b->big = *big;
    big_init(big);
    heap_account(heap, 0, big_bytes(b));
    return b;
}

static size_t matrix_bytes(const MatrixObj *m)
{
    return m->m.rows * m->m.cols * sizeof(double);
}

MatrixObj *matrix_new(Heap *heap, Matrix *matrix)
{
    MatrixObj *m = heap_new(heap, OBJ_MATRIX, sizeof *m);
    m->m = *matrix;
    heap_account(heap, 0, matrix_bytes(m));
    return m;
}

static size_t regex_bytes(const RegexObj *r)
{
    return r->re.len * sizeof(RegexInsn) + r->re.set_count * sizeof(ByteSet);
}

RegexObj *regex_new(Heap *heap, Str *pattern, Regex *re)
{
    RegexObj *r = heap_new(heap, OBJ_REGEX, sizeof *r);
    r->pattern = pattern;
    r->re = *re;
    heap_account(heap, 0, regex_bytes(r));
    return r;
}

RngObj *rng_new(Heap *heap, uint64_t seed)
{
    RngObj *r = heap_new(heap, OBJ_RNG, sizeof *r);
    prng_seed(&r->rng, seed);
    return r;
}

Cell *cell_new(Heap *heap, Value *at)
{
    Cell *c = heap_new(heap, OBJ_CELL, sizeof *c);
    c->at = at;
    c->closed = value_nil();
    c->next_open = NULL;
    return c;
}

static size_t closure_size(size_t cells)
{
    return sizeof(Closure) + cells * sizeof(Cell *);
}

Closure *closure_new(Heap *heap, Proto *proto)
{
    Closure *c = heap_new(heap, OBJ_CLOSURE, closure_size(proto->upvalue_count));
    c->proto = proto;
    c->cell_count = proto->upvalue_count;
    for (int i = 0; i < c->cell_count; i++)
        c->cells[i] = NULL;
    return c;
}

Native *native_new(Heap *heap, const NativeDef *def)
{
    Native *n = heap_new(heap, OBJ_NATIVE, sizeof *n);
    n->def = def;
    return n;
}

static void trace_closure(Heap *heap, Closure *c)
{
    heap_mark_object(heap, c->proto);
    for (int i = 0; i < c->cell_count; i++)
        heap_mark_object(heap, c->cells[i]);
}

void object_trace(Heap *heap, Obj *obj)
{
    switch ((ObjKind)obj->kind) {
    case OBJ_LIST:
        list_trace(heap, (List *)obj);
        break;
    case OBJ_MAP:
        map_trace(heap, (Map *)obj);
        break;
    case OBJ_REGEX:
        heap_mark_object(heap, ((RegexObj *)obj)->pattern);
        break;
    case OBJ_PROTO:
        proto_trace(heap, (Proto *)obj);
        break;
    case OBJ_CLOSURE:
        trace_closure(heap, (Closure *)obj);
        break;
    case OBJ_CELL: /* an open cell's variable is on the stack, a root */
        heap_mark(heap, ((Cell *)obj)->closed);
        break;
    case OBJ_STR:
    case OBJ_RANGE:
    case OBJ_BIG:
    case OBJ_MATRIX:
    case OBJ_RNG:
    case OBJ_NATIVE:
        break;
    }
}

static void release_big(Heap *heap, BigObj *b)
{
    heap_account(heap, big_bytes(b), 0);
    big_free(&b->big);
    heap_delete(heap, b, sizeof *b);
}

static void release_matrix(Heap *heap, MatrixObj *m)
{
    heap_account(heap, matrix_bytes(m), 0);
    matrix_free(&m->m);
    heap_delete(heap, m, sizeof *m);
}

static void release_regex(Heap *heap, RegexObj *r)
{
    heap_account(heap, regex_bytes(r), 0);
    regex_free(&r->re);
    heap_delete(heap, r, sizeof *r);
}

void object_release(Heap *heap, Obj *obj)
{
    switch ((ObjKind)obj->kind) {
    case OBJ_STR:
        str_release(heap, (Str *)obj);
        break;
    case OBJ_LIST:
        list_release(heap, (List *)obj);
        break;
    case OBJ_MAP:
        map_release(heap, (Map *)obj);
        break;
    case OBJ_PROTO:
        proto_release(heap, (Proto *)obj);
        break;
    case OBJ_BIG:
        release_big(heap, (BigObj *)obj);
        break;
    case OBJ_MATRIX:
        release_matrix(heap, (MatrixObj *)obj);
        break;
    case OBJ_REGEX:
        release_regex(heap, (RegexObj *)obj);
        break;
    case OBJ_CLOSURE:
        heap_delete(heap, obj, closure_size(((Closure *)obj)->cell_count));
        break;
    case OBJ_RANGE:
        heap_delete(heap, obj, sizeof(Range));
        break;
    case OBJ_RNG:
        heap_delete(heap, obj, sizeof(RngObj));
        break;
    case OBJ_CELL:
        heap_delete(heap, obj, sizeof(Cell));
        break;
    case OBJ_NATIVE:
        heap_delete(heap, obj, sizeof(Native));
        break;
    }
}
