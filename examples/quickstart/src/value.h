/* The values of the language: small ones in place, the others as heap objects. */
#ifndef QS_VALUE_H
#define QS_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum {
    VAL_UNDEFINED, /* a global that was never assigned; not visible to programs */
    VAL_NIL,
    VAL_BOOL,
    VAL_INT,
    VAL_FLOAT,
    VAL_OBJECT
} ValueTag;

typedef enum {
    OBJ_STR,
    OBJ_LIST,
    OBJ_MAP,
    OBJ_RANGE,
    OBJ_BIG,
    OBJ_MATRIX,
    OBJ_REGEX,
    OBJ_RNG,
    OBJ_PROTO,
    OBJ_CLOSURE,
    OBJ_CELL,
    OBJ_NATIVE
} ObjKind;

/* Types as the program sees them; methods are looked up by type. */
typedef enum {
    TYPE_NIL,
    TYPE_BOOL,
    TYPE_INT,
    TYPE_FLOAT,
    TYPE_STR,
    TYPE_LIST,
    TYPE_MAP,
    TYPE_RANGE,
    TYPE_MATRIX,
    TYPE_REGEX,
    TYPE_RNG,
    TYPE_FUNCTION,
    TYPE_COUNT
} Type;

/* Header of every heap object. */
typedef struct Obj {
    struct Obj *next; /* all objects of the heap */
    uint8_t kind;     /* an ObjKind */
    bool marked;
} Obj;

typedef struct {
    ValueTag tag;
    union {
        bool boolean;
        int64_t integer;
        double number;
        Obj *object;
    } as;
} Value;

static inline Value value_undefined(void)
{
    return (Value){.tag = VAL_UNDEFINED};
}

static inline Value value_nil(void)
{
    return (Value){.tag = VAL_NIL};
}

static inline Value value_bool(bool b)
{
    return (Value){.tag = VAL_BOOL, .as.boolean = b};
}

static inline Value value_int(int64_t i)
{
    return (Value){.tag = VAL_INT, .as.integer = i};
}

static inline Value value_float(double d)
{
    return (Value){.tag = VAL_FLOAT, .as.number = d};
}

/* The argument is any object that begins with an Obj. */
static inline Value value_object(void *object)
{
    return (Value){.tag = VAL_OBJECT, .as.object = object};
}

static inline bool value_is(Value v, ObjKind kind)
{
    return v.tag == VAL_OBJECT && v.as.object->kind == kind;
}

static inline bool value_truthy(Value v)
{
    return v.tag == VAL_BOOL ? v.as.boolean : v.tag != VAL_NIL;
}

Type value_type(Value v);
const char *type_name(Type type);
const char *value_type_name(Value v);

bool value_equal(Value a, Value b);

/* Orders numbers, strings and lists among themselves; false if there is no order. */
bool value_compare(Value a, Value b, int *order);

/* Hash of a value that may be a map key; false for one that may not. */
bool value_hash(Value v, uint32_t *hash);

#endif
