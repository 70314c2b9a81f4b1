package suite;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.zip.CRC32;
import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.tar.TarArchiveInputStream;
import org.apache.commons.compress.archivers.tar.TarArchiveOutputStream;
import org.apache.commons.compress.compressors.CompressorStreamFactory;
import org.dacapo.parser.Config;

/** Commons Compress packs texts into a tar archive, compresses it in three ways, and reads each back. */
public class Compress extends Workload {

    private byte[][] files;

    public Compress(Config config, File scratch) throws Exception {
        super(config, scratch);
    }

    @Override
    protected void prepare(String size) {
        files = new byte[argument(size, 0)][];
        for (int number = 0; number < files.length; number++) {
            Keyed keyed = new Keyed("compress " + number);
            StringBuilder text = new StringBuilder();
            while (text.length() < 20000) {
                text.append(keyed.sentence(15, 3000)).append(' ').append(keyed.below(1 << 30)).append('\n');
            }
            files[number] = text.toString().getBytes(StandardCharsets.US_ASCII);
        }
    }

    @Override
    protected void iterate(String size) throws Exception {
        for (String method : new String[] {CompressorStreamFactory.BZIP2, CompressorStreamFactory.XZ, CompressorStreamFactory.SNAPPY_FRAMED}) {
            ByteArrayOutputStream packed = new ByteArrayOutputStream();
            pack(method, packed);
            Digest digest = new Digest();
            packed.writeTo(digest);
            System.out.println(method + ": " + digest + ", read back " + unpack(method, packed.toByteArray()));
        }
    }

    private void pack(String method, OutputStream packed) throws Exception {
        try (OutputStream compressed = new CompressorStreamFactory().createCompressorOutputStream(method, packed);
                TarArchiveOutputStream archive = new TarArchiveOutputStream(compressed)) {
            for (int number = 0; number < files.length; number++) {
                TarArchiveEntry entry = new TarArchiveEntry("texts/" + number + ".txt");
                entry.setSize(files[number].length);
                entry.setModTime(0);
                archive.putArchiveEntry(entry);
                archive.write(files[number]);
                archive.closeArchiveEntry();
            }
        }
    }

    private static long unpack(String method, byte[] packed) throws Exception {
        CRC32 sum = new CRC32();
        try (InputStream plain = new CompressorStreamFactory(true).createCompressorInputStream(method, new ByteArrayInputStream(packed));
                TarArchiveInputStream archive = new TarArchiveInputStream(plain)) {
            while (archive.getNextEntry() != null) {
                sum.update(archive.readAllBytes());
            }
        }
        return sum.getValue();
    }
}
