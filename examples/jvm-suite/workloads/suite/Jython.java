package suite;

import java.io.File;
import java.util.Properties;
import org.dacapo.parser.Config;
import org.python.core.PyInteger;
import org.python.util.PythonInterpreter;

/** Jython runs a Python program: classes, closures, generators, dictionaries, strings, sorting, exceptions. */
public class Jython extends Workload {

    private PythonInterpreter interpreter;

    public Jython(Config config, File scratch) throws Exception {
        super(config, scratch);
    }

    @Override
    protected void prepare(String size) {
        Properties properties = new Properties();
        properties.setProperty("python.cachedir.skip", "true");
        properties.setProperty("python.import.site", "false");
        properties.setProperty("python.home", "/usr/share/jython");
        PythonInterpreter.initialize(System.getProperties(), properties, new String[0]);
        interpreter = new PythonInterpreter();
    }

    @Override
    protected void iterate(String size) {
        interpreter.setOut(System.out);
        interpreter.set("ROUNDS", new PyInteger(argument(size, 0)));
        interpreter.execfile(Jython.class.getResourceAsStream("/mixture.py"), "mixture.py");
    }
}
