package suite;

import java.io.ByteArrayInputStream;
import java.io.File;
import java.nio.charset.StandardCharsets;
import javax.xml.transform.Templates;
import javax.xml.transform.Transformer;
import javax.xml.transform.stream.StreamResult;
import javax.xml.transform.stream.StreamSource;
import org.dacapo.parser.Config;

/** Xalan applies a stylesheet that sorts, groups by key, recurses and formats to a library's catalogue. */
public class Xalan extends Workload {

    private byte[] catalogue;

    public Xalan(Config config, File scratch) throws Exception {
        super(config, scratch);
    }

    @Override
    protected void prepare(String size) {
        catalogue = catalogue(argument(size, 0)).getBytes(StandardCharsets.UTF_8);
    }

    private static String catalogue(int books) {
        Keyed keyed = new Keyed("xalan");
        StringBuilder text = new StringBuilder("<library>\n");
        for (int id = 0; id < books; id++) {
            text.append("<book id='b").append(id).append("' year='").append(1800 + keyed.below(220)).append("' topic='")
                    .append(Keyed.word(keyed.skewed(40))).append("' price='").append(keyed.below(9000) / 100.0).append("'><title>")
                    .append(keyed.sentence(2 + keyed.below(5), 3000)).append("</title>");
            for (int author = 1 + keyed.below(3); author > 0; author--) {
                text.append("<author>").append(Keyed.word(keyed.below(800))).append("</author>");
            }
            text.append("<abstract>");
            for (int paragraph = 1 + keyed.below(4); paragraph > 0; paragraph--) {
                text.append("<p>").append(keyed.sentence(12, 4000)).append(" <em>")
                        .append(Keyed.word(keyed.below(4000))).append("</em> &amp; more</p>");
            }
            text.append("</abstract></book>\n");
        }
        return text.append("</library>\n").toString();
    }

    @Override
    protected void iterate(String size) throws Exception {
        // Named, because the JDK has a factory of its own that is not Debian's Xalan.
        var factory = new org.apache.xalan.processor.TransformerFactoryImpl();
        Templates templates = factory.newTemplates(new StreamSource(Xalan.class.getResourceAsStream("/catalogue.xsl")));
        for (String order : new String[] {"title", "@year", "author"}) {
            Transformer transformer = templates.newTransformer();
            transformer.setParameter("order", order);
            Digest digest = new Digest();
            transformer.transform(new StreamSource(new ByteArrayInputStream(catalogue)), new StreamResult(digest));
            System.out.println(order + ": " + digest);
        }
    }
}
