/* The module `graph`.  A graph is a number of nodes and a list of [from, to, weight]. */
#include "../src/native.h"

#include "../rt/graph.h"
#include "../rt/mem.h"

enum { MAX_NODES = 1 << 20 };

/* An edge without a weight has weight 1. */
static bool get_edge(Vm *vm, Value v, size_t nodes, Edge *edge)
{
    const List *list = value_is(v, OBJ_LIST) ? AS_LIST(v) : NULL;
    int64_t part[3] = {0, 0, 1};
    if (!list || list->len < 2 || list->len > 3)
        return vm_throw(vm, "an edge is [from, to] or [from, to, weight]");
    for (size_t i = 0; i < list->len; i++) {
        if (list->items[i].tag != VAL_INT)
            return vm_throw(vm, "the parts of an edge are int");
        part[i] = list->items[i].as.integer;
    }
    if (part[0] < 0 || part[1] < 0 || (uint64_t)part[0] >= nodes || (uint64_t)part[1] >= nodes)
        return vm_throw(vm, "edge to a missing node");
    *edge = (Edge){(uint32_t)part[0], (uint32_t)part[1], part[2]};
    return true;
}

/* Arguments 0 and 1: the number of nodes and the edges. */
static bool get_graph(Vm *vm, const Value *argv, Graph *g)
{
    size_t nodes;
    List *list;
    if (!arg_size(vm, argv, 0, MAX_NODES, &nodes) || !arg_list(vm, argv, 1, &list))
        return false;
    Edge *edges = rt_alloc_array(list->len, sizeof *edges);
    for (size_t i = 0; i < list->len; i++) {
        if (!get_edge(vm, list->items[i], nodes, &edges[i])) {
            rt_free(edges);
            return false;
        }
    }
    graph_init(g, (uint32_t)nodes, edges, list->len);
    rt_free(edges);
    return true;
}

static bool get_node(Vm *vm, const Value *argv, int i, const Graph *g, uint32_t *node)
{
    size_t n;
    if (g->nodes == 0)
        return vm_throw(vm, "empty graph");
    if (!arg_size(vm, argv, i, g->nodes - 1, &n))
        return false;
    *node = (uint32_t)n;
    return true;
}

/* Unreached nodes have the distance nil. */
static Value distances(Vm *vm, const int64_t *d, uint32_t nodes)
{
    List *list = list_new(&vm->heap, nodes);
    for (uint32_t v = 0; v < nodes; v++)
        list_push(&vm->heap, list, d[v] == GRAPH_UNREACHED ? value_nil() : value_int(d[v]));
    return value_object(list);
}

static Value node_list(Vm *vm, const uint32_t *nodes, uint32_t count)
{
    List *list = list_new(&vm->heap, count);
    for (uint32_t i = 0; i < count; i++)
        list_push(&vm->heap, list, value_int(nodes[i]));
    return value_object(list);
}

static bool graph_levels(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    Graph g;
    uint32_t source = 0;
    if (!get_graph(vm, argv, &g))
        return false;
    bool ok = get_node(vm, argv, 2, &g, &source);
    if (ok) {
        int64_t *d = rt_alloc_array(g.nodes, sizeof *d);
        graph_bfs(&g, source, d);
        *result = distances(vm, d, g.nodes);
        rt_free(d);
    }
    graph_free(&g);
    return ok;
}

static bool nonnegative(Vm *vm, const Graph *g)
{
    for (size_t e = 0; e < g->edges; e++)
        if (g->edge[e].weight < 0)
            return vm_throw(vm, "negative weight");
    return true;
}

/* Distances from argument 2 and, if there is an argument 3, the path to that node. */
static bool shortest(Vm *vm, int argc, const Value *argv, Value *result)
{
    Graph g;
    uint32_t source = 0, target = 0;
    if (!get_graph(vm, argv, &g))
        return false;
    bool ok = nonnegative(vm, &g) && get_node(vm, argv, 2, &g, &source) &&
              (argc < 4 || get_node(vm, argv, 3, &g, &target));
    if (ok) {
        int64_t *d = rt_alloc_array(g.nodes, sizeof *d);
        uint32_t *previous = rt_alloc_array(g.nodes, sizeof *previous);
        graph_dijkstra(&g, source, d, previous);
        if (argc < 4) {
            *result = distances(vm, d, g.nodes);
        } else if (d[target] != GRAPH_UNREACHED) {
            List *path = list_new(&vm->heap, 0);
            for (uint32_t v = target; v != source; v = previous[v])
                list_push(&vm->heap, path, value_int(v));
            list_push(&vm->heap, path, value_int(source));
            list_reverse(path);
            *result = value_object(path);
        }
        rt_free(d);
        rt_free(previous);
    }
    graph_free(&g);
    return ok;
}

static bool graph_distances(Vm *vm, int argc, Value *argv, Value *result)
{
    return shortest(vm, argc, argv, result);
}

static bool graph_path(Vm *vm, int argc, Value *argv, Value *result)
{
    return shortest(vm, argc, argv, result);
}

/* nil if there is a cycle. */
static bool graph_order(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    Graph g;
    if (!get_graph(vm, argv, &g))
        return false;
    uint32_t *order = rt_alloc_array(g.nodes, sizeof *order);
    if (graph_toposort(&g, order))
        *result = node_list(vm, order, g.nodes);
    rt_free(order);
    graph_free(&g);
    return true;
}

/* The number of the strongly connected component of every node. */
static bool graph_strong(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    Graph g;
    if (!get_graph(vm, argv, &g))
        return false;
    uint32_t *component = rt_alloc_array(g.nodes, sizeof *component);
    graph_components(&g, component);
    *result = node_list(vm, component, g.nodes);
    rt_free(component);
    graph_free(&g);
    return true;
}

/* [total weight, number of edges] of a minimum spanning forest. */
static bool graph_forest(Vm *vm, int argc, Value *argv, Value *result)
{
    (void)argc;
    Graph g;
    size_t chosen;
    if (!get_graph(vm, argv, &g))
        return false;
    int64_t weight = graph_spanning_weight(&g, &chosen);
    Value pair[] = {value_int(weight), value_int((int64_t)chosen)};
    graph_free(&g);
    return give(result, value_object(list_from(&vm->heap, pair, 2)));
}

void lib_graph(Vm *vm)
{
    static const NativeDef functions[] = {
        {"levels", graph_levels, 3, 3},     {"distances", graph_distances, 3, 3},
        {"path", graph_path, 4, 4},         {"order", graph_order, 2, 2},
        {"components", graph_strong, 2, 2}, {"forest", graph_forest, 2, 2},
        {NULL, NULL, 0, 0},
    };
    vm_define_module(vm, "graph", functions);
}
