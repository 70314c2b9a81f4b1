#include "lz.h"

#include "codec.h"
#include "mem.h"

enum { HASH_BITS = 8, MIN_MATCH = 4, MAX_MATCH = 258, MAX_CHAIN = 16, MAX_OUTPUT = 1 << 26 };

/* Positions are stored plus one, so that 0 means none. */
typedef struct {
    const unsigned char *data;
    size_t len;
    uint32_t head[1 << HASH_BITS]; /* most recent position with this hash */
    uint32_t *previous;            /* the position before with the same hash */
} Window;

static uint32_t hash(const unsigned char *p)
{
    uint32_t x = (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
                 (uint32_t)p[3] << 24;
    return x * 2654435761u >> (32 - HASH_BITS);
}

static void insert(Window *w, size_t pos)
{
    if (pos + MIN_MATCH > w->len)
        return;
    uint32_t h = hash(w->data + pos);
    w->previous[pos] = w->head[h];
    w->head[h] = (uint32_t)pos + 1;
}

static size_t match_length(const Window *w, size_t a, size_t b)
{
    size_t n = 0;
    while (b + n < w->len && n < MAX_MATCH && w->data[a + n] == w->data[b + n])
        n++;
    return n;
}

/* Longest earlier occurrence of the text at pos; 0 if none is long enough. */
static size_t find_match(const Window *w, size_t pos, size_t *distance)
{
    size_t best = 0;
    if (pos + MIN_MATCH > w->len)
        return 0;
    uint32_t candidate = w->head[hash(w->data + pos)];
    for (int chain = 0; candidate != 0 && chain < MAX_CHAIN; chain++) {
        size_t at = candidate - 1;
        size_t n = match_length(w, at, pos);
        if (n > best) {
            best = n;
            *distance = pos - at;
        }
        candidate = w->previous[at];
    }
    return best >= MIN_MATCH ? best : 0;
}

static void put_literals(Buf *out, const unsigned char *data, size_t from, size_t to)
{
    if (from == to)
        return;
    varint_put(out, 2 * (to - from));
    buf_write(out, data + from, to - from);
}

void lz_compress(Buf *out, const char *data, size_t len)
{
    Window w = {.data = (const unsigned char *)data, .len = len};
    w.previous = rt_zalloc_array(len, sizeof *w.previous);
    size_t literal = 0;
    for (size_t pos = 0; pos < len;) {
        size_t distance = 0;
        size_t n = find_match(&w, pos, &distance);
        if (n == 0) {
            insert(&w, pos++);
            continue;
        }
        put_literals(out, w.data, literal, pos);
        varint_put(out, 2 * n + 1);
        varint_put(out, distance);
        for (; n > 0; n--)
            insert(&w, pos++);
        literal = pos;
    }
    put_literals(out, w.data, literal, len);
    rt_free(w.previous);
}

static bool copy_back(Buf *out, size_t start, uint64_t distance, uint64_t n)
{
    if (distance == 0 || distance > out->len - start)
        return false;
    buf_reserve(out, (size_t)n);
    for (uint64_t i = 0; i < n; i++) /* byte by byte: source and target may overlap */
        buf_putc(out, out->data[out->len - distance]);
    return true;
}

bool lz_expand(Buf *out, const char *data, size_t len)
{
    size_t pos = 0, start = out->len;
    while (pos < len) {
        uint64_t token, distance;
        if (!varint_get(data, len, &pos, &token))
            return false;
        uint64_t n = token / 2;
        if (n > MAX_OUTPUT)
            return false;
        if (token % 2 == 0) {
            if (n > len - pos)
                return false;
            buf_write(out, data + pos, (size_t)n);
            pos += (size_t)n;
        } else if (!varint_get(data, len, &pos, &distance) ||
                   !copy_back(out, start, distance, n)) {
            return false;
        }
    }
    return true;
}
