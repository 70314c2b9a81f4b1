/* Syntax trees.  Nodes and their texts live in the parser's arena. */
#ifndef QS_AST_H
#define QS_AST_H

#include "lexer.h"

#include "../rt/arena.h"
#include "../rt/buf.h"

typedef struct Expr Expr;
typedef struct Stmt Stmt;

typedef struct {
    const char *data;
    size_t len;
} Text;

typedef struct {
    Expr **items;
    size_t count, cap;
} ExprList;

typedef struct {
    Stmt **items;
    size_t count, cap;
} StmtList;

typedef struct {
    Text *items;
    size_t count, cap;
} TextList;

typedef struct {
    Text name; /* empty for an anonymous function */
    TextList params;
    StmtList body;
} Function;

typedef enum {
    EX_NIL,
    EX_BOOL,     /* integer */
    EX_INT,      /* integer */
    EX_BIG,      /* text: decimal digits */
    EX_FLOAT,    /* number */
    EX_STRING,   /* text */
    EX_NAME,     /* text */
    EX_TEMPLATE, /* list: the parts, converted to strings and joined */
    EX_FORMAT,   /* left: value, text: format */
    EX_UNARY,    /* op, left */
    EX_BINARY,   /* op, left, right */
    EX_AND,
    EX_OR,
    EX_COALESCE,
    EX_COND,    /* third ? left : right */
    EX_RANGE,   /* left, right; integer: 1 if the end is included */
    EX_CALL,    /* left: callee, list: arguments */
    EX_METHOD,  /* left: receiver, text: name, list: arguments */
    EX_FIELD,   /* left, text */
    EX_INDEX,   /* left, right */
    EX_SLICE,   /* left, right: from or NULL, third: to or NULL */
    EX_LIST,    /* list */
    EX_MAP,     /* list: keys and values in turn */
    EX_FUNCTION /* function */
} ExprKind;

struct Expr {
    ExprKind kind;
    TokenKind op;
    uint32_t line;
    Expr *left, *right, *third;
    int64_t integer;
    double number;
    Text text;
    ExprList list;
    Function *function;
};

typedef struct {
    ExprList values; /* empty: the default case */
    StmtList body;
} Case;

typedef struct {
    Case *items;
    size_t count, cap;
} CaseList;

typedef enum {
    ST_EXPR,     /* expr */
    ST_LET,      /* name, expr or NULL */
    ST_ASSIGN,   /* target, op (the binary operator, or TOK_ASSIGN), expr */
    ST_BLOCK,    /* body */
    ST_IF,       /* expr, body, other */
    ST_WHILE,    /* expr, body */
    ST_FOR,      /* name, name2 or empty, expr, body */
    ST_MATCH,    /* expr, cases */
    ST_FN,       /* name, function in expr */
    ST_RETURN,   /* expr or NULL */
    ST_BREAK,
    ST_CONTINUE,
    ST_TRY,      /* body, name, other */
    ST_THROW     /* expr */
} StmtKind;

struct Stmt {
    StmtKind kind;
    TokenKind op;
    uint32_t line;
    Text name, name2;
    Expr *expr, *target;
    StmtList body, other;
    CaseList cases;
};

Expr *ast_expr(Arena *arena, ExprKind kind, uint32_t line);
Expr *ast_binary(Arena *arena, ExprKind kind, TokenKind op, Expr *left, Expr *right);
Stmt *ast_stmt(Arena *arena, StmtKind kind, uint32_t line);
void ast_add_expr(Arena *arena, ExprList *list, Expr *e);
void ast_add_stmt(Arena *arena, StmtList *list, Stmt *s);
void ast_add_text(Arena *arena, TextList *list, Text t);
Case *ast_add_case(Arena *arena, CaseList *list);

/* Replaces operations on literals by their values. */
Expr *ast_fold(Expr *e);

/* The program as nested lists in parentheses. */
void ast_dump(Buf *out, const StmtList *program);

#endif
