package standin;

import java.io.PrintStream;

/** What the stand-in's benchmarks do: nothing of use, but every way in which a benchmark of the real suite can behave. */
public final class Behaviour {

    private Behaviour() {}

    /**
     * One iteration.
     *
     * @param kind the first argument in the cnf file
     * @param milliseconds the second: how long to compute
     * @param iteration from 1
     * @param real the process's stream of the result lines, not captured by the harness
     */
    public static void iterate(String kind, int milliseconds, int iteration, PrintStream real) throws Exception {
        compute(milliseconds);
        switch (kind) {
            case "works" -> System.out.println("done");
            case "says" -> {
                System.out.println("Running on grammar one.g");
                System.err.println("Parser Generator   Version 0");
            }
            case "varies-first" -> System.out.println(iteration == 1 ? "done at first" : "done");
            case "varies" -> System.out.println("done " + iteration);
            case "throws" -> throw new RuntimeException("File Token.java doesn't exist");
            case "throws-later" -> {
                if (iteration > 1) {
                    throw new IllegalStateException("the second iteration finds what the first left");
                }
                System.out.println("done");
            }
            case "errs" -> throw new OutOfMemoryError("Java heap space");
            case "hangs" -> Thread.sleep(Long.MAX_VALUE);
            case "exits" -> System.exit(0);
            case "exits-later" -> {
                if (iteration > 1) {
                    System.exit(0);
                }
                System.out.println("done");
            }
            case "halts" -> Runtime.getRuntime().halt(255);
            case "crashes" -> {
                new ProcessBuilder("/bin/sh", "-c", "kill -9 " + ProcessHandle.current().pid()).start();
                Thread.sleep(Long.MAX_VALUE);
            }
            case "cut" -> {
                real.print("===== DaCapo cut PASS");
                real.flush();
                Runtime.getRuntime().halt(0);
            }
            default -> throw new IllegalArgumentException("no such behaviour: " + kind);
        }
    }

    private static void compute(int milliseconds) {
        long until = System.nanoTime() + milliseconds * 1_000_000L;
        while (System.nanoTime() < until) {
            Thread.onSpinWait();
        }
    }
}
