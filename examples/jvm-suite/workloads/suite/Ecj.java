package suite;

import java.io.File;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.dacapo.parser.Config;
import org.eclipse.jdt.core.compiler.CompilationProgress;
import org.eclipse.jdt.core.compiler.batch.BatchCompiler;

/** The Eclipse compiler compiles generated classes: generics, lambdas, switches, inner classes, string arithmetic. */
public class Ecj extends Workload {

    public Ecj(Config config, File scratch) throws Exception {
        super(config, scratch);
    }

    private Path folder(String name) {
        return scratch.toPath().resolve("ecj").resolve(name);
    }

    @Override
    protected void prepare(String size) throws Exception {
        Files.createDirectories(folder("source"));
        for (int number = 0; number < argument(size, 0); number++) {
            Files.writeString(folder("source").resolve("Unit" + number + ".java"), unit(number));
        }
    }

    private static String unit(int number) {
        Keyed keyed = new Keyed("ecj " + number);
        StringBuilder text = new StringBuilder("package made;\nimport java.util.*;\nimport java.util.function.*;\n");
        text.append("public class Unit").append(number).append("<T extends Comparable<T>> {\n");
        if (number > 0) {
            String other = "Unit" + keyed.below(number) + "<String>";
            text.append("  private final ").append(other).append(" other = new ").append(other).append("();\n");
        }
        text.append("  private final Map<String, List<T>> table = new TreeMap<>();\n");
        for (int method = 0; method < 12; method++) {
            method(keyed, text, method);
        }
        text.append("  static class Inner implements Supplier<String> { private final int size; Inner(int size) { this.size = size; }\n");
        text.append("    @Override public String get() { return \"inner \" + size; } }\n");
        return text.append("}\n").toString();
    }

    private static void method(Keyed keyed, StringBuilder text, int number) {
        int kind = keyed.below(5);
        text.append("  public long method").append(number).append("(int count, String name, T value) {\n    long result = ")
                .append(keyed.below(1000)).append(";\n");
        switch (kind) {
            case 0 -> {
                text.append("    switch (count % 9) {\n");
                for (int label = 0; label < 9; label++) {
                    text.append("      case ").append(label).append(": result += name.length() * ").append(keyed.below(50)).append("; break;\n");
                }
                text.append("      default: throw new IllegalArgumentException(\"count \" + count + \" of \" + name);\n    }\n");
            }
            case 1 -> text.append("    for (int i = 0; i < count; i++) { for (int j = i; j < ").append(keyed.below(90))
                    .append("; j += 2) { if ((i ^ j) % 3 == 0) { result += i * j; } else { result -= j; } } }\n");
            case 2 -> text.append("    List<T> found = table.computeIfAbsent(name, key -> new ArrayList<>());\n    found.add(value);\n")
                    .append("    Collections.sort(found);\n    for (T one : found) { result = result * 31 + one.hashCode(); }\n");
            case 3 -> text.append("    try { Supplier<String> made = new Inner(count); result += made.get().length(); }\n")
                    .append("    catch (RuntimeException error) { result = -1; } finally { table.remove(name); }\n");
            default -> text.append("    BinaryOperator<Integer> sum = (a, b) -> a + b * ").append(keyed.below(9)).append(";\n")
                    .append("    Integer[] all = {").append(keyed.below(99)).append(", count, name.length()};\n")
                    .append("    result += Arrays.stream(all).reduce(0, sum) + Arrays.asList(all).stream().filter(n -> n > 3).count();\n");
        }
        text.append("    return result + ").append(number == 0 ? "0" : "method" + keyed.below(number) + "(count / 2, name + '")
                .append(number == 0 ? "" : (char) ('a' + keyed.below(26)) + "', value)").append(";\n  }\n");
    }

    @Override
    protected void preIteration(String size) throws Exception {
        if (Files.exists(folder("classes"))) {
            for (Path path : files(folder("classes"))) {
                Files.delete(path);
            }
        }
    }

    @Override
    protected void iterate(String size) throws Exception {
        PrintWriter out = new PrintWriter(System.out, true);
        PrintWriter err = new PrintWriter(System.err, true);
        String[] words = {"-nowarn", "-proc:none", "-g", "-source", "11", "-target", "11", "-d", folder("classes").toString(), folder("source").toString()};
        boolean compiled = BatchCompiler.compile(words, out, err, (CompilationProgress) null);
        Digest digest = new Digest();
        List<Path> classes = files(folder("classes"));
        for (Path path : classes) {
            digest.write(Files.readAllBytes(path));
        }
        System.out.println("compiled: " + compiled + ", " + classes.size() + " classes, " + digest);
    }

    private static List<Path> files(Path folder) throws IOException {
        try (Stream<Path> paths = Files.walk(folder)) {
            return paths.filter(Files::isRegularFile).sorted().toList();
        }
    }
}
