#include "graph.h"

#include "mem.h"

#include <string.h>

/* Counting sort of the edges by source node. */
void graph_init(Graph *g, uint32_t nodes, const Edge *edges, size_t count)
{
    g->nodes = nodes;
    g->edges = count;
    g->first = rt_zalloc_array((size_t)nodes + 2, sizeof *g->first);
    g->edge = rt_alloc_array(count, sizeof *g->edge);
    for (size_t i = 0; i < count; i++)
        g->first[edges[i].from + 2]++;
    for (uint32_t v = 1; v <= nodes; v++)
        g->first[v + 1] += g->first[v];
    for (size_t i = 0; i < count; i++)
        g->edge[g->first[edges[i].from + 1]++] = edges[i];
}

void graph_free(Graph *g)
{
    rt_free(g->first);
    rt_free(g->edge);
    memset(g, 0, sizeof *g);
}

static void fill_unreached(const Graph *g, int64_t *distance)
{
    for (uint32_t v = 0; v < g->nodes; v++)
        distance[v] = GRAPH_UNREACHED;
}

void graph_bfs(const Graph *g, uint32_t source, int64_t *distance)
{
    uint32_t *queue = rt_alloc_array(g->nodes, sizeof *queue);
    uint32_t head = 0, tail = 0;
    fill_unreached(g, distance);
    distance[source] = 0;
    queue[tail++] = source;
    while (head < tail) {
        uint32_t v = queue[head++];
        for (uint32_t e = g->first[v]; e < g->first[v + 1]; e++) {
            uint32_t to = g->edge[e].to;
            if (distance[to] == GRAPH_UNREACHED) {
                distance[to] = distance[v] + 1;
                queue[tail++] = to;
            }
        }
    }
    rt_free(queue);
}

/* Binary heap of (distance, node) with lazy deletion. */
typedef struct {
    int64_t key;
    uint32_t node;
} HeapItem;

typedef struct {
    HeapItem *item;
    size_t len, cap;
} Heap;

static bool before(HeapItem a, HeapItem b)
{
    return a.key != b.key ? a.key < b.key : a.node < b.node;
}

static void heap_push(Heap *h, int64_t key, uint32_t node)
{
    if (h->len == h->cap) {
        h->cap = h->cap ? h->cap * 2 : 16;
        h->item = rt_realloc(h->item, h->cap * sizeof *h->item);
    }
    HeapItem item = {key, node};
    size_t i = h->len++;
    for (; i > 0 && before(item, h->item[(i - 1) / 2]); i = (i - 1) / 2)
        h->item[i] = h->item[(i - 1) / 2];
    h->item[i] = item;
}

static HeapItem heap_pop(Heap *h)
{
    HeapItem top = h->item[0], last = h->item[--h->len];
    size_t i = 0;
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= h->len)
            break;
        if (child + 1 < h->len && before(h->item[child + 1], h->item[child]))
            child++;
        if (!before(h->item[child], last))
            break;
        h->item[i] = h->item[child];
        i = child;
    }
    h->item[i] = last;
    return top;
}

void graph_dijkstra(const Graph *g, uint32_t source, int64_t *distance, uint32_t *previous)
{
    Heap heap = {NULL, 0, 0};
    fill_unreached(g, distance);
    for (uint32_t v = 0; v < g->nodes; v++)
        previous[v] = v;
    distance[source] = 0;
    heap_push(&heap, 0, source);
    while (heap.len > 0) {
        HeapItem top = heap_pop(&heap);
        if (top.key > distance[top.node])
            continue;
        for (uint32_t e = g->first[top.node]; e < g->first[top.node + 1]; e++) {
            uint32_t to = g->edge[e].to;
            int64_t through;
            if (__builtin_add_overflow(top.key, g->edge[e].weight, &through))
                continue;
            if (through < distance[to]) {
                distance[to] = through;
                previous[to] = top.node;
                heap_push(&heap, through, to);
            }
        }
    }
    rt_free(heap.item);
}

/* Kahn's algorithm, first-in first-out. */
bool graph_toposort(const Graph *g, uint32_t *order)
{
    uint32_t *pending = rt_zalloc_array(g->nodes, sizeof *pending);
    uint32_t head = 0, tail = 0;
    for (size_t e = 0; e < g->edges; e++)
        pending[g->edge[e].to]++;
    for (uint32_t v = 0; v < g->nodes; v++)
        if (pending[v] == 0)
            order[tail++] = v;
    while (head < tail) {
        uint32_t v = order[head++];
        for (uint32_t e = g->first[v]; e < g->first[v + 1]; e++)
            if (--pending[g->edge[e].to] == 0)
                order[tail++] = g->edge[e].to;
    }
    rt_free(pending);
    return tail == g->nodes;
}

/* State of Tarjan's algorithm, with an explicit stack instead of recursion. */
typedef struct {
    const Graph *g;
    uint32_t *index, *low, *stack, *path, *next;
    bool *on_stack;
    uint32_t counter, stack_len, path_len, components;
    uint32_t *component;
} Tarjan;

static void tarjan_enter(Tarjan *t, uint32_t v)
{
    t->index[v] = t->low[v] = ++t->counter;
    t->next[v] = t->g->first[v];
    t->stack[t->stack_len++] = v;
    t->on_stack[v] = true;
    t->path[t->path_len++] = v;
}

static void tarjan_leave(Tarjan *t, uint32_t v)
{
    t->path_len--;
    if (t->path_len > 0) {
        uint32_t parent = t->path[t->path_len - 1];
        if (t->low[v] < t->low[parent])
            t->low[parent] = t->low[v];
    }
    if (t->low[v] != t->index[v])
        return;
    uint32_t member;
    do {
        member = t->stack[--t->stack_len];
        t->on_stack[member] = false;
        t->component[member] = t->components;
    } while (member != v);
    t->components++;
}

static void tarjan_visit(Tarjan *t, uint32_t root)
{
    tarjan_enter(t, root);
    while (t->path_len > 0) {
        uint32_t v = t->path[t->path_len - 1];
        if (t->next[v] == t->g->first[v + 1]) {
            tarjan_leave(t, v);
            continue;
        }
        uint32_t to = t->g->edge[t->next[v]++].to;
        if (t->index[to] == 0)
            tarjan_enter(t, to);
        else if (t->on_stack[to] && t->index[to] < t->low[v])
            t->low[v] = t->index[to];
    }
}

uint32_t graph_components(const Graph *g, uint32_t *component)
{
    size_t n = g->nodes;
    Tarjan t = {.g = g, .component = component};
    t.index = rt_zalloc_array(5 * n, sizeof *t.index);
    t.low = t.index + n;
    t.stack = t.low + n;
    t.path = t.stack + n;
    t.next = t.path + n;
    t.on_stack = rt_zalloc_array(n, sizeof *t.on_stack);
    for (uint32_t v = 0; v < g->nodes; v++)
        if (t.index[v] == 0)
            tarjan_visit(&t, v);
    rt_free(t.index);
    rt_free(t.on_stack);
    return t.components;
}

static uint32_t find_root(uint32_t *parent, uint32_t v)
{
    while (parent[v] != v) {
        parent[v] = parent[parent[v]];
        v = parent[v];
    }
    return v;
}

/* Heap of edge numbers by weight, for Kruskal's algorithm. */
int64_t graph_spanning_weight(const Graph *g, size_t *chosen)
{
    Heap heap = {NULL, 0, 0};
    uint32_t *parent = rt_alloc_array(g->nodes, sizeof *parent);
    int64_t total = 0;
    *chosen = 0;
    for (uint32_t v = 0; v < g->nodes; v++)
        parent[v] = v;
    for (size_t e = 0; e < g->edges; e++)
        heap_push(&heap, g->edge[e].weight, (uint32_t)e);
    while (heap.len > 0) {
        HeapItem top = heap_pop(&heap);
        uint32_t a = find_root(parent, g->edge[top.node].from);
        uint32_t b = find_root(parent, g->edge[top.node].to);
        if (a == b || __builtin_add_overflow(total, top.key, &total))
            continue;
        parent[a] = b;
        ++*chosen;
    }
    rt_free(heap.item);
    rt_free(parent);
    return total;
}
