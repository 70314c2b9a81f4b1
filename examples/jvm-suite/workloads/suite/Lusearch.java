package suite;

import java.io.File;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.Term;
import org.apache.lucene.search.BooleanClause;
import org.apache.lucene.search.BooleanQuery;
import org.apache.lucene.search.FuzzyQuery;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.PhraseQuery;
import org.apache.lucene.search.PrefixQuery;
import org.apache.lucene.search.Query;
import org.apache.lucene.search.ScoreDoc;
import org.apache.lucene.search.TermQuery;
import org.apache.lucene.search.TopDocs;
import org.dacapo.parser.Config;

/** Lucene answers queries over an index in memory, in several threads, each with its share of the query sets. */
public class Lusearch extends Workload {

    private static final int SETS = 16;

    private DirectoryReader reader;

    public Lusearch(Config config, File scratch) throws Exception {
        super(config, scratch);
    }

    @Override
    protected void prepare(String size) throws Exception {
        reader = DirectoryReader.open(new Documents(argument(size, 0)).index());
    }

    @Override
    protected void iterate(String size) throws Exception {
        int queries = argument(size, 1);
        IndexSearcher searcher = new IndexSearcher(reader);
        searcher.setQueryCache(null);
        ExecutorService threads = Executors.newFixedThreadPool(threads());
        try {
            List<Future<String>> answers = new ArrayList<>();
            for (int set = 0; set < SETS; set++) {
                Keyed keyed = new Keyed("lusearch " + set);
                answers.add(threads.submit(() -> answer(searcher, keyed, queries)));
            }
            for (Future<String> answer : answers) {
                System.out.println(answer.get());
            }
        } finally {
            threads.shutdown();
        }
    }

    private static String answer(IndexSearcher searcher, Keyed keyed, int queries) throws Exception {
        long hits = 0;
        long found = 0;
        for (int done = 0; done < queries; done++) {
            TopDocs top = searcher.search(query(keyed, done % 6), 10);
            hits += top.totalHits.value;
            for (ScoreDoc document : top.scoreDocs) {
                found = found * 31 + document.doc;
                found += searcher.doc(document.doc).get("id").length();
            }
        }
        return hits + " " + found;
    }

    private static Query query(Keyed keyed, int kind) {
        Term first = term(keyed);
        Term second = term(keyed);
        return switch (kind) {
            case 0 -> new TermQuery(first);
            case 1 -> two(first, second, BooleanClause.Occur.MUST);
            case 2 -> two(first, second, BooleanClause.Occur.SHOULD);
            case 3 -> new PhraseQuery(2, "body", first.text(), second.text());
            case 4 -> new PrefixQuery(new Term("body", first.text().substring(0, 2)));
            default -> new FuzzyQuery(first, 1);
        };
    }

    private static Query two(Term first, Term second, BooleanClause.Occur occur) {
        return new BooleanQuery.Builder().add(new TermQuery(first), occur).add(new TermQuery(second), occur).build();
    }

    private static Term term(Keyed keyed) {
        return new Term("body", Keyed.word(keyed.skewed(Documents.VOCABULARY)));
    }
}
