/* Directed graphs with integer edge weights, nodes 0..n-1, edges in adjacency arrays. */
#ifndef RT_GRAPH_H
#define RT_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint32_t from, to;
    int64_t weight;
} Edge;

typedef struct {
    uint32_t nodes;
    uint32_t *first; /* nodes + 1 offsets into edge */
    Edge *edge;      /* ordered by source node, stable */
    size_t edges;
} Graph;

#define GRAPH_UNREACHED INT64_MAX

void graph_init(Graph *g, uint32_t nodes, const Edge *edges, size_t count);
void graph_free(Graph *g);

/* Arrays indexed by node.  Distances are GRAPH_UNREACHED where there is no path. */
void graph_bfs(const Graph *g, uint32_t source, int64_t *distance);
void graph_dijkstra(const Graph *g, uint32_t source, int64_t *distance, uint32_t *previous);
bool graph_toposort(const Graph *g, uint32_t *order); /* false if there is a cycle */
uint32_t graph_components(const Graph *g, uint32_t *component); /* strongly connected */

/* Total weight of a minimum spanning forest, taking the edges as undirected. */
int64_t graph_spanning_weight(const Graph *g, size_t *chosen);

#endif
