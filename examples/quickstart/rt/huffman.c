#include "huffman.h"

#include "codec.h"

#include <string.h>

enum { MAX_NODES = 2 * HUFFMAN_SYMBOLS, MAX_BITS = 48 };

typedef struct {
    uint64_t weight[MAX_NODES];
    int parent[MAX_NODES];
    int heap[HUFFMAN_SYMBOLS];
    int heap_len;
    int nodes;
} Tree;

/* Ties go to the lower node number, so that the tree is unique. */
static bool lighter(const Tree *t, int a, int b)
{
    return t->weight[a] != t->weight[b] ? t->weight[a] < t->weight[b] : a < b;
}

static void sift_up(Tree *t, int i)
{
    while (i > 0 && lighter(t, t->heap[i], t->heap[(i - 1) / 2])) {
        int up = (i - 1) / 2, node = t->heap[i];
        t->heap[i] = t->heap[up];
        t->heap[up] = node;
        i = up;
    }
}

static void sift_down(Tree *t, int i)
{
    for (;;) {
        int child = 2 * i + 1;
        if (child >= t->heap_len)
            return;
        if (child + 1 < t->heap_len && lighter(t, t->heap[child + 1], t->heap[child]))
            child++;
        if (!lighter(t, t->heap[child], t->heap[i]))
            return;
        int node = t->heap[i];
        t->heap[i] = t->heap[child];
        t->heap[child] = node;
        i = child;
    }
}

static void push(Tree *t, int node)
{
    t->heap[t->heap_len++] = node;
    sift_up(t, t->heap_len - 1);
}

static int pop(Tree *t)
{
    int node = t->heap[0];
    t->heap[0] = t->heap[--t->heap_len];
    sift_down(t, 0);
    return node;
}

static void join(Tree *t)
{
    int a = pop(t), b = pop(t), node = t->nodes++;
    t->weight[node] = t->weight[a] + t->weight[b];
    t->parent[node] = -1;
    t->parent[a] = t->parent[b] = node;
    push(t, node);
}

void huffman_lengths(const char *data, size_t len, unsigned char lengths[HUFFMAN_SYMBOLS])
{
    Tree t = {.nodes = HUFFMAN_SYMBOLS};
    for (size_t i = 0; i < len; i++)
        t.weight[(unsigned char)data[i]]++;
    for (int s = 0; s < HUFFMAN_SYMBOLS; s++) {
        t.parent[s] = -1;
        if (t.weight[s] > 0)
            push(&t, s);
    }
    bool single = t.heap_len == 1;
    while (t.heap_len > 1)
        join(&t);
    for (int s = 0; s < HUFFMAN_SYMBOLS; s++) {
        lengths[s] = single && t.weight[s] > 0;
        for (int node = s; t.weight[s] > 0 && t.parent[node] >= 0; node = t.parent[node])
            lengths[s]++;
    }
}

/* The bytes that occur in canonical order: shorter codes first, then by value. */
typedef struct {
    unsigned char symbols[HUFFMAN_SYMBOLS];
    int count[MAX_BITS + 1]; /* number of codes of each length */
} Alphabet;

static void sort_alphabet(Alphabet *a, const unsigned char *lengths)
{
    int next[MAX_BITS + 1], total = 0;
    memset(a, 0, sizeof *a);
    for (int s = 0; s < HUFFMAN_SYMBOLS; s++)
        if (lengths[s] > 0)
            a->count[lengths[s]]++;
    for (int bits = 1; bits <= MAX_BITS; bits++) {
        next[bits] = total;
        total += a->count[bits];
    }
    for (int s = 0; s < HUFFMAN_SYMBOLS; s++)
        if (lengths[s] > 0)
            a->symbols[next[lengths[s]]++] = (unsigned char)s;
}

static void assign_codes(const Alphabet *a, uint64_t *codes)
{
    uint64_t code = 0;
    int n = 0;
    for (int bits = 1; bits <= MAX_BITS; bits++, code <<= 1)
        for (int i = 0; i < a->count[bits]; i++)
            codes[a->symbols[n++]] = code++;
}

typedef struct {
    Buf *out;
    unsigned char byte;
    int used;
} BitWriter;

static void put_bits(BitWriter *w, uint64_t code, int count)
{
    while (count-- > 0) {
        w->byte = (unsigned char)(w->byte << 1 | (code >> count & 1));
        if (++w->used == 8) {
            buf_putc(w->out, (char)w->byte);
            w->byte = 0;
            w->used = 0;
        }
    }
}

static void put_table(Buf *out, const unsigned char *lengths)
{
    size_t distinct = 0;
    for (int s = 0; s < HUFFMAN_SYMBOLS; s++)
        distinct += lengths[s] > 0;
    varint_put(out, distinct);
    for (int s = 0; s < HUFFMAN_SYMBOLS; s++) {
        if (lengths[s] > 0) {
            buf_putc(out, (char)s);
            buf_putc(out, (char)lengths[s]);
        }
    }
}

void huffman_encode(Buf *out, const char *data, size_t len)
{
    unsigned char lengths[HUFFMAN_SYMBOLS];
    uint64_t codes[HUFFMAN_SYMBOLS];
    Alphabet alphabet;
    huffman_lengths(data, len, lengths);
    sort_alphabet(&alphabet, lengths);
    assign_codes(&alphabet, codes);
    varint_put(out, len);
    put_table(out, lengths);
    BitWriter w = {.out = out};
    for (size_t i = 0; i < len; i++)
        put_bits(&w, codes[(unsigned char)data[i]], lengths[(unsigned char)data[i]]);
    if (w.used > 0)
        put_bits(&w, 0, 8 - w.used);
}

static bool get_table(Alphabet *a, const char *data, size_t len, size_t *pos)
{
    unsigned char lengths[HUFFMAN_SYMBOLS] = {0};
    uint64_t distinct;
    if (!varint_get(data, len, pos, &distinct) || distinct > HUFFMAN_SYMBOLS ||
        2 * distinct > len - *pos)
        return false;
    for (; distinct > 0; distinct--, *pos += 2) {
        unsigned char bits = (unsigned char)data[*pos + 1];
        if (bits == 0 || bits > MAX_BITS)
            return false;
        lengths[(unsigned char)data[*pos]] = bits;
    }
    sort_alphabet(a, lengths);
    return true;
}

/* Reads one code starting at bit *bit of data; -1 if there is none. */
static int get_symbol(const Alphabet *a, const char *data, size_t len, size_t *bit)
{
    int64_t code = 0, first = 0;
    int index = 0;
    for (int bits = 1; bits <= MAX_BITS && *bit < 8 * len; bits++) {
        code |= (unsigned char)data[*bit / 8] >> (7 - *bit % 8) & 1;
        ++*bit;
        if (code - first < a->count[bits])
            return a->symbols[index + (int)(code - first)];
        index += a->count[bits];
        first = (first + a->count[bits]) * 2;
        code *= 2;
        if (code < first)
            return -1;
    }
    return -1;
}

bool huffman_decode(Buf *out, const char *data, size_t len)
{
    size_t pos = 0;
    uint64_t size;
    Alphabet alphabet;
    if (!varint_get(data, len, &pos, &size) || !get_table(&alphabet, data, len, &pos))
        return false;
    size_t bit = 8 * pos;
    for (; size > 0; size--) {
        int symbol = get_symbol(&alphabet, data, len, &bit);
        if (symbol < 0)
            return false;
        buf_putc(out, (char)symbol);
    }
    return true;
}
