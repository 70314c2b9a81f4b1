package org.dacapo.harness;

import java.io.File;
import java.io.FileNotFoundException;
import org.dacapo.parser.Config;
import standin.Behaviour;

/** The stand-in's benchmarks under the harness of 9.12 and later; arguments: behaviour, milliseconds, what is printed. */
public class StandIn extends Benchmark {

    public StandIn(Config config, File scratch) throws Exception {
        super(config, scratch, !config.name.equals("chatty"));
        if (config.name.equals("missing")) {
            throw new FileNotFoundException("dat/missing/input.txt");
        }
    }

    @Override
    protected void iterate(String size) throws Exception {
        String[] arguments = arguments(size);
        Behaviour.iterate(arguments[0], Integer.parseInt(arguments[1]), iteration(), Suite.results());
    }

    @Override
    protected void postIteration(String size) {
        if (config.name.equals("requests")) {
            Suite.results().println("===== DaCapo processed 200000 requests in 4935 msec, 40526 requests per second =====");
            Suite.results().println("===== DaCapo tail latency, simple: 50% 138 usec, 90% 402 usec, 99% 865 usec, 99.9% 1737 usec,"
                    + " 99.99% 41341 usec, max 52697 usec, measured over 200000 events =====");
        }
        if (config.name.equals("lusearch")) {
            served++;
            boolean older = Suite.version().equals("23.11-chopin");
            latencies(older ? "simple tail latency" : "tail latency, simple", 100 * served);
            if (!older) {
                latencies("tail latency, metered 100ms smoothing", 1);
            }
            latencies(older ? "metered tail latency" : "tail latency, metered full smoothing", 200 * served);
        }
    }

    private int served;

    private static void latencies(String kind, int median) {
        Suite.results().println("===== DaCapo " + kind + ": 50% " + median + " usec, 90% " + 2 * median + " usec, 99% "
                + 3 * median + " usec, 99.9% " + 4 * median + " usec, 99.99% " + 5 * median + " usec, max " + 6 * median
                + " usec, measured over 1000 events =====");
    }
}
