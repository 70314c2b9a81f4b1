package org.dacapo.harness;

import java.io.File;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import org.dacapo.parser.Config;
import org.dacapo.parser.Config.Output;

/** Compares the output of an iteration with what the benchmark's cnf file says. */
final class Validation {

    private final Config config;
    private final File scratch;
    private final CommandLineArgs args;

    Validation(Config config, File scratch, CommandLineArgs args) {
        this.config = config;
        this.scratch = scratch;
        this.args = args;
    }

    boolean passes(String size) throws IOException {
        if (!args.getValidate()) {
            return true;
        }
        StringBuilder report = new StringBuilder("Validating " + config.name + " " + size + "\n");
        boolean valid = true;
        for (Output output : config.size(size).outputs()) {
            if (!output.isStream() || args.getValidateOutput()) {
                valid &= matches(output, report);
            }
        }
        if (args.getValidationReport() != null) {
            try (PrintWriter writer = new PrintWriter(args.getValidationReport(), StandardCharsets.UTF_8)) {
                writer.print(report);
            }
        }
        return valid;
    }

    private boolean matches(Output output, StringBuilder report) throws IOException {
        File file = new File(scratch, output.file());
        String found = measured(output, file);
        report.append("  \"").append(output.file()).append("\" ").append(output.property()).append(' ').append(found).append('\n');
        if (found.equals(output.expected())) {
            if (args.getVerbose()) {
                Suite.OUT.println(output.property() + " validation succeeded for " + output.file());
            }
            return true;
        }
        Suite.ERR.println(switch (output.property()) {
            case "digest" -> "Digest validation failed for " + output.file() + ", expecting " + output.expected() + " found " + found;
            case "lines" -> "Line count validation failed for " + output.file() + ", expecting " + output.expected() + " found " + found;
            case "bytes" -> "Byte count validation failed for " + output.file() + ", expecting " + output.expected() + " found " + found;
            default -> "Expected file " + output.file() + " does not exist";
        });
        return false;
    }

    private static String measured(Output output, File file) throws IOException {
        if (!file.exists()) {
            switch (output.property()) {
                case "digest":
                    return "0x<File not found>";
                case "exists":
                    return "no";
                default:
                    Suite.ERR.println("File not found, " + output.file());
                    return "-1";
            }
        }
        switch (output.property()) {
            case "digest":
                return "0x" + digest(file);
            case "lines":
                try (var lines = Files.lines(file.toPath(), StandardCharsets.ISO_8859_1)) {
                    return Long.toString(lines.count());
                }
            case "bytes":
                return Long.toString(file.length());
            default:
                return "yes";
        }
    }

    private static String digest(File file) throws IOException {
        try {
            byte[] digest = MessageDigest.getInstance("SHA-1").digest(Files.readAllBytes(file.toPath()));
            StringBuilder text = new StringBuilder();
            for (byte octet : digest) {
                text.append(String.format("%02x", octet));
            }
            return text.toString();
        } catch (NoSuchAlgorithmException error) {
            throw new FileNotFoundException(error.getMessage());
        }
    }
}
