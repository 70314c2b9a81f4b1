package suite;

import java.awt.image.BufferedImage;
import java.io.File;
import java.io.StringReader;
import java.util.Locale;
import org.apache.batik.transcoder.TranscoderInput;
import org.apache.batik.transcoder.TranscoderOutput;
import org.apache.batik.transcoder.image.ImageTranscoder;
import org.dacapo.parser.Config;

/** Batik draws SVG pictures of curves, gradients, patterns, clips and filters; no text, so no fonts are needed. */
public class Batik extends Workload {

    private String[] pictures;

    public Batik(Config config, File scratch) throws Exception {
        super(config, scratch);
    }

    @Override
    protected void prepare(String size) {
        pictures = new String[argument(size, 0)];
        for (int number = 0; number < pictures.length; number++) {
            pictures[number] = picture(new Keyed("batik " + number), argument(size, 1));
        }
    }

    private static String picture(Keyed keyed, int shapes) {
        StringBuilder text = new StringBuilder("<svg xmlns='http://www.w3.org/2000/svg' xmlns:xlink='http://www.w3.org/1999/xlink'"
                + " width='400' height='300' viewBox='0 0 400 300'><style>.thin { stroke-width: 1 } .thick { stroke-width: 4 }</style><defs>");
        for (int id = 0; id < 4; id++) {
            text.append(String.format(Locale.ROOT, "<linearGradient id='g%d' x2='%.2f' y2='%.2f'><stop offset='0' stop-color='%s'/>"
                    + "<stop offset='1' stop-color='%s' stop-opacity='0.5'/></linearGradient>",
                    id, keyed.fraction(), keyed.fraction(), colour(keyed), colour(keyed)));
        }
        text.append("<clipPath id='c'><circle cx='200' cy='150' r='140'/></clipPath>"
                + "<filter id='f'><feGaussianBlur stdDeviation='2'/><feOffset dx='3' dy='3'/></filter></defs>"
                + "<rect width='400' height='300' fill='url(#g0)'/><g clip-path='url(#c)'>");
        for (int shape = 0; shape < shapes; shape++) {
            text.append(String.format(Locale.ROOT, "<path class='%s' d='M%d %d C%d %d %d %d %d %d S%d %d %d %d Z' fill='%s' stroke='%s'"
                    + " fill-opacity='%.2f' transform='rotate(%d 200 150)'%s/>",
                    keyed.below(2) == 0 ? "thin" : "thick", x(keyed), y(keyed), x(keyed), y(keyed), x(keyed), y(keyed), x(keyed), y(keyed),
                    x(keyed), y(keyed), x(keyed), y(keyed), keyed.below(3) == 0 ? "url(#g" + keyed.below(4) + ")" : colour(keyed),
                    colour(keyed), 0.2 + keyed.fraction() * 0.6, keyed.below(360), keyed.below(25) == 0 ? " filter='url(#f)'" : ""));
        }
        return text.append("</g></svg>").toString();
    }

    private static int x(Keyed keyed) {
        return keyed.below(400);
    }

    private static int y(Keyed keyed) {
        return keyed.below(300);
    }

    private static String colour(Keyed keyed) {
        return String.format("#%06x", keyed.below(1 << 24));
    }

    @Override
    protected void iterate(String size) throws Exception {
        for (String picture : pictures) {
            Painter painter = new Painter();
            painter.transcode(new TranscoderInput(new StringReader(picture)), new TranscoderOutput());
            System.out.println(painter.digest);
        }
    }

    /** Keeps a digest of the picture's points. */
    private static final class Painter extends ImageTranscoder {

        private final Digest digest = new Digest();

        @Override
        public BufferedImage createImage(int width, int height) {
            return new BufferedImage(width, height, BufferedImage.TYPE_INT_ARGB);
        }

        @Override
        public void writeImage(BufferedImage image, TranscoderOutput output) {
            int[] points = image.getRGB(0, 0, image.getWidth(), image.getHeight(), null, 0, image.getWidth());
            byte[] octets = new byte[points.length * 4];
            for (int place = 0; place < octets.length; place++) {
                octets[place] = (byte) (points[place / 4] >> place % 4 * 8);
            }
            digest.write(octets, 0, octets.length);
        }
    }
}
