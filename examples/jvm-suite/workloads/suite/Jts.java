package suite;

import java.io.File;
import java.util.ArrayList;
import java.util.List;
import org.dacapo.parser.Config;
import org.locationtech.jts.geom.Coordinate;
import org.locationtech.jts.geom.Envelope;
import org.locationtech.jts.geom.Geometry;
import org.locationtech.jts.geom.GeometryFactory;
import org.locationtech.jts.geom.PrecisionModel;
import org.locationtech.jts.index.strtree.STRtree;
import org.locationtech.jts.operation.union.UnaryUnionOp;
import org.locationtech.jts.triangulate.DelaunayTriangulationBuilder;

/** The JTS Topology Suite buffers, intersects and unites polygons on an integer grid, and triangulates points. */
public class Jts extends Workload {

    private final GeometryFactory factory = new GeometryFactory(new PrecisionModel(1));
    private List<Geometry> polygons;
    private List<Coordinate> points;

    public Jts(Config config, File scratch) throws Exception {
        super(config, scratch);
    }

    @Override
    protected void prepare(String size) {
        Keyed keyed = new Keyed("jts");
        polygons = new ArrayList<>();
        points = new ArrayList<>();
        for (int number = 0; number < argument(size, 0); number++) {
            int x = keyed.below(100000);
            int y = keyed.below(100000);
            int corners = 5 + keyed.below(20);
            Coordinate[] ring = new Coordinate[corners + 1];
            for (int corner = 0; corner < corners; corner++) {
                double angle = 2 * Math.PI * corner / corners;
                int radius = 500 + keyed.below(3000);
                ring[corner] = new Coordinate(Math.rint(x + radius * StrictMath.cos(angle)), Math.rint(y + radius * StrictMath.sin(angle)));
            }
            ring[corners] = ring[0];
            polygons.add(factory.createPolygon(ring));
            points.add(new Coordinate(x, y));
        }
    }

    @Override
    protected void iterate(String size) {
        STRtree index = new STRtree();
        for (Geometry polygon : polygons) {
            index.insert(polygon.getEnvelopeInternal(), polygon);
        }
        double shared = 0;
        int pairs = 0;
        for (Geometry polygon : polygons) {
            Envelope envelope = polygon.getEnvelopeInternal();
            for (Object other : index.query(envelope)) {
                if (other != polygon && polygon.intersects((Geometry) other)) {
                    shared += polygon.intersection((Geometry) other).getArea();
                    pairs++;
                }
            }
        }
        System.out.println(pairs + " pairs share " + shared);
        Geometry union = UnaryUnionOp.union(polygons);
        System.out.println("union: " + union.getNumPoints() + " points, area " + union.getArea());
        Geometry wider = union.buffer(300, 4);
        System.out.println("buffer: " + wider.getNumPoints() + " points, area " + wider.getArea());
        DelaunayTriangulationBuilder builder = new DelaunayTriangulationBuilder();
        builder.setSites(points);
        System.out.println("triangles: " + builder.getTriangles(factory).getNumGeometries());
    }
}
