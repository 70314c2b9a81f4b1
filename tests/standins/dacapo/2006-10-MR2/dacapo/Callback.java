package dacapo;

/** Prints the lines of 2006: no version, no number of the warm-up. */
public class Callback {

    private long began;
    private long elapsed;

    public void startWarmup(String benchmark) {
        begin(benchmark + " starting warmup");
    }

    public void start(String benchmark) {
        begin(benchmark + " starting");
    }

    public void stopWarmup() {
        end();
    }

    public void stop() {
        end();
    }

    public void completeWarmup(String benchmark, boolean valid) {
        say(benchmark + (valid ? " completed warmup in " + elapsed + " msec" : " FAILED warmup"));
    }

    public void complete(String benchmark, boolean valid) {
        say(benchmark + (valid ? " PASSED in " + elapsed + " msec" : " FAILED"));
    }

    /** The time of the iteration that ended last, in milliseconds. */
    final long elapsed() {
        return elapsed;
    }

    private void begin(String what) {
        say(what);
        began = System.currentTimeMillis();
    }

    private void end() {
        elapsed = System.currentTimeMillis() - began;
    }

    private static void say(String what) {
        System.err.println("===== DaCapo " + what + " =====");
        System.err.flush();
    }
}
