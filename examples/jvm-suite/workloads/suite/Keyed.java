package suite;

/** A linear congruential generator: the same numbers and words for the same key, on every machine and JDK. */
public final class Keyed {

    private static final String[] ONSETS = {"b", "c", "d", "f", "g", "h", "k", "l", "m", "n", "p", "r", "s", "t", "v", "st", "tr"};
    private static final String[] VOWELS = {"a", "e", "i", "o", "u", "ai", "ou"};
    private static final String[] CODAS = {"", "", "n", "r", "s", "t", "l", "nd"};

    private long state;

    public Keyed(String key) {
        state = 0x5DEECE66DL;
        for (char letter : key.toCharArray()) {
            state = (state ^ letter) * 6364136223846793005L + 1442695040888963407L;
        }
    }

    /** From 0 to {@code below} - 1, evenly. */
    public int below(int below) {
        state = state * 6364136223846793005L + 1442695040888963407L;
        return (int) (((state >>> 33) * below) >>> 31);
    }

    /** From 0 to {@code below} - 1, small ones much oftener, as words are distributed in a text. */
    public int skewed(int below) {
        double even = (below(1 << 20) + 0.5) / (1 << 20);
        return (int) (below * even * even * even);
    }

    /** From 0 to 1. */
    public double fraction() {
        return below(1 << 30) / (double) (1 << 30);
    }

    /** The word of this number: pronounceable, always the same. */
    public static String word(int number) {
        StringBuilder word = new StringBuilder();
        int rest = number * 7 + 3;
        do {
            word.append(ONSETS[rest % ONSETS.length]);
            rest /= ONSETS.length;
            word.append(VOWELS[(rest + number) % VOWELS.length]).append(CODAS[(rest * 3 + number) % CODAS.length]);
        } while (rest > 0);
        return word.toString();
    }

    /** A sentence of words from a vocabulary of this size. */
    public String sentence(int words, int vocabulary) {
        StringBuilder text = new StringBuilder();
        for (int done = 0; done < words; done++) {
            String word = word(skewed(vocabulary));
            text.append(done == 0 ? Character.toUpperCase(word.charAt(0)) + word.substring(1) : " " + word);
        }
        return text.append('.').toString();
    }
}
