#include "lexer.h"

#include "../rt/num.h"

#include <string.h>

typedef struct {
    const char *text;
    uint8_t len;
    uint8_t kind;
} Spelling;

static const Spelling keywords[] = {
#define SPELLING(name, text) {text, sizeof(text) - 1, TOK_##name},
    KEYWORDS(SPELLING)
#undef SPELLING
};

enum {
    KEYWORD_COUNT = sizeof keywords / sizeof *keywords,
    MAX_NESTED_TEMPLATES = 20
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_name_start(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_name_part(char c)
{
    return is_name_start(c) || is_digit(c);
}

void lexer_init(Lexer *lx, const char *source, size_t len, uint32_t line)
{
    lx->p = source;
    lx->end = source + len;
    lx->line = line;
}

static char peek(const Lexer *lx, size_t ahead)
{
    return (size_t)(lx->end - lx->p) > ahead ? lx->p[ahead] : '\0';
}

static Token make(const Lexer *lx, TokenKind kind, const char *start)
{
    return (Token){kind, start, (size_t)(lx->p - start), lx->line};
}

static Token error(const Lexer *lx, const char *message)
{
    return (Token){TOK_ERROR, message, strlen(message), lx->line};
}

/* Spaces and comments from '#' to the end of the line. */
static void skip_blank(Lexer *lx)
{
    for (; lx->p < lx->end; lx->p++) {
        if (*lx->p == '#')
            while (lx->p + 1 < lx->end && lx->p[1] != '\n')
                lx->p++;
        else if (*lx->p == '\n')
            lx->line++;
        else if (*lx->p != ' ' && *lx->p != '\t' && *lx->p != '\r')
            return;
    }
}

static Token scan_name(Lexer *lx)
{
    const char *start = lx->p;
    while (is_name_part(peek(lx, 0)))
        lx->p++;
    Token t = make(lx, TOK_NAME, start);
    for (int i = 0; i < KEYWORD_COUNT; i++)
        if (keywords[i].text[0] == *start && keywords[i].len == t.len &&
            memcmp(keywords[i].text, start, t.len) == 0)
            t.kind = (TokenKind)keywords[i].kind;
    return t;
}

static void skip_digits(Lexer *lx)
{
    while (is_digit(peek(lx, 0)) || (peek(lx, 0) == '_' && is_digit(peek(lx, 1))))
        lx->p++;
}

/* 0x... and 0b...; the digits are checked when the value is taken. */
static Token scan_radix(Lexer *lx, const char *start)
{
    lx->p += 2;
    while (num_digit(peek(lx, 0)) >= 0 || peek(lx, 0) == '_')
        lx->p++;
    return make(lx, TOK_INT, start);
}

static Token scan_number(Lexer *lx)
{
    const char *start = lx->p;
    if (peek(lx, 0) == '0' && (peek(lx, 1) == 'x' || peek(lx, 1) == 'b'))
        return scan_radix(lx, start);
    TokenKind kind = TOK_INT;
    skip_digits(lx);
    if (peek(lx, 0) == '.' && is_digit(peek(lx, 1))) {
        kind = TOK_FLOAT;
        lx->p++;
        skip_digits(lx);
    }
    if (peek(lx, 0) == 'e' || peek(lx, 0) == 'E') {
        size_t sign = peek(lx, 1) == '-' || peek(lx, 1) == '+';
        if (is_digit(peek(lx, 1 + sign))) {
            kind = TOK_FLOAT;
            lx->p += 1 + sign;
            skip_digits(lx);
        }
    }
    if (is_name_start(peek(lx, 0)))
        return error(lx, "malformed number");
    return make(lx, kind, start);
}

/* Moves past the closing quote; false if there is none. */
static bool skip_string(Lexer *lx)
{
    for (lx->p++; lx->p < lx->end && *lx->p != '"'; lx->p++) {
        if (*lx->p == '\n')
            lx->line++;
        if (*lx->p == '\\' && lx->p + 1 < lx->end)
            lx->p++;
    }
    if (lx->p == lx->end)
        return false;
    lx->p++;
    return true;
}

/* As skip_string, but strings and templates nested in {...} do not end the template. */
static bool skip_template(Lexer *lx, int nesting)
{
    int depth = 0;
    for (lx->p++; lx->p < lx->end; lx->p++) {
        char c = *lx->p;
        if (c == '"') {
            bool template = lx->p[-1] == 'f';
            if (depth == 0) {
                lx->p++;
                return true;
            }
            if (nesting == 0 || !(template ? skip_template(lx, nesting - 1) : skip_string(lx)))
                return false;
            lx->p--;
        } else if (c == '\\' && lx->p + 1 < lx->end) {
            lx->p++;
        } else if (c == '\n') {
            lx->line++;
        } else if (c == '{' || c == '}') {
            depth += c == '{' ? 1 : depth > 0 ? -1 : 0;
        }
    }
    return false;
}

static Token scan_string(Lexer *lx, TokenKind kind)
{
    const char *start = lx->p + 1;
    uint32_t line = lx->line;
    bool closed = kind == TOK_STRING ? skip_string(lx) : skip_template(lx, MAX_NESTED_TEMPLATES);
    if (!closed)
        return error(lx, "unterminated string");
    return (Token){kind, start, (size_t)(lx->p - 1 - start), line};
}

/* If c comes next, takes it too; the token is then `longer`. */
static TokenKind extend(Lexer *lx, char c, TokenKind longer, TokenKind shorter)
{
    if (peek(lx, 0) != c)
        return shorter;
    lx->p++;
    return longer;
}

/* After a slash: '/=', '//', '//=' or the slash alone. */
static TokenKind scan_slash(Lexer *lx)
{
    if (peek(lx, 0) == '=')
        return extend(lx, '=', TOK_SLASH_EQ, TOK_SLASH);
    if (peek(lx, 0) != '/')
        return TOK_SLASH;
    lx->p++;
    return extend(lx, '=', TOK_SLASH_SLASH_EQ, TOK_SLASH_SLASH);
}

static TokenKind scan_dot(Lexer *lx)
{
    if (extend(lx, '.', TOK_DOT_DOT, TOK_DOT) == TOK_DOT)
        return TOK_DOT;
    return extend(lx, '=', TOK_DOT_DOT_EQ, TOK_DOT_DOT);
}

/* An operator of more than one character, or a prefix of one. */
static TokenKind scan_operator(Lexer *lx, char c)
{
    switch (c) {
    case '+':
        return extend(lx, '=', TOK_PLUS_EQ, TOK_PLUS);
    case '-':
        return extend(lx, '=', TOK_MINUS_EQ, TOK_MINUS);
    case '%':
        return extend(lx, '=', TOK_PERCENT_EQ, TOK_PERCENT);
    case '*':
        if (peek(lx, 0) == '*')
            return extend(lx, '*', TOK_STAR_STAR, TOK_STAR);
        return extend(lx, '=', TOK_STAR_EQ, TOK_STAR);
    case '/':
        return scan_slash(lx);
    case '.':
        return scan_dot(lx);
    case '<':
        if (peek(lx, 0) == '<')
            return extend(lx, '<', TOK_SHL, TOK_LT);
        return extend(lx, '=', TOK_LE, TOK_LT);
    case '>':
        if (peek(lx, 0) == '>')
            return extend(lx, '>', TOK_SHR, TOK_GT);
        return extend(lx, '=', TOK_GE, TOK_GT);
    case '=':
        if (peek(lx, 0) == '>')
            return extend(lx, '>', TOK_ARROW, TOK_ASSIGN);
        return extend(lx, '=', TOK_EQ, TOK_ASSIGN);
    case '!':
        return extend(lx, '=', TOK_NE, TOK_ERROR);
    case '|':
        return extend(lx, '>', TOK_PIPE_GT, TOK_BAR);
    case '?':
        return extend(lx, '?', TOK_QUESTION_2, TOK_QUESTION);
    default:
        return TOK_ERROR;
    }
}

static TokenKind single_character(char c)
{
    static const char characters[] = "()[]{},;:&^~";
    static const uint8_t kinds[] = {
        TOK_LPAREN, TOK_RPAREN, TOK_LBRACKET,  TOK_RBRACKET, TOK_LBRACE, TOK_RBRACE,
        TOK_COMMA,  TOK_SEMICOLON, TOK_COLON, TOK_AMP,      TOK_CARET,  TOK_TILDE,
    };
    const char *found = memchr(characters, c, sizeof characters - 1);
    return found ? (TokenKind)kinds[found - characters] : TOK_ERROR;
}

static Token scan_punctuation(Lexer *lx)
{
    const char *start = lx->p++;
    TokenKind kind = single_character(*start);
    if (kind == TOK_ERROR)
        kind = scan_operator(lx, *start);
    return kind == TOK_ERROR ? error(lx, "unexpected character") : make(lx, kind, start);
}

Token lexer_next(Lexer *lx)
{
    skip_blank(lx);
    if (lx->p == lx->end)
        return make(lx, TOK_END, lx->p);
    char c = *lx->p;
    if (c == 'f' && peek(lx, 1) == '"') {
        lx->p++;
        return scan_string(lx, TOK_TEMPLATE);
    }
    if (is_name_start(c))
        return scan_name(lx);
    if (is_digit(c))
        return scan_number(lx);
    if (c == '"')
        return scan_string(lx, TOK_STRING);
    return scan_punctuation(lx);
}

const char *token_name(TokenKind kind)
{
    static const char *const names[TOK_COUNT] = {
        [TOK_END] = "end of input", [TOK_NAME] = "name",     [TOK_INT] = "integer",
        [TOK_FLOAT] = "number",     [TOK_STRING] = "string", [TOK_TEMPLATE] = "template",
        [TOK_ERROR] = "error",
#define NAME(name, text) [TOK_##name] = text,
        KEYWORDS(NAME) PUNCTUATION(NAME)
#undef NAME
    };
    return names[kind];
}
