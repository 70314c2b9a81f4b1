package suite;

import java.io.File;
import java.io.InputStreamReader;
import java.io.Reader;
import java.nio.charset.StandardCharsets;
import org.dacapo.parser.Config;
import org.mozilla.javascript.Context;
import org.mozilla.javascript.Scriptable;

/** Rhino interprets, then compiles, a JavaScript program: objects, closures, regular expressions, JSON, sorting. */
public class Rhino extends Workload {

    public Rhino(Config config, File scratch) throws Exception {
        super(config, scratch);
    }

    @Override
    protected void iterate(String size) throws Exception {
        for (int level : new int[] {-1, 9}) {
            Context context = Context.enter();
            try {
                context.setOptimizationLevel(level);
                context.setLanguageVersion(Context.VERSION_ES6);
                Scriptable scope = context.initStandardObjects();
                scope.put("ROUNDS", scope, argument(size, 0) * (level < 0 ? 1 : 4));
                try (Reader reader = new InputStreamReader(Rhino.class.getResourceAsStream("/mixture.js"), StandardCharsets.UTF_8)) {
                    System.out.println(level + ": " + Context.toString(context.evaluateReader(scope, reader, "mixture.js", 1, null)));
                }
            } finally {
                Context.exit();
            }
        }
    }
}
