package dacapo;

import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.file.Files;
import java.security.MessageDigest;
import org.dacapo.parser.Config;
import org.dacapo.parser.Config.Output;
import standin.Behaviour;

/** The harness of 2006: what benchmarks print is seen, on the stream that they print it on. */
public final class TestHarness {

    private static final PrintStream OUT = System.out;
    private static final PrintStream ERR = System.err;

    private final Options options;
    private final Config config;
    private final File scratch;
    private int iteration;

    private TestHarness(Options options, Config config, File scratch) {
        this.options = options;
        this.config = config;
        this.scratch = scratch;
    }

    public static void main(String[] words) {
        if (words.length == 0) {
            Options.printUsage();
            return;
        }
        try {
            Options options = new Options(words);
            File scratch = new File(options.scratch);
            remove(scratch);
            scratch.mkdir();
            for (String name : options.benchmarks) {
                try (InputStream stream = TestHarness.class.getResourceAsStream("/cnf/" + name + ".cnf")) {
                    if (stream == null) {
                        Options.fail(20, "Unknown benchmark: " + name);
                    }
                    new TestHarness(options, Config.parse(stream), scratch).run();
                }
            }
        } catch (Exception error) {
            System.setErr(ERR);
            ERR.println(error);
            error.printStackTrace(ERR);
            System.exit(-1);
        }
    }

    private void run() throws Exception {
        if (options.information) {
            config.describe(ERR);
            return;
        }
        boolean valid = options.converge ? converge() : iterate();
        if (!options.preserve) {
            remove(new File(scratch, config.name));
        }
        if (!valid) {
            ERR.println("Validation FAILED for " + config.name + " " + options.size);
            if (!options.ignoreValidation) {
                System.exit(-2);
            }
        }
    }

    private boolean iterate() throws Exception {
        boolean valid = true;
        for (int done = 0; done < options.iterations - 1; done++) {
            valid &= once(false);
        }
        return once(true) && valid;
    }

    private boolean converge() throws Exception {
        long[] times = new long[options.window];
        boolean valid = true;
        int done = 0;
        while (done < options.window || done < options.maxIterations && variation(times) > options.variance) {
            valid &= once(false);
            times[done % options.window] = options.callback.elapsed();
            done++;
        }
        if (done < options.maxIterations) {
            return once(true) && valid;
        }
        ERR.println("Benchmark failed to converge.");
        return valid;
    }

    private boolean once(boolean timing) throws Exception {
        iteration++;
        Callback callback = options.callback;
        if (timing) {
            callback.start(config.name);
        } else {
            callback.startWarmup(config.name);
        }
        try (PrintStream out = captured(OUT, "stdout.log"); PrintStream err = captured(ERR, "stderr.log")) {
            System.setOut(out);
            System.setErr(err);
            String[] arguments = config.size(options.size).args().toArray(new String[0]);
            Behaviour.iterate(arguments[0], Integer.parseInt(arguments[1]), iteration, ERR);
        } finally {
            System.setOut(OUT);
            System.setErr(ERR);
        }
        if (timing) {
            callback.stop();
        } else {
            callback.stopWarmup();
        }
        boolean valid = !options.validate || isValid();
        if (timing) {
            callback.complete(config.name, valid);
        } else {
            callback.completeWarmup(config.name, valid);
        }
        return valid;
    }

    private PrintStream captured(PrintStream stream, String log) throws IOException {
        OutputStream file = new FileOutputStream(new File(scratch, log));
        return new PrintStream(new OutputStream() {
            @Override
            public void write(int octet) throws IOException {
                file.write(octet);
                stream.write(octet);
                stream.flush();
            }

            @Override
            public void close() throws IOException {
                file.close();
            }
        }, true);
    }

    private boolean isValid() throws Exception {
        boolean valid = true;
        for (Output output : config.size(options.size).outputs()) {
            byte[] octets = Files.readAllBytes(new File(scratch, output.file()).toPath());
            StringBuilder found = new StringBuilder("0x");
            for (byte octet : MessageDigest.getInstance("SHA-1").digest(octets)) {
                found.append(String.format("%02x", octet));
            }
            if (options.digestOutput && !output.expected().contentEquals(found)) {
                ERR.println("Digest validation failed for " + output.file() + ", expecting " + output.expected() + " found " + found);
                valid = false;
            }
        }
        return valid;
    }

    private static double variation(long[] times) {
        double sum = 0;
        double squares = 0;
        for (long time : times) {
            sum += time;
            squares += (double) time * time;
        }
        double mean = sum / times.length;
        return Math.sqrt(Math.max(0, squares / times.length - mean * mean)) / mean;
    }

    private static void remove(File file) {
        File[] inside = file.listFiles();
        if (inside != null) {
            for (File one : inside) {
                remove(one);
            }
        }
        if (file.exists() && !file.delete()) {
            ERR.println("Could not delete " + file.getName());
        }
    }
}
