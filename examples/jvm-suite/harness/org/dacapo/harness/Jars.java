package org.dacapo.harness;

import java.io.File;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.dacapo.parser.Config;

/** The jars of a benchmark: each has a class loader of its own, so that one's libraries are not in the way of another's. */
final class Jars {

    private static final String FOLDER = "/usr/share/java/";

    private Jars() {}

    /** Sees the benchmark's jars and the classes in {@code workloads/} of this jar; the current one where it needs none. */
    static ClassLoader loader(Config config) throws IOException {
        ClassLoader current = Thread.currentThread().getContextClassLoader();
        if (config.jars.isEmpty()) {
            return current;
        }
        List<URL> places = new ArrayList<>();
        places.add(Jars.class.getResource("/workloads/"));
        for (String name : config.jars) {
            File jar = new File(FOLDER, name);
            if (!jar.exists()) {
                throw new FileNotFoundException(jar + ", which " + config.name + " needs: apt-get install " + packageOf(name));
            }
            places.add(jar.toURI().toURL());
        }
        return URLClassLoader.newInstance(places.toArray(new URL[0]), current);
    }

    private static String packageOf(String jar) throws IOException {
        try (InputStream list = Jars.class.getResourceAsStream("/packages")) {
            for (String line : new String(list.readAllBytes(), StandardCharsets.UTF_8).split("\n")) {
                String[] words = line.split("\\s+");
                if (words.length > 1 && words[1].equals(jar)) {
                    return words[0];
                }
            }
        }
        return "(the package that holds it)";
    }
}
