grammar small;
program : function* EOF ;
function : 'fn' NAME '(' (NAME (',' NAME)*)? ')' block ;
block : '{' statement* '}' ;
statement
    : 'let' NAME '=' expression ';'
    | 'return' expression ';'
    | 'while' '(' expression ')' block
    | 'if' '(' expression ')' block ('else' block)?
    | expression ';'
    ;
expression
    : expression ('*' | '/') expression
    | expression ('+' | '-') expression
    | expression ('<' | '==') expression
    | NAME '(' (expression (',' expression)*)? ')'
    | '[' (expression (',' expression)*)? ']'
    | '(' expression ')'
    | NUMBER
    | STRING
    | NAME
    ;
NAME : [a-z_]+ ;
NUMBER : [0-9]+ ;
STRING : '"' ~["\n]* '"' ;
COMMENT : '//' ~[\n]* -> skip ;
BLANK : [ \t\n]+ -> skip ;
