package org.dacapo.harness;

import java.io.BufferedOutputStream;
import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;

/** Takes what a benchmark writes to stdout or stderr to a file, and to the stream itself where it is to be seen. */
final class Capture extends OutputStream {

    private final PrintStream stream;
    private final File log;
    private final boolean seen;
    private OutputStream file;

    Capture(PrintStream stream, File log, boolean seen) {
        this.stream = stream;
        this.log = log;
        this.seen = seen;
    }

    /** A stream to write to; the file begins anew. */
    PrintStream open() throws IOException {
        file = new BufferedOutputStream(new FileOutputStream(log));
        return new PrintStream(this, true);
    }

    @Override
    public synchronized void write(int octet) throws IOException {
        write(new byte[] {(byte) octet}, 0, 1);
    }

    @Override
    public synchronized void write(byte[] octets, int from, int length) throws IOException {
        if (file != null) {
            file.write(octets, from, length);
        }
        if (seen) {
            stream.write(octets, from, length);
            stream.flush();
        }
    }

    @Override
    public synchronized void close() throws IOException {
        if (file != null) {
            file.close();
            file = null;
        }
    }
}
