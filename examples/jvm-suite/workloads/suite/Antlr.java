package suite;

import java.io.File;
import org.antlr.v4.runtime.CharStreams;
import org.antlr.v4.runtime.CommonTokenStream;
import org.antlr.v4.runtime.LexerInterpreter;
import org.antlr.v4.runtime.ParserInterpreter;
import org.antlr.v4.runtime.tree.ParseTree;
import org.antlr.v4.tool.Grammar;
import org.dacapo.parser.Config;

/** ANTLR reads a grammar of a small language, makes its automata, and parses programs with them. */
public class Antlr extends Workload {

    private String program;

    public Antlr(Config config, File scratch) throws Exception {
        super(config, scratch);
    }

    @Override
    protected void prepare(String size) {
        Keyed keyed = new Keyed("antlr");
        StringBuilder text = new StringBuilder();
        for (int function = 0; function < argument(size, 0); function++) {
            text.append("fn ").append(Keyed.word(function)).append("_f(a, b, c) {\n");
            for (int statement = 3 + keyed.below(8); statement > 0; statement--) {
                statement(keyed, text, 0);
            }
            text.append("}\n");
        }
        program = text.toString();
    }

    private static void statement(Keyed keyed, StringBuilder text, int depth) {
        switch (keyed.below(depth > 2 ? 2 : 4)) {
            case 0 -> text.append("let ").append(Keyed.word(keyed.below(50))).append("_v = ").append(expression(keyed, 0)).append(";\n");
            case 1 -> text.append("return ").append(expression(keyed, 0)).append("; // ").append(keyed.below(100)).append('\n');
            case 2 -> {
                text.append("while (").append(expression(keyed, 1)).append(" < ").append(keyed.below(1000)).append(") {\n");
                statement(keyed, text, depth + 1);
                statement(keyed, text, depth + 1);
                text.append("}\n");
            }
            default -> {
                text.append("if (").append(expression(keyed, 1)).append(" == \"").append(Keyed.word(keyed.below(90))).append("\") {\n");
                statement(keyed, text, depth + 1);
                text.append("} else {\n");
                statement(keyed, text, depth + 1);
                text.append("}\n");
            }
        }
    }

    private static String expression(Keyed keyed, int depth) {
        return switch (keyed.below(depth > 3 ? 2 : 6)) {
            case 0 -> Integer.toString(keyed.below(10000));
            case 1 -> Keyed.word(keyed.below(50)) + "_v";
            case 2 -> "(" + expression(keyed, depth + 1) + ")";
            case 3 -> Keyed.word(keyed.below(50)) + "_f(" + expression(keyed, depth + 1) + ", " + expression(keyed, depth + 1) + ")";
            case 4 -> "[" + expression(keyed, depth + 1) + ", " + expression(keyed, depth + 1) + "]";
            default -> expression(keyed, depth + 1) + " " + "+-*/".charAt(keyed.below(4)) + " " + expression(keyed, depth + 1);
        };
    }

    @Override
    protected void iterate(String size) throws Exception {
        String text = new String(Antlr.class.getResourceAsStream("/small.g4").readAllBytes(), java.nio.charset.StandardCharsets.UTF_8);
        Grammar grammar = new Grammar(text);
        LexerInterpreter lexer = grammar.createLexerInterpreter(CharStreams.fromString(program));
        CommonTokenStream tokens = new CommonTokenStream(lexer);
        ParserInterpreter parser = grammar.createParserInterpreter(tokens);
        ParseTree tree = parser.parse(grammar.getRule("program").index);
        System.out.println(tokens.size() + " tokens, " + parser.getNumberOfSyntaxErrors() + " errors, " + nodes(tree) + " nodes, depth " + depth(tree));
    }

    private static int nodes(ParseTree tree) {
        int count = 1;
        for (int child = 0; child < tree.getChildCount(); child++) {
            count += nodes(tree.getChild(child));
        }
        return count;
    }

    private static int depth(ParseTree tree) {
        int deepest = 0;
        for (int child = 0; child < tree.getChildCount(); child++) {
            deepest = Math.max(deepest, depth(tree.getChild(child)));
        }
        return deepest + 1;
    }
}
