/* Source text -> tokens. */
#ifndef QS_LEXER_H
#define QS_LEXER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KEYWORDS(X)                                                             \
    X(AND, "and") X(BREAK, "break") X(CATCH, "catch") X(CONTINUE, "continue")   \
    X(ELSE, "else") X(FALSE, "false") X(FN, "fn") X(FOR, "for") X(IF, "if")     \
    X(IN, "in") X(LET, "let") X(MATCH, "match") X(NIL, "nil") X(NOT, "not")     \
    X(OR, "or") X(RETURN, "return") X(THROW, "throw") X(TRUE, "true")           \
    X(TRY, "try") X(WHILE, "while")

#define PUNCTUATION(X)                                                          \
    X(STAR_STAR, "**") X(SLASH_SLASH_EQ, "//=") X(SLASH_SLASH, "//")            \
    X(SHL, "<<") X(SHR, ">>") X(LE, "<=") X(GE, ">=") X(EQ, "==") X(NE, "!=")   \
    X(ARROW, "=>") X(PIPE_GT, "|>") X(QUESTION_2, "??") X(DOT_DOT_EQ, "..=")    \
    X(DOT_DOT, "..") X(PLUS_EQ, "+=") X(MINUS_EQ, "-=") X(STAR_EQ, "*=")        \
    X(SLASH_EQ, "/=") X(PERCENT_EQ, "%=") X(PLUS, "+") X(MINUS, "-")            \
    X(STAR, "*") X(SLASH, "/") X(PERCENT, "%") X(LT, "<") X(GT, ">")            \
    X(ASSIGN, "=") X(AMP, "&") X(BAR, "|") X(CARET, "^") X(TILDE, "~")          \
    X(LPAREN, "(") X(RPAREN, ")") X(LBRACKET, "[") X(RBRACKET, "]")             \
    X(LBRACE, "{") X(RBRACE, "}") X(COMMA, ",") X(SEMICOLON, ";")               \
    X(COLON, ":") X(DOT, ".") X(QUESTION, "?")

typedef enum {
    TOK_END,
    TOK_NAME,
    TOK_INT,
    TOK_FLOAT,
    TOK_STRING,   /* text: what is between the quotes, escapes not yet processed */
    TOK_TEMPLATE, /* the same for f"..." */
    TOK_ERROR,    /* text: the message */
#define ENUM(name, text) TOK_##name,
    KEYWORDS(ENUM) PUNCTUATION(ENUM)
#undef ENUM
    TOK_COUNT
} TokenKind;

typedef struct {
    TokenKind kind;
    const char *text; /* points into the source */
    size_t len;
    uint32_t line;
} Token;

typedef struct {
    const char *p, *end;
    uint32_t line;
} Lexer;

void lexer_init(Lexer *lx, const char *source, size_t len, uint32_t line);
Token lexer_next(Lexer *lx);
const char *token_name(TokenKind kind); /* how to call the token in a message */

#endif
