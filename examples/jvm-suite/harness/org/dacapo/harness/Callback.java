package org.dacapo.harness;

import org.dacapo.parser.Config;

/**
 * Decides how often a benchmark is iterated and prints the lines. A subclass named by {@code -c} may override any method;
 * names and arguments are those of DaCapo 9.12-MR1 and later, so that callbacks written for it work here.
 */
public class Callback {

    protected final CommandLineArgs args;

    /** Iterations completed. */
    protected int iterations;

    /** Times of the last iterations in milliseconds, for convergence. */
    protected long[] times;

    /** Time of the last iteration in milliseconds. */
    protected long elapsed;

    private boolean warmup;

    public Callback(CommandLineArgs args) {
        this.args = args;
    }

    /** Before the first iteration of a benchmark. */
    public void init(Config config) {
        iterations = 0;
        times = new long[Math.max(1, args.getWindow())];
        warmup = args.getConverge() ? args.getWindow() > 0 : args.getIterations() != 1;
    }

    public boolean isWarmup() {
        return warmup;
    }

    /** After each iteration: whether there is another. */
    public boolean runAgain() {
        if (!warmup) {
            return false;
        }
        iterations++;
        if (!args.getConverge()) {
            warmup = iterations != args.getIterations() - 1;
            return true;
        }
        if (iterations >= args.getMaxIterations()) {
            Suite.ERR.println("Benchmark failed to converge.");
            return false;
        }
        times[(iterations - 1) % times.length] = elapsed;
        if (iterations < times.length) {
            return true;
        }
        double variation = TestHarness.variation(times);
        if (args.getVerbose()) {
            Suite.ERR.printf("Variation %4.2f%% achieved after %d iterations, target = %4.2f%%%n",
                    variation * 100, iterations, args.getTargetVar() * 100);
        }
        warmup = variation > args.getTargetVar();
        return true;
    }

    public void start(String benchmark) {
        start(benchmark, warmup);
    }

    protected void start(String benchmark, boolean warmup) {
        say(benchmark + " starting" + (warmup ? " warmup " + (iterations + 1) : ""));
    }

    /** @param duration milliseconds */
    public void stop(long duration) {
        stop(duration, warmup);
    }

    public void stop(long duration, boolean warmup) {
        elapsed = duration;
    }

    public void complete(String benchmark, boolean valid) {
        complete(benchmark, valid, warmup);
    }

    protected void complete(String benchmark, boolean valid, boolean warmup) {
        if (!valid) {
            say(benchmark + " FAILED" + (warmup ? " warmup" : ""));
        } else if (warmup) {
            say(benchmark + " completed warmup " + (iterations + 1) + " in " + elapsed + " msec");
        } else {
            say(benchmark + " PASSED in " + elapsed + " msec");
        }
    }

    private static void say(String what) {
        Suite.results().println("===== DaCapo " + Suite.version() + " " + what + " =====");
        Suite.results().flush();
    }
}
