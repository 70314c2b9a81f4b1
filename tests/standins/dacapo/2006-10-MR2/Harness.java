/** What {@code java -jar} starts. */
public final class Harness {

    private Harness() {}

    public static void main(String[] args) {
        dacapo.TestHarness.main(args);
    }
}
