package org.dacapo.harness;

import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.util.Properties;

/** What the jar says of itself in {@code suite.properties}. */
public final class Suite {

    /** The process's own streams, kept before any benchmark redirects them. */
    static final PrintStream OUT = System.out;

    static final PrintStream ERR = System.err;

    private static final Properties PROPERTIES = read();

    private Suite() {}

    /** The word after "DaCapo" in every line: names this suite and its version. */
    public static String version() {
        return PROPERTIES.getProperty("version", "unknown");
    }

    /** The name of the suite in its help. */
    static String title() {
        return PROPERTIES.getProperty("title", "suite");
    }

    /** The stream of the result lines. */
    public static PrintStream results() {
        return PROPERTIES.getProperty("results", "stderr").equals("stdout") ? OUT : ERR;
    }

    /** The folder of the jar with one {@code NAME.cnf} per benchmark, ending in a slash. */
    static String cnfFolder() {
        return PROPERTIES.getProperty("cnf", "cnf/");
    }

    /** Whether the options that DaCapo 23.11 added are accepted. */
    static boolean newerOptions() {
        return Boolean.parseBoolean(PROPERTIES.getProperty("newer-options", "false"));
    }

    private static Properties read() {
        Properties properties = new Properties();
        try (InputStream stream = Suite.class.getResourceAsStream("/suite.properties")) {
            if (stream != null) {
                properties.load(stream);
            }
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
        return properties;
    }
}
