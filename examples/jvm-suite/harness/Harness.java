import java.io.File;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.ArrayList;
import java.util.List;

/**
 * What {@code java -jar} starts. The harness itself is loaded through a loader of its own, which also sees the directory or
 * jar named by the property {@code dacapo.callback.classpath}: with {@code -jar}, a callback cannot be put on the class path.
 */
public final class Harness {

    private Harness() {}

    public static void main(String[] args) throws Exception {
        ClassLoader own = Harness.class.getClassLoader();
        List<URL> places = new ArrayList<>();
        URL folder = own.getResource("harness/");
        if (folder != null) {
            places.add(folder);
        }
        String callbacks = System.getProperty("dacapo.callback.classpath");
        if (callbacks != null) {
            places.add(new File(callbacks).getAbsoluteFile().toURI().toURL());
        }
        ClassLoader loader = URLClassLoader.newInstance(places.toArray(new URL[0]), own);
        Thread.currentThread().setContextClassLoader(loader);
        Class<?> harness = loader.loadClass("org.dacapo.harness.TestHarness");
        harness.getMethod("main", String[].class).invoke(null, (Object) args);
        System.exit(0);
    }
}
