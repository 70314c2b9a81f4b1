package org.dacapo.harness;

/** In this version the callback keeps the time itself. */
final class Stopwatch {

    private final Callback callback;

    Stopwatch(Callback callback) {
        this.callback = callback;
    }

    void start(String benchmark) {
        callback.start(benchmark);
    }

    void stop() {
        callback.stop();
    }
}
