package suite;

import java.io.File;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.LeafReaderContext;
import org.apache.lucene.index.Terms;
import org.apache.lucene.index.TermsEnum;
import org.apache.lucene.store.Directory;
import org.dacapo.parser.Config;

/** Lucene indexes texts in memory and merges the segments. */
public class Luindex extends Workload {

    private Documents documents;

    public Luindex(Config config, File scratch) throws Exception {
        super(config, scratch);
    }

    @Override
    protected void prepare(String size) {
        documents = new Documents(argument(size, 0));
    }

    @Override
    protected void iterate(String size) throws Exception {
        try (Directory directory = documents.index(); DirectoryReader reader = DirectoryReader.open(directory)) {
            System.out.println("documents: " + reader.numDocs());
            for (LeafReaderContext leaf : reader.leaves()) {
                Terms terms = leaf.reader().terms("body");
                long total = 0;
                long weighted = 0;
                TermsEnum each = terms.iterator();
                while (each.next() != null) {
                    total += each.totalTermFreq();
                    weighted += (long) each.docFreq() * each.term().length;
                }
                System.out.println("terms: " + terms.size() + " " + total + " " + weighted);
            }
        }
    }
}
