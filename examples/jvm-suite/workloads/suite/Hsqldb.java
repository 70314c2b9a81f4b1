package suite;

import java.io.File;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.Statement;
import java.util.Properties;
import org.dacapo.parser.Config;

/** Orders in HSQLDB, in memory: rows are inserted, joined, grouped and deleted. */
public class Hsqldb extends Workload {

    private static final String[] QUERIES = {
        "SELECT c.region, COUNT(*), SUM(l.amount * i.price) FROM customer c JOIN orders o ON o.customer = c.id"
                + " JOIN line l ON l.orders = o.id JOIN item i ON i.id = l.item GROUP BY c.region ORDER BY c.region",
        "SELECT i.id, SUM(l.amount) AS sold FROM item i JOIN line l ON l.item = i.id GROUP BY i.id"
                + " ORDER BY sold DESC, i.id LIMIT 10",
        "SELECT c.id, c.name FROM customer c WHERE NOT EXISTS (SELECT * FROM orders o WHERE o.customer = c.id)"
                + " ORDER BY c.name, c.id LIMIT 10",
        "SELECT MAX(n), MIN(n), COUNT(*) FROM (SELECT COUNT(*) AS n FROM line GROUP BY orders)",
    };

    private Connection connection;

    public Hsqldb(Config config, File scratch) throws Exception {
        super(config, scratch);
    }

    @Override
    protected void prepare(String size) throws Exception {
        Properties properties = new Properties();
        properties.setProperty("user", "SA");
        properties.setProperty("password", "");
        connection = new org.hsqldb.jdbc.JDBCDriver().connect("jdbc:hsqldb:mem:shop", properties);
        connection.setAutoCommit(false);
    }

    @Override
    protected void preIteration(String size) throws Exception {
        try (Statement statement = connection.createStatement()) {
            statement.execute("DROP SCHEMA PUBLIC CASCADE");
        }
    }

    @Override
    protected void iterate(String size) throws Exception {
        int orders = argument(size, 0);
        int customers = orders / 4;
        int items = 200;
        Keyed keyed = new Keyed("hsqldb");
        try (Statement statement = connection.createStatement()) {
            statement.execute("CREATE TABLE customer (id INT PRIMARY KEY, region INT, name VARCHAR(40))");
            statement.execute("CREATE TABLE item (id INT PRIMARY KEY, price INT)");
            statement.execute("CREATE TABLE orders (id INT PRIMARY KEY, customer INT, FOREIGN KEY (customer) REFERENCES customer(id))");
            statement.execute("CREATE TABLE line (orders INT, number INT, item INT, amount INT, PRIMARY KEY (orders, number),"
                    + " FOREIGN KEY (orders) REFERENCES orders(id) ON DELETE CASCADE, FOREIGN KEY (item) REFERENCES item(id))");
            try (PreparedStatement insert = connection.prepareStatement("INSERT INTO customer VALUES (?, ?, ?)")) {
                for (int id = 0; id < customers; id++) {
                    insert.setString(3, Keyed.word(keyed.below(5000)));
                    execute(insert, id, keyed.below(12));
                }
            }
            try (PreparedStatement insert = connection.prepareStatement("INSERT INTO item VALUES (?, ?)")) {
                for (int id = 0; id < items; id++) {
                    execute(insert, id, 1 + keyed.below(500));
                }
            }
            insertOrders(keyed, orders, customers, items);
            statement.execute("DELETE FROM orders WHERE MOD(id, 7) = 3");
            connection.commit();
            for (String query : QUERIES) {
                report(statement, query);
            }
        }
    }

    private void insertOrders(Keyed keyed, int orders, int customers, int items) throws Exception {
        try (PreparedStatement order = connection.prepareStatement("INSERT INTO orders VALUES (?, ?)");
                PreparedStatement line = connection.prepareStatement("INSERT INTO line VALUES (?, ?, ?, ?)")) {
            for (int id = 0; id < orders; id++) {
                execute(order, id, keyed.skewed(customers));
                int lines = 1 + keyed.below(8);
                for (int number = 0; number < lines; number++) {
                    execute(line, id, number, keyed.skewed(items), 1 + keyed.below(20));
                }
                connection.commit();
            }
        }
    }

    private static void execute(PreparedStatement statement, int... values) throws Exception {
        for (int place = 0; place < values.length; place++) {
            statement.setInt(place + 1, values[place]);
        }
        statement.executeUpdate();
    }

    private static void report(Statement statement, String query) throws Exception {
        try (ResultSet result = statement.executeQuery(query)) {
            int columns = result.getMetaData().getColumnCount();
            while (result.next()) {
                StringBuilder row = new StringBuilder();
                for (int column = 1; column <= columns; column++) {
                    row.append(result.getString(column)).append(' ');
                }
                System.out.println(row);
            }
        }
    }
}
