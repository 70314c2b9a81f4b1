package suite;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.nio.charset.StandardCharsets;
import java.util.Date;
import java.util.List;
import java.util.Map;
import javax.xml.transform.Transformer;
import javax.xml.transform.TransformerFactory;
import javax.xml.transform.sax.SAXResult;
import javax.xml.transform.stream.StreamSource;
import org.apache.fop.apps.FOUserAgent;
import org.apache.fop.apps.Fop;
import org.apache.fop.apps.FopFactory;
import org.apache.fop.apps.MimeConstants;
import org.dacapo.parser.Config;

/** FOP sets a report of chapters, lists, tables and footnotes, as PDF and as PostScript. */
public class FopReport extends Workload {

    private byte[] report;
    private FopFactory factory;

    public FopReport(Config config, File scratch) throws Exception {
        super(config, scratch);
    }

    @Override
    protected void prepare(String size) throws Exception {
        report = report(argument(size, 0)).getBytes(StandardCharsets.UTF_8);
        factory = FopFactory.newInstance(scratch.getAbsoluteFile().toURI());
    }

    private static String report(int chapters) {
        Keyed keyed = new Keyed("fop");
        StringBuilder text = new StringBuilder("<fo:root xmlns:fo='http://www.w3.org/1999/XSL/Format' font-family='Times' font-size='10pt'>"
                + "<fo:layout-master-set><fo:simple-page-master master-name='page' page-width='210mm' page-height='297mm' margin='20mm'>"
                + "<fo:region-body margin-bottom='10mm' margin-top='10mm'/><fo:region-before extent='8mm'/><fo:region-after extent='8mm'/>"
                + "</fo:simple-page-master></fo:layout-master-set>");
        for (int chapter = 1; chapter <= chapters; chapter++) {
            text.append("<fo:page-sequence master-reference='page'><fo:static-content flow-name='xsl-region-before'><fo:block"
                    + " text-align='end'><fo:retrieve-marker retrieve-class-name='title'/></fo:block></fo:static-content>"
                    + "<fo:static-content flow-name='xsl-region-after'><fo:block text-align='center'><fo:page-number/></fo:block>"
                    + "</fo:static-content><fo:flow flow-name='xsl-region-body'><fo:block font-size='16pt' font-weight='bold' space-after='5mm'>"
                    + "<fo:marker marker-class-name='title'>").append(keyed.sentence(3, 500)).append("</fo:marker>Chapter ").append(chapter)
                    .append("</fo:block>");
            for (int section = 3 + keyed.below(3); section > 0; section--) {
                paragraph(keyed, text);
                if (keyed.below(2) == 0) {
                    list(keyed, text);
                } else {
                    table(keyed, text);
                }
            }
            text.append("</fo:flow></fo:page-sequence>");
        }
        return text.append("</fo:root>").toString();
    }

    private static void paragraph(Keyed keyed, StringBuilder text) {
        text.append("<fo:block text-align='justify' hyphenate='false' space-after='3mm'>");
        for (int sentence = 4 + keyed.below(5); sentence > 0; sentence--) {
            text.append(keyed.sentence(8 + keyed.below(12), 4000)).append(' ');
            if (keyed.below(5) == 0) {
                text.append("<fo:inline font-style='italic'>").append(keyed.sentence(3, 4000)).append("</fo:inline> ");
            }
        }
        if (keyed.below(3) == 0) {
            text.append("<fo:footnote><fo:inline>*</fo:inline><fo:footnote-body><fo:block font-size='8pt'>* ")
                    .append(keyed.sentence(8, 4000)).append("</fo:block></fo:footnote-body></fo:footnote>");
        }
        text.append("</fo:block>");
    }

    private static void list(Keyed keyed, StringBuilder text) {
        text.append("<fo:list-block provisional-distance-between-starts='8mm' space-after='3mm'>");
        for (int item = 3 + keyed.below(4); item > 0; item--) {
            text.append("<fo:list-item><fo:list-item-label end-indent='label-end()'><fo:block>-</fo:block></fo:list-item-label>"
                    + "<fo:list-item-body start-indent='body-start()'><fo:block>").append(keyed.sentence(15, 4000))
                    .append("</fo:block></fo:list-item-body></fo:list-item>");
        }
        text.append("</fo:list-block>");
    }

    private static void table(Keyed keyed, StringBuilder text) {
        text.append("<fo:table table-layout='fixed' width='100%' border='0.5pt solid black' space-after='3mm'><fo:table-column"
                + " column-width='proportional-column-width(1)'/><fo:table-column column-width='proportional-column-width(2)'/>"
                + "<fo:table-column column-width='proportional-column-width(1)'/><fo:table-body>");
        for (int row = 3 + keyed.below(6); row > 0; row--) {
            text.append("<fo:table-row>");
            for (int column = 0; column < 3; column++) {
                text.append("<fo:table-cell border='0.25pt solid grey' padding='1mm'><fo:block>")
                        .append(column == 1 ? keyed.sentence(6, 4000) : "" + keyed.below(100000)).append("</fo:block></fo:table-cell>");
            }
            text.append("</fo:table-row>");
        }
        text.append("</fo:table-body></fo:table>");
    }

    @Override
    protected void iterate(String size) throws Exception {
        render(MimeConstants.MIME_PDF);
        render(MimeConstants.MIME_POSTSCRIPT);
    }

    @SuppressWarnings("unchecked") // FOP gives its options as a raw map
    private void render(String format) throws Exception {
        FOUserAgent agent = factory.newFOUserAgent();
        agent.setCreationDate(new Date(0));
        // Neither compressed nor with a colour profile: another JDK's zlib and profile need not be those of the reference.
        agent.getRendererOptions().put("filterList", Map.of("default", List.of("null")));
        agent.getRendererOptions().put("disable-srgb-colorspace", true);
        // Without a listener every page is logged.
        agent.getEventBroadcaster().addEventListener(event -> { });
        ByteArrayOutputStream output = new ByteArrayOutputStream();
        Fop fop = factory.newFop(format, agent, output);
        Transformer transformer = TransformerFactory.newDefaultInstance().newTransformer();
        transformer.transform(new StreamSource(new ByteArrayInputStream(report)), new SAXResult(fop.getDefaultHandler()));
        System.out.println(format + ": " + fop.getResults().getPageCount() + " pages, " + digest(output));
    }

    /** Without the lines that hold dates and identifiers. */
    private static Digest digest(ByteArrayOutputStream output) throws Exception {
        Digest digest = new Digest();
        for (String line : output.toString(StandardCharsets.ISO_8859_1).split("\n")) {
            if (!line.contains("/ID [") && !line.contains("Date")) {
                digest.write(line.getBytes(StandardCharsets.ISO_8859_1));
            }
        }
        return digest;
    }
}
