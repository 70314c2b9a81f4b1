#include "ast.h"

#include <string.h>

Expr *ast_expr(Arena *arena, ExprKind kind, uint32_t line)
{
    Expr *e = arena_alloc(arena, sizeof *e);
    e->kind = kind;
    e->line = line;
    return e;
}

Expr *ast_binary(Arena *arena, ExprKind kind, TokenKind op, Expr *left, Expr *right)
{
    Expr *e = ast_expr(arena, kind, left->line);
    e->op = op;
    e->left = left;
    e->right = right;
    return e;
}

Stmt *ast_stmt(Arena *arena, StmtKind kind, uint32_t line)
{
    Stmt *s = arena_alloc(arena, sizeof *s);
    s->kind = kind;
    s->line = line;
    return s;
}

/* Room for one more element; the arena keeps the outgrown array. */
static void *grow(Arena *arena, void *items, size_t count, size_t *cap, size_t element)
{
    if (count < *cap)
        return items;
    *cap = *cap ? *cap * 2 : 4;
    void *bigger = arena_alloc(arena, *cap * element);
    if (count > 0)
        memcpy(bigger, items, count * element);
    return bigger;
}

void ast_add_expr(Arena *arena, ExprList *list, Expr *e)
{
    list->items = grow(arena, list->items, list->count, &list->cap, sizeof *list->items);
    list->items[list->count++] = e;
}

void ast_add_stmt(Arena *arena, StmtList *list, Stmt *s)
{
    list->items = grow(arena, list->items, list->count, &list->cap, sizeof *list->items);
    list->items[list->count++] = s;
}

void ast_add_text(Arena *arena, TextList *list, Text t)
{
    list->items = grow(arena, list->items, list->count, &list->cap, sizeof *list->items);
    list->items[list->count++] = t;
}

Case *ast_add_case(Arena *arena, CaseList *list)
{
    list->items = grow(arena, list->items, list->count, &list->cap, sizeof *list->items);
    Case *c = &list->items[list->count++];
    memset(c, 0, sizeof *c);
    return c;
}
