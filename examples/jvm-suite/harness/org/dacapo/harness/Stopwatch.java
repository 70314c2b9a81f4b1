package org.dacapo.harness;

/** Times one iteration, and tells the callback. */
final class Stopwatch {

    private final Callback callback;
    private long began;

    Stopwatch(Callback callback) {
        this.callback = callback;
    }

    void start(String benchmark) {
        callback.start(benchmark);
        began = System.currentTimeMillis();
    }

    void stop() {
        callback.stop(System.currentTimeMillis() - began);
    }
}
