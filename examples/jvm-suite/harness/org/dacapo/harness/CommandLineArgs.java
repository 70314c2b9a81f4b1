package org.dacapo.harness;

import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The command line: options of DaCapo 9.12 (and, where the jar says so, those that 23.11 added), then benchmarks. */
public final class CommandLineArgs {

    static final int EXIT_NO_SUCH_CALLBACK = 2;
    static final int EXIT_NOT_A_CALLBACK = 3;
    static final int EXIT_BAD_COMMAND_LINE = 4;
    static final int EXIT_UNKNOWN_BENCHMARK = 9;
    static final int EXIT_NO_BENCHMARK = 10;

    private record Option(String letter, String name, boolean valued, boolean newer, String help) {}

    private static final List<Option> OPTIONS = List.of(
            new Option("c", "callback", true, false, "class that brackets every iteration"),
            new Option("h", "help", false, false, "print this"),
            new Option("r", "release-notes", false, false, "print what this suite is"),
            new Option("l", "list-benchmarks", false, false, "print the names of the benchmarks"),
            new Option("i", "information", false, false, "print what a benchmark is"),
            new Option("s", "size", true, false, "size of the input (default: default)"),
            new Option(null, "scratch-directory", true, false, "directory to work in, emptied first (./scratch)"),
            new Option("t", "thread-count", true, false, "number of threads"),
            new Option("k", "thread-factor", true, false, "number of threads per processor"),
            new Option("C", "converge", false, false, "iterate until the times vary little"),
            new Option(null, "max-iterations", true, false, "with -C: iterations at most (20)"),
            new Option(null, "variance", true, false, "with -C: coefficient of variation to reach, in percent (3.0)"),
            new Option(null, "window", true, false, "with -C: iterations that it is taken over (3)"),
            new Option("n", "iterations", true, false, "number of iterations, of which the last counts (1)"),
            new Option("d", "debug", false, false, "say more"),
            new Option(null, "ignore-validation", false, false, "exit status 0 in spite of wrong output"),
            new Option(null, "no-digest-output", false, false, "do not check what was written to stdout and stderr"),
            new Option(null, "no-validation", false, false, "do not check the output"),
            new Option(null, "preserve", false, false, "keep the output files"),
            new Option(null, "validation-report", true, false, "write digests of the output to this file"),
            new Option(null, "config", true, false, null),
            new Option(null, "no-pre-iteration-gc", false, false, "no System.gc() before an iteration"),
            new Option("v", "verbose", false, false, "say what is done"),
            new Option(null, "sizes", false, true, "print the sizes of a benchmark"),
            new Option("f", "timeout-dialation", true, true, "factor of the benchmark's time limits (there are none)"),
            new Option(null, "latency-csv", false, true, "write the latencies of requests (there are none)"),
            new Option(null, "latency-hdr", false, true, "write the latencies of requests (there are none)"),
            new Option(null, "log-directory", true, true, "directory of these files"),
            new Option("p", "print-stats", false, true, "print nominal figures (there are none)"),
            new Option("w", "watchdog", true, true, "seconds after which the run is given up"));

    private final Map<String, String> given = new HashMap<>();
    private final List<String> benchmarks = new ArrayList<>();
    private final Callback callback;

    /** Exits with a status of its own where the line cannot be used, and with 0 where it only asks for information. */
    CommandLineArgs(String[] args) throws Exception {
        try {
            parse(args);
        } catch (IllegalArgumentException error) {
            Suite.ERR.println("Command line exception: " + error.getMessage());
            System.exit(EXIT_BAD_COMMAND_LINE);
        }
        if (answered()) {
            System.exit(0);
        }
        callback = makeCallback();
        if (benchmarks.isEmpty()) {
            printUsage();
            System.exit(EXIT_NO_BENCHMARK);
        }
        List<String> known = TestHarness.benchmarksOfTheJar();
        for (String name : benchmarks) {
            if (!known.contains(name)) {
                Suite.ERR.println("Unknown benchmark: " + name);
                System.exit(EXIT_UNKNOWN_BENCHMARK);
            }
        }
    }

    private void parse(String[] args) {
        int at = 0;
        while (at < args.length) {
            String word = args[at++];
            if (!word.startsWith("-") || word.equals("-")) {
                benchmarks.add(word);
                continue;
            }
            String attached = null;
            Option option;
            if (word.startsWith("--")) {
                int sign = word.indexOf('=');
                attached = sign < 0 ? null : word.substring(sign + 1);
                option = named(sign < 0 ? word : word.substring(0, sign));
            } else {
                option = lettered(word);
                attached = word.length() > 2 ? word.substring(word.charAt(2) == '=' ? 3 : 2) : null;
            }
            if (!option.valued()) {
                if (attached != null) {
                    throw new IllegalArgumentException("Unrecognized option: " + word);
                }
                given.put(option.name(), "");
            } else {
                if (attached == null && at == args.length) {
                    throw new IllegalArgumentException("Missing argument for option: " + word.replaceFirst("^-+", ""));
                }
                given.put(option.name(), attached != null ? attached : args[at++]);
            }
        }
        getIterations();
        getMaxIterations();
        getWindow();
        getTargetVar();
        getThreadCount();
        getThreadFactor();
    }

    private static Option named(String word) {
        for (Option option : available()) {
            if (word.equals("--" + option.name())) {
                return option;
            }
        }
        throw new IllegalArgumentException("Unrecognized option: " + word);
    }

    private static Option lettered(String word) {
        for (Option option : available()) {
            if (word.substring(1, 2).equals(option.letter())) {
                return option;
            }
        }
        throw new IllegalArgumentException("Unrecognized option: " + word);
    }

    private static List<Option> available() {
        return OPTIONS.stream().filter(option -> !option.newer() || Suite.newerOptions()).toList();
    }

    private boolean answered() throws IOException {
        if (has("list-benchmarks")) {
            Suite.OUT.println(String.join(" ", TestHarness.benchmarksOfTheJar()));
        }
        if (has("release-notes")) {
            Suite.OUT.println(Suite.title() + " " + Suite.version());
        }
        if (has("help")) {
            printUsage();
        }
        return has("list-benchmarks") || has("release-notes") || has("help");
    }

    private static void printUsage() {
        Suite.OUT.println("usage: " + Suite.title());
        for (Option option : available()) {
            if (option.help() != null) {
                String letter = option.letter() == null ? "   " : "-" + option.letter() + ",";
                Suite.OUT.printf(" %s--%-22s %s%n", letter, option.name() + (option.valued() ? " <arg>" : ""), option.help());
            }
        }
    }

    private Callback makeCallback() throws Exception {
        String name = given.get("callback");
        if (name == null) {
            return new Callback(this);
        }
        Class<?> found = null;
        try {
            found = Class.forName(name, true, Thread.currentThread().getContextClassLoader());
        } catch (ClassNotFoundException error) {
            Suite.ERR.println(error);
            Suite.ERR.println("Could not find callback class " + name);
            System.exit(EXIT_NO_SUCH_CALLBACK);
        }
        if (!Callback.class.isAssignableFrom(found)) {
            Suite.ERR.println(name + " is not an instance of Callback");
            System.exit(EXIT_NOT_A_CALLBACK);
        }
        return (Callback) found.getConstructor(CommandLineArgs.class).newInstance(this);
    }

    private boolean has(String name) {
        return given.containsKey(name);
    }

    private int number(String name, int otherwise) {
        String text = given.get(name);
        try {
            return text == null ? otherwise : Integer.parseInt(text);
        } catch (NumberFormatException error) {
            throw new IllegalArgumentException("--" + name + " needs a whole number, not " + text);
        }
    }

    public List<String> benchmarks() {
        return benchmarks;
    }

    public Callback getCallback() {
        return callback;
    }

    public boolean getConverge() {
        return has("converge");
    }

    public int getIterations() {
        return number("iterations", 1);
    }

    public int getMaxIterations() {
        return number("max-iterations", 20);
    }

    public int getWindow() {
        return number("window", 3);
    }

    /** The coefficient of variation to reach, as a fraction. */
    public double getTargetVar() {
        try {
            return Double.parseDouble(given.getOrDefault("variance", "3.0")) / 100;
        } catch (NumberFormatException error) {
            throw new IllegalArgumentException("--variance needs a number, not " + given.get("variance"));
        }
    }

    /** 0 where none was asked for. */
    public int getThreadCount() {
        return number("thread-count", 0);
    }

    /** 0 where none was asked for. */
    public int getThreadFactor() {
        return number("thread-factor", 0);
    }

    public String getSize() {
        return given.getOrDefault("size", "default");
    }

    public String getScratchDir() {
        return given.getOrDefault("scratch-directory", "./scratch");
    }

    public String getCnfOverride() {
        return given.get("config");
    }

    /** Where to write digests, or null. */
    public String getValidationReport() {
        return given.get("validation-report");
    }

    public boolean getInformation() {
        return has("information");
    }

    public boolean getSizes() {
        return has("sizes");
    }

    public boolean getVerbose() {
        return has("verbose");
    }

    public boolean getDebug() {
        return has("debug");
    }

    public boolean getIgnoreValidation() {
        return has("ignore-validation");
    }

    public boolean getValidateOutput() {
        return !has("no-digest-output");
    }

    public boolean getValidate() {
        return !has("no-validation");
    }

    public boolean getPreserve() {
        return has("preserve");
    }

    public boolean getPreIterationGC() {
        return !has("no-pre-iteration-gc");
    }
}
