package suite;

import java.io.IOException;
import org.apache.lucene.analysis.standard.StandardAnalyzer;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.NumericDocValuesField;
import org.apache.lucene.document.StringField;
import org.apache.lucene.document.TextField;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.index.SerialMergeScheduler;
import org.apache.lucene.store.ByteBuffersDirectory;
import org.apache.lucene.store.Directory;

/** A collection of texts, and an index of them in memory, made by one thread so that it is always the same. */
final class Documents {

    static final int VOCABULARY = 20000;

    private final String[] bodies;

    Documents(int count) {
        Keyed keyed = new Keyed("lucene");
        bodies = new String[count];
        for (int number = 0; number < count; number++) {
            StringBuilder body = new StringBuilder();
            for (int sentence = 3 + keyed.below(12); sentence > 0; sentence--) {
                body.append(keyed.sentence(5 + keyed.below(20), VOCABULARY)).append('\n');
            }
            bodies[number] = body.toString();
        }
    }

    Directory index() throws IOException {
        Directory directory = new ByteBuffersDirectory();
        IndexWriterConfig settings = new IndexWriterConfig(new StandardAnalyzer())
                .setMergeScheduler(new SerialMergeScheduler())
                .setMaxBufferedDocs(200)
                .setRAMBufferSizeMB(IndexWriterConfig.DISABLE_AUTO_FLUSH);
        try (IndexWriter writer = new IndexWriter(directory, settings)) {
            for (int number = 0; number < bodies.length; number++) {
                Document document = new Document();
                document.add(new StringField("id", Integer.toString(number), Field.Store.YES));
                document.add(new TextField("body", bodies[number], Field.Store.YES));
                document.add(new NumericDocValuesField("length", bodies[number].length()));
                writer.addDocument(document);
            }
            writer.forceMerge(1);
        }
        return directory;
    }
}
