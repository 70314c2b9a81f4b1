import org.dacapo.harness.TestHarness;

/** What {@code java -jar} starts: in this version everything is on one class path. */
public final class Harness {

    private Harness() {}

    public static void main(String[] args) {
        TestHarness.main(args);
        System.exit(0);
    }
}
