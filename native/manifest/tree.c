#include "tree.h"

#include <stdlib.h>
#include <string.h>

#include "manifest.h"
#include "reader.h"

enum {
    FIRST_NODES = 512,
    MAX_NODES = 1 << 20,
    MAX_ALIASED = 1 << 24, /* bytes of JSON that a document's aliases may add */
};

/* ---- tree */

uint32_t qm_tree_add(struct quota_manifest *reader, uint32_t parent)
{
    if (reader->node_count == reader->node_capacity) {
        size_t capacity = reader->node_capacity ? reader->node_capacity * 2 : FIRST_NODES;

        if (capacity > MAX_NODES)
            return QM_NO_NODE;
        struct qm_node *nodes = realloc(reader->nodes, capacity * sizeof *nodes);
        if (nodes == NULL)
            return QM_NO_NODE;
        reader->nodes = nodes;
        reader->node_capacity = capacity;
    }
    uint32_t index = (uint32_t)reader->node_count++;
    struct qm_node *node = &reader->nodes[index];
    *node = (struct qm_node){.kind = QM_SCALAR,
                             .plain = true,
                             .parent = parent,
                             .next = QM_NO_NODE,
                             .first = QM_NO_NODE,
                             .last = QM_NO_NODE};
    if (parent == QM_NO_NODE)
        return index;
    struct qm_node *around = &reader->nodes[parent];
    if (around->last == QM_NO_NODE)
        around->first = index;
    else
        reader->nodes[around->last].next = index;
    around->last = index;
    around->children++;
    return index;
}

void qm_tree_mark_strong(struct quota_manifest *reader, uint32_t index)
{
    while (index != QM_NO_NODE && !reader->nodes[index].strong) {
        reader->nodes[index].strong = true;
        index = reader->nodes[index].parent;
    }
}

/* Whether a pair of a mapping is written. */
static bool keeps(const struct quota_manifest *reader, const struct qm_node *node)
{
    const struct qm_node *around = &reader->nodes[node->parent];
    uint8_t kind = node->kind == QM_ALIAS ? reader->nodes[node->target].kind : node->kind;

    return node->strong || node->marks & QUOTA_MANIFEST_WEAK ||
           (kind == QM_SCALAR && around->marks & QUOTA_MANIFEST_OPEN);
}

bool qm_tree_keeps(const struct quota_manifest *reader, uint32_t index)
{
    const struct qm_node *node = &reader->nodes[index];

    if (node->parent == QM_NO_NODE || reader->nodes[node->parent].kind == QM_LIST)
        return true;
    return keeps(reader, node);
}

/* ---- JSON */

static void put_place(struct qm_buffer *json, struct qm_place place)
{
    qm_buffer_put_number(json, place.line);
    qm_buffer_put(json, ',');
    qm_buffer_put_number(json, place.column);
}

static bool put_string(struct quota_manifest *reader, const char *bytes, struct qm_span span)
{
    const char *text = bytes + span.start;
    struct qm_buffer *json = &reader->json;

    /* A byte becomes two at most: the text has no control characters but line feeds and tabs. */
    if (!qm_buffer_reserve(json, 2 * (size_t)span.size + 2))
        return false;
    qm_buffer_put(json, '"');
    for (size_t i = 0; i < span.size; i++) {
        char byte = text[i];

        if (byte == '"' || byte == '\\' || byte == '\n' || byte == '\t')
            qm_buffer_put(json, '\\');
        qm_buffer_put(json, (char)(byte == '\n' ? 'n' : byte == '\t' ? 't' : byte));
    }
    qm_buffer_put(json, '"');
    return true;
}

static bool write_node(struct quota_manifest *reader, const char *data, uint32_t index);

enum { ROOM_FOR_PLACE = 64 };

static bool write_list(struct quota_manifest *reader, const char *data, const struct qm_node *list)
{
    if (!qm_buffer_reserve(&reader->json, ROOM_FOR_PLACE))
        return false;
    qm_buffer_put(&reader->json, '[');
    put_place(&reader->json, list->place);
    for (uint32_t item = list->first; item != QM_NO_NODE; item = reader->nodes[item].next)
        if (!qm_buffer_add(&reader->json, ",", 1) || !write_node(reader, data, item))
            return false;
    return qm_buffer_add(&reader->json, "]", 1);
}

/* Adds the places of a mapping's keys, where they are known. */
static bool write_key_places(struct quota_manifest *reader, const struct qm_node *map)
{
    struct qm_buffer *json = &reader->json;

    for (uint32_t pair = map->first; pair != QM_NO_NODE; pair = reader->nodes[pair].next) {
        struct qm_place place = reader->nodes[pair].key_place;

        if (place.line == 0)
            return true;
        if (!qm_buffer_reserve(json, ROOM_FOR_PLACE))
            return false;
        qm_buffer_put(json, ',');
        put_place(json, place);
    }
    return true;
}

static bool write_mapping(struct quota_manifest *reader, const char *data,
                          const struct qm_node *map)
{
    struct qm_buffer *json = &reader->json;

    if (!qm_buffer_reserve(json, ROOM_FOR_PLACE))
        return false;
    memcpy(json->bytes + json->size, "{\"\":[", 5);
    json->size += 5;
    put_place(json, map->place);
    if (!write_key_places(reader, map) || !qm_buffer_add(json, "]", 1))
        return false;
    for (uint32_t pair = map->first; pair != QM_NO_NODE; pair = reader->nodes[pair].next)
        if (keeps(reader, &reader->nodes[pair])) {
            if (!qm_buffer_add(json, ",", 1) ||
                !put_string(reader, data, reader->nodes[pair].key) ||
                !qm_buffer_add(json, ":", 1) || !write_node(reader, data, pair))
                return false;
        }
    return qm_buffer_add(json, "}", 1);
}

/* Writes what an alias stands for once more, unless aliases have written too much already. */
static bool write_alias(struct quota_manifest *reader, const char *data, uint32_t target)
{
    size_t before = reader->json.size;

    if (reader->aliased > MAX_ALIASED || !write_node(reader, data, target))
        return false;
    reader->aliased += reader->json.size - before;
    return true;
}

/* Recursion ends because the reader refuses deep documents. */
static bool write_node(struct quota_manifest *reader, const char *data, uint32_t index)
{
    const struct qm_node *node = &reader->nodes[index];

    if (node->kind == QM_ALIAS)
        return write_alias(reader, data, node->target);
    if (node->kind == QM_LIST)
        return write_list(reader, data, node);
    if (node->kind == QM_MAPPING)
        return write_mapping(reader, data, node);
    const char *bytes = node->pooled ? reader->pool.bytes : data;
    if (!qm_buffer_add(&reader->json, "[", 1) || !put_string(reader, bytes, node->text) ||
        !qm_buffer_reserve(&reader->json, ROOM_FOR_PLACE))
        return false;
    qm_buffer_add(&reader->json, node->plain ? ",true," : ",false,", node->plain ? 6 : 7);
    put_place(&reader->json, node->place);
    qm_buffer_put(&reader->json, ']');
    return true;
}

bool qm_tree_write(struct quota_manifest *reader, const char *data)
{
    reader->aliased = 0;
    return reader->node_count == 0 || write_node(reader, data, 0);
}
