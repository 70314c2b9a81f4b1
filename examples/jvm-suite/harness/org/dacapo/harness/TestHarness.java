package org.dacapo.harness;

import java.io.File;
import java.io.FileInputStream;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.InvocationTargetException;
import java.net.JarURLConnection;
import java.net.URL;
import java.util.List;
import java.util.Locale;
import java.util.jar.JarEntry;
import org.dacapo.parser.Config;

/** Runs the benchmarks of the command line one after the other. */
public final class TestHarness {

    private static final int EXIT_EXCEPTION = -1;
    private static final int EXIT_INVALID = -2;

    private TestHarness() {}

    public static void main(String[] words) {
        // One locale and no display, so that output is the same everywhere.
        Locale.setDefault(new Locale("en", "AU"));
        System.setProperty("java.awt.headless", "true");
        try {
            CommandLineArgs args = new CommandLineArgs(words);
            File scratch = new File(args.getScratchDir());
            remove(scratch);
            scratch.mkdir();
            for (String name : args.benchmarks()) {
                consider(args, scratch, name);
            }
        } catch (Exception error) {
            System.setErr(Suite.ERR);
            Suite.ERR.println(error);
            error.printStackTrace(Suite.ERR);
            System.exit(EXIT_EXCEPTION);
        }
    }

    private static void consider(CommandLineArgs args, File scratch, String name) throws Exception {
        Config config = read(args, name);
        String size = args.getSize();
        if (!config.hasSize(size)) {
            Suite.ERR.println("No such size: \"" + size + "\" for benchmark " + name);
            System.exit(EXIT_EXCEPTION);
        }
        int threads = config.threads(size, args.getThreadCount(), args.getThreadFactor());
        int limit = config.threadLimit(size);
        if (args.getThreadFactor() != 0 && !config.perCpu()) {
            Suite.ERR.println("Can only set the thread factor for per_cpu configurable benchmarks");
        } else if (limit != 0 && threads > limit) {
            Suite.ERR.println("The specified number of threads (" + threads + ") is outside the range [1," + limit + "]");
        } else if (args.getInformation()) {
            config.describe(Suite.ERR);
        } else if (args.getSizes()) {
            Suite.ERR.println(String.join(" ", config.sizes()));
        } else {
            announce(args, config, threads, limit);
            run(args, scratch, config);
        }
    }

    private static void announce(CommandLineArgs args, Config config, int threads, int limit) {
        if (args.getVerbose()) {
            Suite.ERR.println("Class name: " + config.className);
            Suite.ERR.println("Configurations:");
            config.describe(Suite.ERR);
        }
        if (config.perCpu()) {
            Suite.OUT.println("Using scaled threading model. " + Runtime.getRuntime().availableProcessors() + " processors detected, "
                    + threads + " threads used to drive the workload, in a possible range of [1," + (limit == 0 ? "unlimited" : limit) + "]");
        } else if (args.getVerbose()) {
            Suite.OUT.println("Using a single thread to drive the workload.");
        }
    }

    private static void run(CommandLineArgs args, File scratch, Config config) throws Exception {
        Benchmark benchmark;
        try {
            ClassLoader loader = Jars.loader(config);
            Thread.currentThread().setContextClassLoader(loader);
            Class<?> type = Class.forName(config.className, true, loader);
            benchmark = (Benchmark) type.getConstructor(Config.class, File.class).newInstance(config, scratch);
        } catch (FileNotFoundException missing) {
            Suite.ERR.println("ERROR: there is no " + missing.getMessage());
            System.exit(EXIT_EXCEPTION);
            throw missing;
        } catch (InvocationTargetException error) {
            if (Suite.newerOptions() && error.getCause() instanceof FileNotFoundException missing) {
                Suite.ERR.printf("ERROR: The following file used by size '%s' could not be found: %s%n", args.getSize(), missing.getMessage());
                System.exit(EXIT_EXCEPTION);
            }
            throw error;
        }
        Callback callback = args.getCallback();
        callback.init(config);
        boolean valid = true;
        do {
            valid &= benchmark.run(callback, args);
        } while (callback.runAgain());
        benchmark.cleanup(args.getPreserve());
        if (!valid) {
            Suite.ERR.println("Validation FAILED for " + config.name + " " + args.getSize());
            if (!args.getIgnoreValidation()) {
                System.exit(EXIT_INVALID);
            }
        }
    }

    private static Config read(CommandLineArgs args, String name) throws IOException {
        InputStream stream = args.getCnfOverride() != null
                ? new FileInputStream(args.getCnfOverride())
                : TestHarness.class.getResourceAsStream("/" + Suite.cnfFolder() + name + ".cnf");
        try (stream) {
            return Config.parse(stream);
        }
    }

    /** The names of the benchmarks: those with a cnf file in the jar. */
    static List<String> benchmarksOfTheJar() throws IOException {
        URL folder = TestHarness.class.getResource("/" + Suite.cnfFolder());
        JarURLConnection connection = (JarURLConnection) folder.openConnection();
        return connection.getJarFile().stream()
                .map(JarEntry::getName)
                .filter(entry -> entry.startsWith(Suite.cnfFolder()) && entry.endsWith(".cnf"))
                .map(entry -> entry.substring(Suite.cnfFolder().length(), entry.length() - ".cnf".length()))
                .sorted()
                .toList();
    }

    /** Standard deviation divided by mean. */
    static double variation(long[] times) {
        double sum = 0;
        double squares = 0;
        for (long time : times) {
            sum += time;
            squares += (double) time * time;
        }
        double mean = sum / times.length;
        return Math.sqrt(Math.max(0, squares / times.length - mean * mean)) / mean;
    }

    /** A file or directory with all that is in it. */
    static void remove(File file) {
        File[] inside = file.listFiles();
        if (inside != null) {
            for (File one : inside) {
                remove(one);
            }
        }
        if (file.exists() && !file.delete()) {
            Suite.ERR.println("Could not delete " + file.getName());
        }
    }
}
