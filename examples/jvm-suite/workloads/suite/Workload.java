package suite;

import java.io.File;
import java.io.OutputStream;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import org.dacapo.harness.Benchmark;
import org.dacapo.parser.Config;

/** A benchmark whose arguments are numbers, and whose output is a few lines with counts and digests. */
abstract class Workload extends Benchmark {

    protected Workload(Config config, File scratch) throws Exception {
        super(config, scratch);
    }

    /** The number in this place of the size's arguments. */
    protected int argument(String size, int place) {
        return Integer.parseInt(arguments(size)[place]);
    }

    /** Takes all that is written to it into a digest. */
    static final class Digest extends OutputStream {

        private final MessageDigest digest;
        private long length;

        Digest() {
            try {
                digest = MessageDigest.getInstance("SHA-1");
            } catch (NoSuchAlgorithmException error) {
                throw new IllegalStateException(error);
            }
        }

        @Override
        public void write(int octet) {
            digest.update((byte) octet);
            length++;
        }

        @Override
        public void write(byte[] octets, int from, int count) {
            digest.update(octets, from, count);
            length += count;
        }

        /** Length and digest of what was written. */
        @Override
        public String toString() {
            return length + " bytes " + HexFormat.of().formatHex(digest.digest());
        }
    }
}
