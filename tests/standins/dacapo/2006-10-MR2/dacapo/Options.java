package dacapo;

import java.util.ArrayList;
import java.util.List;

/** The command line of 2006: options with one dash, all before the benchmarks; each mistake has an exit status of its own. */
final class Options {

    private static final int UNKNOWN_OPTION = 1;
    private static final int NOT_A_NUMBER = 18;

    final List<String> benchmarks = new ArrayList<>();
    String size = "default";
    String scratch = "./scratch";
    int iterations = 1;
    boolean converge;
    int maxIterations = 20;
    double variance = 0.03;
    int window = 3;
    boolean information;
    boolean verbose;
    boolean preserve;
    boolean digestOutput = true;
    boolean validate = true;
    boolean ignoreValidation;
    Callback callback = new Callback();

    private final String[] words;
    private int at;

    Options(String[] words) throws Exception {
        this.words = words;
        for (; at < words.length && words[at].startsWith("-"); at++) {
            try {
                take(words[at]);
            } catch (NumberFormatException error) {
                fail(NOT_A_NUMBER, "Could not parse numeric argument to \"" + words[at - 1] + "\"! (\"-h\" for usage)");
            }
        }
        if (at == words.length) {
            fail(19, "No benchmarks specified! (\"-h\" for usage)");
        }
        benchmarks.addAll(List.of(words).subList(at, words.length));
    }

    private void take(String option) throws Exception {
        switch (option) {
            case "-s" -> size = value(10, "No size specified!");
            case "-c" -> callback = made(value(11, "No callback class specified!"));
            case "-n" -> iterations = Integer.parseInt(value(14, "Number of iterations not specified!"));
            case "-converge" -> converge = true;
            case "-max_iterations" -> maxIterations = Integer.parseInt(value(15, "No max specified!"));
            case "-variance" -> variance = Double.parseDouble(value(16, "No variance specified!")) / 100;
            case "-window" -> window = Integer.parseInt(value(17, "No window size specified!"));
            case "-scratch" -> scratch = value(18, "No scratch directory specified!");
            case "-validationReport" -> value(18, "No report specified!");
            case "-i" -> information = true;
            case "-v" -> verbose = true;
            case "-h" -> printUsage();
            case "-debug" -> { }
            case "-preserve" -> preserve = true;
            case "-noDigestOutput" -> digestOutput = false;
            case "-noValidation" -> validate = false;
            case "-ignoreValidation" -> ignoreValidation = true;
            default -> fail(UNKNOWN_OPTION, "Unrecognized option " + option + " (\"-h\" for usage)");
        }
    }

    private String value(int status, String complaint) {
        if (at == words.length - 1) {
            fail(status, complaint + " (\"-h\" for usage)");
        }
        return words[++at];
    }

    private static Callback made(String name) throws Exception {
        Class<?> found = null;
        try {
            found = Class.forName(name);
        } catch (ClassNotFoundException error) {
            System.err.println(error);
            fail(12, "Could not find callback class " + name);
        }
        if (!Callback.class.isAssignableFrom(found)) {
            fail(13, name + " is not an instance of dacapo.Callback");
        }
        return (Callback) found.getConstructor().newInstance();
    }

    static void fail(int status, String complaint) {
        System.err.println(complaint);
        System.exit(status);
    }

    static void printUsage() {
        System.out.println("Usage: java -jar stand-in.jar [options ...] [benchmarks ...]");
        System.out.println("    -s small|default|large -n ITERATIONS -c CALLBACK -scratch DIRECTORY -i -v -h");
        System.out.println("    -converge -max_iterations N -variance PERCENT -window N");
        System.out.println("    -noValidation -ignoreValidation -noDigestOutput -validationReport FILE -preserve -debug");
    }
}
