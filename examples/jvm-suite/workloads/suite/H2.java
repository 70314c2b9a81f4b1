package suite;

import java.io.File;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import org.dacapo.parser.Config;

/** Bank transfers in H2, in memory: each moves money between an account, a teller and a branch, and leaves a record. */
public class H2 extends Workload {

    private Connection connection;

    public H2(Config config, File scratch) throws Exception {
        super(config, scratch);
    }

    @Override
    protected void prepare(String size) throws Exception {
        connection = new org.h2.Driver().connect("jdbc:h2:mem:bank;DB_CLOSE_DELAY=-1", new java.util.Properties());
        connection.setAutoCommit(false);
    }

    @Override
    protected void preIteration(String size) throws Exception {
        int branches = argument(size, 0);
        try (Statement statement = connection.createStatement()) {
            statement.execute("DROP ALL OBJECTS");
            statement.execute("CREATE TABLE branch (id INT PRIMARY KEY, balance BIGINT)");
            statement.execute("CREATE TABLE teller (id INT PRIMARY KEY, branch INT, balance BIGINT)");
            statement.execute("CREATE TABLE account (id INT PRIMARY KEY, branch INT, balance BIGINT, name VARCHAR(40))");
            statement.execute("CREATE TABLE history (id INT PRIMARY KEY, teller INT, branch INT, account INT, delta BIGINT)");
            statement.execute("CREATE INDEX history_account ON history(account)");
            statement.execute("CREATE INDEX account_name ON account(name)");
        }
        fill("INSERT INTO branch VALUES (?, ?)", branches, 0, 0);
        fill("INSERT INTO teller VALUES (?, ?, ?)", branches * 10, 10, 0);
        try (PreparedStatement insert = connection.prepareStatement("INSERT INTO account VALUES (?, ?, 1000, ?)")) {
            for (int id = 0; id < branches * 1000; id++) {
                insert.setInt(1, id);
                insert.setInt(2, id / 1000);
                insert.setString(3, Keyed.word(id));
                insert.execute();
            }
        }
        connection.commit();
    }

    private void fill(String sql, int rows, int perBranch, long balance) throws SQLException {
        try (PreparedStatement insert = connection.prepareStatement(sql)) {
            for (int id = 0; id < rows; id++) {
                int place = 1;
                insert.setInt(place++, id);
                if (perBranch > 0) {
                    insert.setInt(place++, id / perBranch);
                }
                insert.setLong(place, balance);
                insert.execute();
            }
        }
    }

    @Override
    protected void iterate(String size) throws Exception {
        int branches = argument(size, 0);
        int transactions = argument(size, 1);
        Keyed keyed = new Keyed("h2");
        long read = 0;
        try (PreparedStatement account = connection.prepareStatement("UPDATE account SET balance = balance + ? WHERE id = ?");
                PreparedStatement balance = connection.prepareStatement("SELECT balance FROM account WHERE id = ?");
                PreparedStatement teller = connection.prepareStatement("UPDATE teller SET balance = balance + ? WHERE id = ?");
                PreparedStatement branch = connection.prepareStatement("UPDATE branch SET balance = balance + ? WHERE id = ?");
                PreparedStatement history = connection.prepareStatement("INSERT INTO history VALUES (?, ?, ?, ?, ?)")) {
            for (int done = 0; done < transactions; done++) {
                int from = keyed.below(branches * 10);
                int to = keyed.below(branches * 1000);
                long delta = keyed.below(2001) - 1000;
                update(account, delta, to);
                balance.setInt(1, to);
                try (ResultSet result = balance.executeQuery()) {
                    result.next();
                    read += result.getLong(1);
                }
                update(teller, delta, from);
                update(branch, delta, from / 10);
                history.setInt(1, done);
                history.setInt(2, from);
                history.setInt(3, from / 10);
                history.setInt(4, to);
                history.setLong(5, delta);
                history.executeUpdate();
                if (done % 11 == 0) {
                    connection.rollback();
                } else {
                    connection.commit();
                }
            }
        }
        System.out.println("balances read: " + read);
        report("SELECT SUM(balance), COUNT(*) FROM account");
        report("SELECT SUM(balance), COUNT(*) FROM branch");
        report("SELECT SUM(delta), COUNT(*) FROM history");
        report("SELECT SUM(h.delta), COUNT(DISTINCT a.id) FROM history h JOIN account a ON a.id = h.account WHERE a.name LIKE 'b%'");
        report("SELECT MAX(total), COUNT(*) FROM (SELECT account, SUM(delta) AS total FROM history GROUP BY account HAVING COUNT(*) > 1)");
    }

    private static void update(PreparedStatement statement, long delta, int id) throws SQLException {
        statement.setLong(1, delta);
        statement.setInt(2, id);
        statement.executeUpdate();
    }

    private void report(String sql) throws SQLException {
        try (Statement statement = connection.createStatement(); ResultSet result = statement.executeQuery(sql)) {
            result.next();
            System.out.println(result.getLong(1) + " " + result.getLong(2));
        }
    }
}
