package org.dacapo.parser;

import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What a benchmark's cnf file says.
 *
 * <pre>
 * benchmark NAME class CLASS thread-model single|per_cpu jars "file", ... ;
 * size NAME args "word", ... [thread-limit N] output stdout digest 0x..., "file" digest|lines|bytes N, "file" exists;
 * description short "...", long "...";
 * </pre>
 */
public final class Config {

    /** A file or stream, and the property of it that is compared with what is expected. */
    public record Output(String file, String property, String expected) {
        /** Whether it is what was written to stdout or stderr. */
        public boolean isStream() {
            return file.equals("stdout.log") || file.equals("stderr.log");
        }
    }

    /** One size; a thread limit of 0 is none. */
    public record Size(List<String> args, int threadLimit, List<Output> outputs) {}

    private static final Pattern TOKEN = Pattern.compile("\"([^\"]*)\"|/\\*.*?\\*/|([,;])|([^\\s,;\"]+)", Pattern.DOTALL);

    public String name;
    public String className;

    /** Jars that the benchmark needs beside the suite's own. */
    public final List<String> jars = new ArrayList<>();

    private String threadModel = "single";
    private final Map<String, Size> sizes = new LinkedHashMap<>();
    private final Map<String, String> description = new LinkedHashMap<>();
    private final List<String> tokens = new ArrayList<>();
    private int at;

    private Config() {}

    /** @throws IOException where the text is not as described */
    public static Config parse(InputStream stream) throws IOException {
        Config config = new Config();
        Matcher matcher = TOKEN.matcher(new String(stream.readAllBytes(), StandardCharsets.UTF_8));
        while (matcher.find()) {
            if (!matcher.group().startsWith("/*")) {
                config.tokens.add(matcher.group(1) != null ? matcher.group(1) : matcher.group());
            }
        }
        while (config.at < config.tokens.size()) {
            config.section();
        }
        if (config.name == null || config.className == null) {
            throw new IOException("a cnf file needs: benchmark NAME class CLASS");
        }
        return config;
    }

    private void section() throws IOException {
        String word = next();
        switch (word) {
            case "benchmark" -> header();
            case "size" -> sizes.put(next(), readSize());
            case "description" -> {
                do {
                    description.put(next(), next());
                } while (more());
            }
            default -> throw new IOException("cnf file: unexpected " + word);
        }
    }

    private void header() throws IOException {
        name = next();
        while (!tokens.get(at).equals(";")) {
            String word = next();
            switch (word) {
                case "class" -> className = next();
                case "thread-model" -> threadModel = next();
                case "jars" -> {
                    do {
                        jars.add(next());
                    } while (more());
                    return;
                }
                default -> throw new IOException("cnf file: unexpected " + word);
            }
        }
        at++;
    }

    private Size readSize() throws IOException {
        List<String> args = new ArrayList<>();
        List<Output> outputs = new ArrayList<>();
        int limit = 0;
        while (true) {
            String word = next();
            switch (word) {
                case "args" -> {
                    args.add(next());
                    while (tokens.get(at).equals(",")) {
                        at++;
                        args.add(next());
                    }
                }
                case "thread-limit" -> limit = Integer.parseInt(next());
                case "output" -> {
                    do {
                        String file = next();
                        String property = next();
                        String expected = property.equals("exists") ? "yes" : next();
                        boolean stream = file.equals("stdout") || file.equals("stderr");
                        outputs.add(new Output(stream ? file + ".log" : file, property, expected));
                    } while (more());
                    return new Size(args, limit, outputs);
                }
                default -> throw new IOException("cnf file: unexpected " + word);
            }
        }
    }

    private String next() {
        return tokens.get(at++);
    }

    private boolean more() {
        return next().equals(",");
    }

    public boolean hasSize(String size) {
        return sizes.containsKey(size);
    }

    public List<String> sizes() {
        return List.copyOf(sizes.keySet());
    }

    /** Null where there is none of that name. */
    public Size size(String size) {
        return sizes.get(size);
    }

    public boolean perCpu() {
        return threadModel.equals("per_cpu");
    }

    public int threadLimit(String size) {
        return perCpu() ? sizes.get(size).threadLimit() : 1;
    }

    /** The number asked for, else the factor times the processors, at most the limit; 0 asks for nothing. */
    public int threads(String size, int asked, int factor) {
        if (asked > 0) {
            return asked;
        }
        if (!perCpu()) {
            return 1;
        }
        int all = Runtime.getRuntime().availableProcessors();
        if (factor > 0) {
            return all * factor;
        }
        return threadLimit(size) == 0 ? all : Math.min(all, threadLimit(size));
    }

    public void describe(PrintStream stream) {
        description.forEach((key, text) -> stream.printf("%-10s%s%n", key, text));
        stream.printf("%-10s%s%n", "sizes", String.join(" ", sizes.keySet()));
    }
}
