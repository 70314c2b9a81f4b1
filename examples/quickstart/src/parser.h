/* Tokens -> syntax tree, by recursive descent and precedence climbing. */
#ifndef QS_PARSER_H
#define QS_PARSER_H

#include "ast.h"

typedef struct {
    uint32_t line;
    char message[120];
} SyntaxError;

/* The tree lives in the arena; false and *error if the source is malformed. */
bool parse_program(Arena *arena, const char *source, size_t len, StmtList *program,
                   SyntaxError *error);

/* What follows is shared by the parse_*.c files. */

typedef struct {
    Lexer lx;
    Token cur, prev;
    Arena *arena;
    SyntaxError *error;
    bool failed;
    int depth; /* of nested expressions and statements */
} Parser;

void parser_start(Parser *ps, Arena *arena, const char *source, size_t len, uint32_t line,
                  SyntaxError *error);

/* Records the first error; the rest of the input is skipped. */
void parser_fail(Parser *ps, const char *message, const char *detail);
bool parser_enter(Parser *ps); /* one level deeper; fails if that is too deep */
void parser_leave(Parser *ps);
void parser_advance(Parser *ps);
bool parser_check(const Parser *ps, TokenKind kind);
bool parser_accept(Parser *ps, TokenKind kind);
void parser_expect(Parser *ps, TokenKind kind);
Text parser_name(Parser *ps);
Text parser_field_name(Parser *ps); /* where keywords are names, too */

Expr *parse_expr(Parser *ps);
Expr *parse_integer(Parser *ps, Token t);
Expr *parse_float(Parser *ps, Token t);
Expr *parse_string(Parser *ps, Token t);
Expr *parse_template(Parser *ps, Token t);
void parse_block(Parser *ps, StmtList *body);

/* Parameters and body of a function, after its name. */
Expr *parse_function(Parser *ps, Text name, uint32_t line);

#endif
