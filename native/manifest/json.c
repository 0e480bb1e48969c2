#include "json.h"

#include <stdlib.h>
#include <string.h>

#include "manifest.h"
#include "reader.h"
#include "text.h"

/* JSON as tools write it, pruned while it is read: a dump of a cluster is mostly not kept. */

enum {
    MAX_LEVELS = 256,
    MAX_COMPARED = 8, /* keys of a mapping: more of them are looked up in a table */
    MAX_PROBES = 64,  /* of that table */
};

/* Where the reader stands in a file. */
struct json {
    struct quota_manifest *reader;
    const char *data;
    size_t at;
    size_t end;
    uint32_t line;
    size_t counted_at; /* a place on this line whose column is known */
    uint32_t counted;  /* characters before it */
    unsigned level;    /* collections that are open */
};

static struct qm_node *node_of(const struct json *json, uint32_t index)
{
    return &json->reader->nodes[index];
}

static struct qm_place place_here(struct json *json)
{
    for (; json->counted_at < json->at; json->counted_at++)
        json->counted += (json->data[json->counted_at] & 0xc0) != 0x80;
    return (struct qm_place){.line = json->line, .column = json->counted + 1};
}

/* Steps over white space. Returns the byte that follows it, 0 at the end. */
static char skip_space(struct json *json)
{
    for (; json->at < json->end; json->at++) {
        char byte = json->data[json->at];

        if (byte == '\n') {
            json->line++;
            json->counted_at = json->at + 1;
            json->counted = 0;
        } else if (byte != ' ' && byte != '\t' && byte != '\r')
            return byte;
    }
    return 0;
}

static bool take(struct json *json, char byte)
{
    if (skip_space(json) != byte || json->at == json->end)
        return false;
    json->at++;
    return true;
}

/* ---- scalars */

/* Steps over a string. Says whether it has escapes. */
static bool skip_string(struct json *json, bool *escaped)
{
    *escaped = false;
    for (json->at++; json->at < json->end; json->at++) {
        unsigned char byte = (unsigned char)json->data[json->at];

        if (byte == '"') {
            json->at++;
            return true;
        }
        if (byte < 0x20)
            return false;
        if (byte == '\\') {
            *escaped = true;
            json->at++;
        }
    }
    return false;
}

static int hex_digit(char byte)
{
    if (byte >= '0' && byte <= '9')
        return byte - '0';
    char lower = (char)(byte | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/* Writes the character of four hexadecimal digits as UTF-8. Halves of pairs are refused. */
static bool put_code(struct qm_buffer *pool, const char *digits)
{
    uint32_t code = 0;

    for (size_t i = 0; i < 4; i++) {
        int digit = hex_digit(digits[i]);

        if (digit < 0)
            return false;
        code = code << 4 | (uint32_t)digit;
    }
    bool control = code < 0x20 && code != '\n' && code != '\t';
    if (control || (code >= 0xd800 && code <= 0xdfff))
        return false;
    char bytes[3];
    size_t size = 1;
    if (code < 0x80)
        bytes[0] = (char)code;
    else if (code < 0x800) {
        size = 2;
        bytes[0] = (char)(0xc0 | code >> 6);
    } else {
        size = 3;
        bytes[0] = (char)(0xe0 | code >> 12);
        bytes[1] = (char)(0x80 | (code >> 6 & 0x3f));
    }
    if (size > 1)
        bytes[size - 1] = (char)(0x80 | (code & 0x3f));
    return qm_buffer_add(pool, bytes, size);
}

/* Adds a string without its escapes to the pool; control characters that need one are refused. */
static bool put_unescaped(struct json *json, struct qm_span raw)
{
    const char *text = json->data + raw.start;
    struct qm_buffer *pool = &json->reader->pool;

    for (size_t i = 0; i < raw.size; i++) {
        if (text[i] != '\\') {
            if (!qm_buffer_add(pool, text + i, 1))
                return false;
            continue;
        }
        char byte = text[++i];
        if (byte == 'u') {
            if (raw.size - i < 5 || !put_code(pool, text + i + 1))
                return false;
            i += 4;
            continue;
        }
        byte = qm_unescaped(byte);
        if (byte == 0 || !qm_buffer_add(pool, &byte, 1))
            return false;
    }
    return true;
}

static bool read_string(struct json *json, uint32_t index)
{
    bool escaped;
    size_t start = json->at + 1;

    if (!skip_string(json, &escaped))
        return false;
    struct qm_node *node = node_of(json, index);
    node->plain = false;
    node->text = qm_span_of(start, json->at - 1);
    if (!escaped)
        return true;
    struct qm_buffer *pool = &json->reader->pool;
    size_t pooled = pool->size;
    if (!put_unescaped(json, node->text))
        return false;
    node->text = qm_span_of(pooled, pool->size);
    node->pooled = true;
    if (!qm_tree_keeps(json->reader, index))
        pool->size = pooled;
    return true;
}

static size_t digits(struct json *json)
{
    size_t start = json->at;

    while (json->at < json->end && json->data[json->at] >= '0' && json->data[json->at] <= '9')
        json->at++;
    return json->at - start;
}

static bool next_is(const struct json *json, const char *bytes)
{
    return json->at < json->end && json->data[json->at] != '\0' &&
           strchr(bytes, json->data[json->at]) != NULL;
}

static bool skip_number(struct json *json)
{
    json->at += next_is(json, "-");
    bool zero = next_is(json, "0");
    size_t whole = digits(json);
    if (whole == 0 || (zero && whole > 1))
        return false;
    if (next_is(json, ".")) {
        json->at++;
        if (digits(json) == 0)
            return false;
    }
    if (next_is(json, "eE")) {
        json->at++;
        json->at += next_is(json, "+-");
        if (digits(json) == 0)
            return false;
    }
    return true;
}

static bool skip_word(struct json *json)
{
    static const char *const words[] = {"true", "false", "null"};

    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t size = strlen(words[i]);

        if (json->end - json->at >= size && memcmp(json->data + json->at, words[i], size) == 0) {
            json->at += size;
            return true;
        }
    }
    return false;
}

static bool read_literal(struct json *json, uint32_t index)
{
    size_t start = json->at;

    if (!skip_word(json) && !skip_number(json))
        return false;
    node_of(json, index)->text = qm_span_of(start, json->at);
    return !next_is(json, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.+-\"{[");
}

/* ---- collections */

static bool read_value(struct json *json, uint32_t index);

/* A node that may be taken back as long as nothing was added after it. */
struct addition {
    uint32_t index;
    uint32_t parent;
    uint32_t before; /* the child before it */
};

static bool add(struct json *json, uint32_t parent, struct addition *addition)
{
    addition->parent = parent;
    addition->before = node_of(json, parent)->last;
    addition->index = qm_tree_add(json->reader, parent);
    return addition->index != QM_NO_NODE;
}

static void take_back(struct json *json, const struct addition *addition)
{
    struct qm_node *parent = node_of(json, addition->parent);

    json->reader->node_count = addition->index;
    parent->children--;
    parent->last = addition->before;
    if (addition->before == QM_NO_NODE)
        parent->first = QM_NO_NODE;
    else
        node_of(json, addition->before)->next = QM_NO_NODE;
}

static bool read_list(struct json *json, uint32_t index)
{
    if (take(json, ']'))
        return true;
    do {
        struct addition item;

        if (!add(json, index, &item) || !read_value(json, item.index))
            return false;
    } while (take(json, ','));
    return take(json, ']');
}

/* Reads a key, as it stands in the file. The only escapes that are taken are those of quotes and
 * backslashes: with one of them a key is not known, so that it need not be compared or written
 * without them. */
static bool read_key(struct json *json, struct qm_span *key)
{
    bool escaped;
    size_t start;

    if (skip_space(json) != '"')
        return false;
    start = json->at + 1;
    if (!skip_string(json, &escaped))
        return false;
    *key = qm_span_of(start, json->at - 1);
    const char *text = json->data + start;
    for (size_t i = 0; escaped && i < key->size; i++)
        if (text[i] == '\\' && strchr("\"\\", text[++i]) == NULL)
            return false;
    return true;
}

static bool read_pair(struct json *json, uint32_t mapping)
{
    struct quota_manifest *reader = json->reader;
    struct addition pair;
    struct qm_span key;

    if (skip_space(json) != '"' || !add(json, mapping, &pair))
        return false;
    struct qm_place place = place_here(json);
    if (!read_key(json, &key) || !take(json, ':') ||
        !qm_buffer_add(&reader->seen, (const char *)&key, sizeof key))
        return false;
    bool escaped = key.size > 0 && memchr(json->data + key.start, '\\', key.size) != NULL;
    struct qm_node *node = node_of(json, pair.index);
    node->key = key;
    node->key_place = place;
    node->marks = escaped ? 0 : qm_key_marks(reader, json->data + key.start, key.size);
    if (node->marks & QUOTA_MANIFEST_STRONG)
        qm_tree_mark_strong(reader, pair.index);
    if (!read_value(json, pair.index))
        return false;
    if (key.size == 0 || !qm_tree_keeps(reader, pair.index))
        take_back(json, &pair);
    else if (escaped)
        return false;
    return true;
}

static bool same_key(const char *data, const struct qm_span *left, const struct qm_span *right)
{
    return left->size == right->size &&
           memcmp(data + left->start, data + right->start, left->size) == 0;
}

/* Whether a key is twice among many: they are put into a table that is at most half full.
 *
 * Keys that are made to collide are taken for that too: another reader may look at them. */
static bool is_any_twice(const char *data, const struct qm_span *keys, size_t count)
{
    size_t slots = 2;

    while (slots < 2 * count)
        slots *= 2;
    uint32_t *table = calloc(slots, sizeof *table);
    bool found = table == NULL; /* memory is short: the same as twice */
    for (size_t i = 0; !found && i < count; i++) {
        size_t slot = qm_key_hash(data + keys[i].start, keys[i].size) & (slots - 1);

        for (size_t probes = 0; table[slot] && !found; slot = (slot + 1) & (slots - 1))
            found = same_key(data, &keys[table[slot] - 1], &keys[i]) || ++probes == MAX_PROBES;
        table[slot] = (uint32_t)i + 1;
    }
    free(table);
    return found;
}

static bool has_duplicates(const struct json *json, size_t first)
{
    const struct qm_buffer *seen = &json->reader->seen;
    const struct qm_span *keys = (const void *)(seen->bytes + first);
    size_t count = (seen->size - first) / sizeof *keys;

    if (count > MAX_COMPARED)
        return is_any_twice(json->data, keys, count);
    for (size_t i = 1; i < count; i++)
        for (size_t j = 0; j < i; j++)
            if (same_key(json->data, &keys[i], &keys[j]))
                return true;
    return false;
}

static bool read_mapping(struct json *json, uint32_t index)
{
    struct qm_buffer *seen = &json->reader->seen;
    size_t first = seen->size;

    if (take(json, '}'))
        return true;
    do
        if (!read_pair(json, index))
            return false;
    while (take(json, ','));
    if (!take(json, '}') || has_duplicates(json, first))
        return false;
    seen->size = first;
    return true;
}

/* Recursion ends because deep values are refused. */
static bool read_collection(struct json *json, uint32_t index, bool list)
{
    node_of(json, index)->kind = list ? QM_LIST : QM_MAPPING;
    if (json->level == MAX_LEVELS)
        return false;
    json->level++;
    json->at++;
    bool read = list ? read_list(json, index) : read_mapping(json, index);
    json->level--;
    return read;
}

static bool read_value(struct json *json, uint32_t index)
{
    char byte = skip_space(json);

    node_of(json, index)->place = place_here(json);
    if (byte == '{' || byte == '[')
        return read_collection(json, index, byte == '[');
    return byte == '"' ? read_string(json, index) : read_literal(json, index);
}

bool qm_json_read(struct quota_manifest *reader, const char *data, size_t *start, size_t end,
                  uint32_t *line, uint32_t *column)
{
    struct json json = {.reader = reader,
                        .data = data,
                        .at = *start,
                        .end = end,
                        .line = *line,
                        .counted_at = *start,
                        .counted = *column};

    reader->node_count = 0;
    reader->pool.size = 0;
    reader->seen.size = 0;
    uint32_t root = qm_tree_add(reader, QM_NO_NODE);
    if (root == QM_NO_NODE || !read_value(&json, root))
        return false;
    skip_space(&json);
    *column = place_here(&json).column - 1;
    *start = json.at;
    *line = json.line;
    return qm_tree_write(reader, data);
}
