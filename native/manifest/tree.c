#include "tree.h"

#include <stdlib.h>
#include <string.h>

#include "manifest.h"

enum { FIRST_NODES = 512, MAX_NODES = 1 << 20, FIRST_BYTES = 8192, MAX_DIGITS = 10 };

bool buffer_reserve(struct buffer *buffer, size_t more)
{
    size_t needed = buffer->size + more;
    if (needed <= buffer->capacity)
        return true;
    size_t capacity = buffer->capacity ? buffer->capacity : FIRST_BYTES;
    while (capacity < needed)
        capacity *= 2;
    char *bytes = realloc(buffer->bytes, capacity);
    if (!bytes)
        return false;
    buffer->bytes = bytes;
    buffer->capacity = capacity;
    return true;
}

bool buffer_add(struct buffer *buffer, const char *bytes, size_t size)
{
    if (!buffer_reserve(buffer, size))
        return false;
    memcpy(buffer->bytes + buffer->size, bytes, size);
    buffer->size += size;
    return true;
}

/* ---- keys */

uint32_t key_hash(const char *key, size_t size)
{
    uint32_t hash = 2166136261U;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ (unsigned char)key[i]) * 16777619U;
    return hash ^ hash >> 15;
}

static size_t slot_of(const char *key, size_t size)
{
    return key_hash(key, size) % KEY_SLOTS;
}

uint8_t key_marks(const struct quota_manifest *reader, const char *key, size_t size)
{
    if (size >= sizeof reader->keys[0].name)
        return 0;
    for (size_t slot = slot_of(key, size); reader->slots[slot]; slot = (slot + 1) % KEY_SLOTS) {
        const struct known_key *known = &reader->keys[reader->slots[slot] - 1];
        if (known->size == size && memcmp(known->name, key, size) == 0)
            return known->marks;
    }
    return 0;
}

int quota_manifest_key(struct quota_manifest *reader, const char *key, int marks)
{
    size_t size = strlen(key);
    if (reader->key_count == MAX_KEYS || size >= sizeof reader->keys[0].name)
        return -1;
    struct known_key *known = &reader->keys[reader->key_count++];
    memcpy(known->name, key, size);
    known->size = size;
    known->marks = (uint8_t)marks;
    size_t slot = slot_of(key, size);
    while (reader->slots[slot])
        slot = (slot + 1) % KEY_SLOTS;
    reader->slots[slot] = (uint16_t)reader->key_count;
    return 0;
}

/* ---- life */

int quota_manifest_version(void)
{
    return QUOTA_MANIFEST_VERSION;
}

struct quota_manifest *quota_manifest_new(void)
{
    return calloc(1, sizeof(struct quota_manifest));
}

void quota_manifest_free(struct quota_manifest *reader)
{
    if (!reader)
        return;
    free(reader->nodes);
    free(reader->pool.bytes);
    free(reader->json.bytes);
    free(reader->seen.bytes);
    free(reader);
}

const char *quota_manifest_text(const struct quota_manifest *reader)
{
    return reader->json.bytes;
}

/* ---- tree */

uint32_t tree_add(struct quota_manifest *reader, uint32_t parent)
{
    if (reader->node_count == reader->node_capacity) {
        size_t capacity = reader->node_capacity ? reader->node_capacity * 2 : FIRST_NODES;
        if (capacity > MAX_NODES)
            return NO_NODE;
        struct node *nodes = realloc(reader->nodes, capacity * sizeof *nodes);
        if (!nodes)
            return NO_NODE;
        reader->nodes = nodes;
        reader->node_capacity = capacity;
    }
    uint32_t index = (uint32_t)reader->node_count++;
    struct node *node = &reader->nodes[index];
    *node = (struct node){.kind = SCALAR,
                          .plain = true,
                          .parent = parent,
                          .next = NO_NODE,
                          .first = NO_NODE,
                          .last = NO_NODE};
    if (parent == NO_NODE)
        return index;
    struct node *around = &reader->nodes[parent];
    if (around->last == NO_NODE)
        around->first = index;
    else
        reader->nodes[around->last].next = index;
    around->last = index;
    around->children++;
    return index;
}

void tree_mark_strong(struct quota_manifest *reader, uint32_t index)
{
    while (index != NO_NODE && !reader->nodes[index].strong) {
        reader->nodes[index].strong = true;
        index = reader->nodes[index].parent;
    }
}

/* Whether a pair of a mapping is written. */
static bool keeps(const struct quota_manifest *reader, const struct node *node)
{
    const struct node *around = &reader->nodes[node->parent];
    uint8_t kind = node->kind == ALIAS ? reader->nodes[node->target].kind : node->kind;
    return node->strong || node->marks & QUOTA_MANIFEST_WEAK ||
           (kind == SCALAR && around->marks & QUOTA_MANIFEST_OPEN);
}

bool tree_keeps(const struct quota_manifest *reader, uint32_t index)
{
    const struct node *node = &reader->nodes[index];
    if (node->parent == NO_NODE || reader->nodes[node->parent].kind == LIST)
        return true;
    return keeps(reader, node);
}

/* ---- JSON */

static void put(struct buffer *json, char byte)
{
    json->bytes[json->size++] = byte;
}

static void put_number(struct buffer *json, uint32_t number)
{
    char digits[MAX_DIGITS];
    size_t count = 0;
    do
        digits[count++] = (char)('0' + number % 10);
    while ((number /= 10) != 0);
    while (count)
        put(json, digits[--count]);
}

static void put_place(struct buffer *json, struct place place)
{
    put_number(json, place.line);
    put(json, ',');
    put_number(json, place.column);
}

bool buffer_number(struct buffer *buffer, uint32_t number)
{
    if (!buffer_reserve(buffer, MAX_DIGITS))
        return false;
    put_number(buffer, number);
    return true;
}

static bool put_string(struct quota_manifest *reader, const char *bytes, struct span span)
{
    const char *text = bytes + span.start;
    struct buffer *json = &reader->json;
    /* A byte becomes two at most: the text has no control characters but line feeds and tabs. */
    if (!buffer_reserve(json, 2 * (size_t)span.size + 2))
        return false;
    put(json, '"');
    for (size_t i = 0; i < span.size; i++) {
        char byte = text[i];
        if (byte == '"' || byte == '\\' || byte == '\n' || byte == '\t')
            put(json, '\\');
        put(json, (char)(byte == '\n' ? 'n' : byte == '\t' ? 't' : byte));
    }
    put(json, '"');
    return true;
}

static bool write_node(struct quota_manifest *reader, const char *data, uint32_t index);

enum { ROOM_FOR_PLACE = 64 };

static bool write_list(struct quota_manifest *reader, const char *data, const struct node *list)
{
    if (!buffer_reserve(&reader->json, ROOM_FOR_PLACE))
        return false;
    put(&reader->json, '[');
    put_place(&reader->json, list->place);
    for (uint32_t item = list->first; item != NO_NODE; item = reader->nodes[item].next)
        if (!buffer_add(&reader->json, ",", 1) || !write_node(reader, data, item))
            return false;
    return buffer_add(&reader->json, "]", 1);
}

/* Adds the places of a mapping's keys, where they are known. */
static bool write_key_places(struct quota_manifest *reader, const struct node *map)
{
    struct buffer *json = &reader->json;
    for (uint32_t pair = map->first; pair != NO_NODE; pair = reader->nodes[pair].next) {
        struct place place = reader->nodes[pair].key_place;
        if (!place.line)
            return true;
        if (!buffer_reserve(json, ROOM_FOR_PLACE))
            return false;
        put(json, ',');
        put_place(json, place);
    }
    return true;
}

static bool write_mapping(struct quota_manifest *reader, const char *data, const struct node *map)
{
    struct buffer *json = &reader->json;
    if (!buffer_reserve(json, ROOM_FOR_PLACE))
        return false;
    memcpy(json->bytes + json->size, "{\"\":[", 5);
    json->size += 5;
    put_place(json, map->place);
    if (!write_key_places(reader, map) || !buffer_add(json, "]", 1))
        return false;
    for (uint32_t pair = map->first; pair != NO_NODE; pair = reader->nodes[pair].next)
        if (keeps(reader, &reader->nodes[pair])) {
            if (!buffer_add(json, ",", 1) || !put_string(reader, data, reader->nodes[pair].key) ||
                !buffer_add(json, ":", 1) || !write_node(reader, data, pair))
                return false;
        }
    return buffer_add(json, "}", 1);
}

/* Recursion ends because the reader refuses deep documents. */
static bool write_node(struct quota_manifest *reader, const char *data, uint32_t index)
{
    const struct node *node = &reader->nodes[index];
    if (node->kind == ALIAS)
        return write_node(reader, data, node->target);
    if (node->kind == LIST)
        return write_list(reader, data, node);
    if (node->kind == MAPPING)
        return write_mapping(reader, data, node);
    const char *bytes = node->pooled ? reader->pool.bytes : data;
    if (!buffer_add(&reader->json, "[", 1) || !put_string(reader, bytes, node->text) ||
        !buffer_reserve(&reader->json, ROOM_FOR_PLACE))
        return false;
    buffer_add(&reader->json, node->plain ? ",true," : ",false,", node->plain ? 6 : 7);
    put_place(&reader->json, node->place);
    put(&reader->json, ']');
    return true;
}

bool tree_write(struct quota_manifest *reader, const char *data)
{
    return reader->node_count == 0 || write_node(reader, data, 0);
}
