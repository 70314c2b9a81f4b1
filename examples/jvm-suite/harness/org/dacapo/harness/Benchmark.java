package org.dacapo.harness;

import java.io.File;
import java.io.IOException;
import org.dacapo.parser.Config;
import org.dacapo.parser.Config.Output;

/** A benchmark: a subclass says what is prepared and what is iterated. */
public abstract class Benchmark {

    protected final Config config;

    /** The directory to work in. */
    protected final File scratch;

    private final Capture out;
    private final Capture err;
    private CommandLineArgs args;
    private int iteration;

    protected Benchmark(Config config, File scratch) throws Exception {
        this(config, scratch, true);
    }

    /** @param silent whether what the benchmark writes is only captured, not seen */
    protected Benchmark(Config config, File scratch, boolean silent) throws Exception {
        this.config = config;
        this.scratch = scratch;
        out = new Capture(Suite.OUT, new File(scratch, "stdout.log"), !silent);
        err = new Capture(Suite.ERR, new File(scratch, "stderr.log"), !silent);
    }

    /** Once, before the first iteration. */
    protected void prepare(String size) throws Exception {}

    /** Before each iteration, not timed. */
    protected void preIteration(String size) throws Exception {}

    /** What is timed. */
    protected abstract void iterate(String size) throws Exception;

    /** After each iteration and its lines, not timed. */
    protected void postIteration(String size) throws Exception {}

    /** The number of the iteration, from 1. */
    protected int iteration() {
        return iteration;
    }

    /** The number of threads to use. */
    protected int threads() {
        return config.threads(args.getSize(), args.getThreadCount(), args.getThreadFactor());
    }

    /** The arguments of the size in the cnf file. */
    protected String[] arguments(String size) {
        return config.size(size).args().stream()
                .map(word -> word.replace("${SCRATCH}", scratch.getAbsolutePath()).replace("${THREADS}", "" + threads()))
                .toArray(String[]::new);
    }

    final boolean run(Callback callback, CommandLineArgs args) throws Exception {
        this.args = args;
        String size = args.getSize();
        iteration++;
        if (iteration == 1) {
            prepare(size);
        }
        preIteration(size);
        restoreStreams();
        if (args.getVerbose()) {
            Suite.OUT.println("Benchmark parameters: " + String.join(" ", arguments(size)));
        }
        if (args.getPreIterationGC()) {
            System.gc();
        }
        Stopwatch stopwatch = new Stopwatch(callback);
        stopwatch.start(config.name);
        if (args.getValidateOutput()) {
            System.setOut(out.open());
            System.setErr(err.open());
        }
        try {
            iterate(size);
        } finally {
            restoreStreams();
            out.close();
            err.close();
        }
        stopwatch.stop();
        boolean valid = new Validation(config, scratch, args).passes(size);
        callback.complete(config.name, valid);
        postIteration(size);
        if (!args.getPreserve()) {
            removeOutput(size);
        }
        return valid;
    }

    final void cleanup(boolean preserve) throws IOException {
        if (!preserve) {
            TestHarness.remove(new File(scratch, config.name));
        }
    }

    private static void restoreStreams() {
        System.setOut(Suite.OUT);
        System.setErr(Suite.ERR);
    }

    private void removeOutput(String size) {
        for (Output output : config.size(size).outputs()) {
            if (!output.isStream()) {
                new File(scratch, output.file()).delete();
            }
        }
    }
}
