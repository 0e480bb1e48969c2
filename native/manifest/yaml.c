#include "yaml.h"

#include <string.h>

#include "manifest.h"
#include "reader.h"
#include "text.h"

/* Read line by line, with a stack of the block collections that are open. */

enum {
    MAX_BLOCKS = 64,
    MAX_FLOWS = 16,
    MAX_PAIRS = 128,     /* in one mapping: duplicates are looked for one by one */
    MAX_KEY_BYTES = 512, /* YAML allows 1024 characters */
    MAX_ANCHORS = 16,
    MAX_ALIASES = 64,
};

/* A block collection. */
struct block {
    uint32_t node;
    size_t indent; /* of its entries */
};

struct anchor {
    struct qm_span name;
    uint32_t node;
};

/* Where the reader stands in a document. */
struct scan {
    struct quota_manifest *reader;
    const char *data;
    size_t at;
    size_t end;
    size_t line_start;
    uint32_t line;
    size_t counted_at; /* a place on this line whose column is known: no second pass for columns */
    uint32_t counted;  /* characters before it */
    struct block blocks[MAX_BLOCKS]; /* the collections that are open, outermost first */
    size_t depth;                    /* their number */
    uint32_t pending;                /* a node whose value may still follow on deeper lines */
    bool must_follow;                /* it has an anchor: then it must */
    struct anchor anchors[MAX_ANCHORS];
    size_t anchor_count;
    uint32_t aliases[MAX_ALIASES];
    size_t alias_count;
};

/* ---- bytes */

enum {
    KEY_FIRST = 1,
    KEY_REST = 2,
    PLAIN_FIRST = 4,
    PLAIN_ENDS = 8, /* may end a plain scalar, or make it none */
    FLOW_FIRST = 16,
    FLOW_REST = 32,
    NAME = 64, /* of an anchor */
};

static void set_class(struct quota_manifest *reader, const char *bytes, uint8_t class)
{
    for (; *bytes; bytes++)
        reader->classes[(unsigned char)*bytes] |= class;
}

static void set_classes(struct quota_manifest *reader)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";

    if (reader->classes['a'])
        return;
    uint8_t start = KEY_FIRST | KEY_REST | PLAIN_FIRST | FLOW_FIRST | FLOW_REST;
    set_class(reader, letters, start | NAME);
    set_class(reader, "./$", start);
    set_class(reader, "-", KEY_REST | FLOW_REST | NAME);
    set_class(reader, "\t:#", PLAIN_ENDS);
    set_class(reader, "+()=^;~\\<", PLAIN_FIRST);
    set_class(reader, "+=~()^; ", FLOW_REST);
    set_class(reader, "+~", FLOW_FIRST);
}

static bool is_class(const struct scan *scan, size_t at, uint8_t class)
{
    return at < scan->end && scan->reader->classes[(unsigned char)scan->data[at]] & class;
}

static char byte_at(const struct scan *scan, size_t at)
{
    return at < scan->end ? scan->data[at] : '\n';
}

static bool is_line_end(const struct scan *scan, size_t at)
{
    char byte = byte_at(scan, at);

    return byte == '\n' || (byte == '\r' && byte_at(scan, at + 1) == '\n');
}

static size_t skip_blanks(const struct scan *scan, size_t at)
{
    while (at < scan->end && scan->data[at] == ' ')
        at++;
    return at;
}

static size_t line_end(const struct scan *scan, size_t at)
{
    const char *found = at < scan->end ? memchr(scan->data + at, '\n', scan->end - at) : NULL;

    return found != NULL ? (size_t)(found - scan->data) : scan->end;
}

/* Returns the end of a line without its carriage return. */
static size_t text_end(const struct scan *scan, size_t at)
{
    size_t end = line_end(scan, at);

    return end > at && end < scan->end && scan->data[end - 1] == '\r' ? end - 1 : end;
}

/* ---- places and nodes */

static struct qm_place place_of(struct scan *scan, size_t at)
{
    if (at < scan->counted_at) {
        scan->counted_at = scan->line_start;
        scan->counted = 0;
    }
    for (; scan->counted_at < at; scan->counted_at++)
        scan->counted += (scan->data[scan->counted_at] & 0xc0) != 0x80;
    return (struct qm_place){.line = scan->line, .column = scan->counted + 1};
}

static struct qm_node *node_of(const struct scan *scan, uint32_t index)
{
    return &scan->reader->nodes[index];
}

static uint32_t add_node(struct scan *scan, uint32_t parent, size_t at)
{
    uint32_t index = qm_tree_add(scan->reader, parent);

    if (index != QM_NO_NODE)
        node_of(scan, index)->place = place_of(scan, at);
    return index;
}

static void set_text(struct scan *scan, uint32_t index, size_t start, size_t end, bool plain)
{
    struct qm_node *node = node_of(scan, index);

    node->text = qm_span_of(start, end);
    node->plain = plain;
}

/* Makes what was added to the pool since a place the text of a node. */
static void set_pooled(struct scan *scan, uint32_t index, size_t start)
{
    set_text(scan, index, start, scan->reader->pool.size, false);
    node_of(scan, index)->pooled = true;
}

static bool has_key(const struct scan *scan, uint32_t mapping, struct qm_span key)
{
    uint32_t pair = node_of(scan, mapping)->first;

    for (; pair != QM_NO_NODE; pair = node_of(scan, pair)->next) {
        const struct qm_span *other = &node_of(scan, pair)->key;

        if (other->size == key.size &&
            memcmp(scan->data + other->start, scan->data + key.start, key.size) == 0)
            return true;
    }
    return false;
}

/* A key as it stands in the document, and what follows it. */
struct found_key {
    struct qm_span text;
    size_t after; /* behind the colon */
};

/* Returns a new pair without a value, or QM_NO_NODE when it is a duplicate or there is no room. */
static uint32_t add_pair(struct scan *scan, uint32_t mapping, const struct found_key *key)
{
    if (node_of(scan, mapping)->children >= MAX_PAIRS || has_key(scan, mapping, key->text))
        return QM_NO_NODE;
    uint32_t pair = add_node(scan, mapping, key->after);
    if (pair == QM_NO_NODE)
        return QM_NO_NODE;
    struct qm_node *node = node_of(scan, pair);
    node->key = key->text;
    node->marks = qm_key_marks(scan->reader, scan->data + key->text.start, key->text.size);
    if (node->marks & QUOTA_MANIFEST_STRONG)
        qm_tree_mark_strong(scan->reader, pair);
    return pair;
}

/* Finds a key at a place: plain or in quotes, without escapes, its colon right behind it. */
static bool find_key(const struct scan *scan, size_t at, struct found_key *key)
{
    char quote = byte_at(scan, at);
    size_t end = at;

    if (quote == '"' || quote == '\'') {
        for (end++; end < scan->end && scan->data[end] != quote; end++)
            if (scan->data[end] == '\\' || scan->data[end] == '\n' || scan->data[end] == '\t')
                return false;
        key->text = qm_span_of(at + 1, end);
        end++;
    } else {
        if (!is_class(scan, at, KEY_FIRST))
            return false;
        while (is_class(scan, end, KEY_REST))
            end++;
        key->text = qm_span_of(at, end);
    }
    if (byte_at(scan, end) != ':' || key->text.size == 0 || key->text.size > MAX_KEY_BYTES)
        return false;
    key->after = end + 1;
    return byte_at(scan, key->after) == ' ' || is_line_end(scan, key->after);
}

/* ---- scalars on one line */

/* Makes what stands between two quotes, without its escapes, the text of a node. */
static bool set_unescaped(struct scan *scan, uint32_t index, size_t start, size_t end)
{
    struct qm_buffer *pool = &scan->reader->pool;
    size_t pooled = pool->size;

    if (!qm_buffer_reserve(pool, end - start))
        return false;
    for (size_t at = start; at < end; at++) {
        char byte = scan->data[at];

        if (byte == '\\')
            byte = qm_unescaped(scan->data[++at]);
        if (byte == 0)
            return false;
        qm_buffer_put(pool, byte);
    }
    set_pooled(scan, index, pooled);
    return true;
}

/* Reads a quoted scalar. Returns the place behind it, or 0 for what it refuses. */
static size_t read_quoted(struct scan *scan, size_t at, uint32_t index)
{
    char quote = scan->data[at];
    size_t start = at + 1;
    size_t end = start;
    bool escaped = false;

    for (; end < scan->end && scan->data[end] != quote; end++) {
        if (scan->data[end] == '\n' || scan->data[end] == '\t')
            return 0;
        if (quote == '"' && scan->data[end] == '\\') {
            escaped = true;
            end++;
        }
    }
    if (end >= scan->end)
        return 0;
    set_text(scan, index, start, end, false);
    if (quote == '\'')
        return byte_at(scan, end + 1) == quote ? 0 : end + 1;
    if (!escaped)
        return end + 1;
    return set_unescaped(scan, index, start, end) ? end + 1 : 0;
}

/* Reads a plain scalar that ends with its line. Returns the place behind it, or 0. */
static size_t read_plain(struct scan *scan, size_t at, uint32_t index)
{
    size_t next = at + 1;
    bool dash = scan->data[at] == '-' && next < scan->end && scan->data[next] != ' ' &&
                !is_line_end(scan, next);

    if (!dash && !is_class(scan, at, PLAIN_FIRST))
        return 0;
    size_t line = text_end(scan, at);
    size_t end = at;
    for (; end < line; end++) {
        if (!is_class(scan, end, PLAIN_ENDS))
            continue;
        char byte = scan->data[end];
        if (byte == '\t' || (byte == ':' && (end + 1 == line || scan->data[end + 1] == ' ')))
            return 0;
        if (byte == '#' && scan->data[end - 1] == ' ')
            break;
    }
    size_t last = end;
    while (scan->data[last - 1] == ' ')
        last--;
    set_text(scan, index, at, last, true);
    return end;
}

/* ---- flow collections on one line */

static size_t read_flow(struct scan *scan, size_t at, uint32_t index, int depth);

static size_t read_flow_value(struct scan *scan, size_t at, uint32_t index, int depth)
{
    char byte = byte_at(scan, at);

    node_of(scan, index)->place = place_of(scan, at);
    if (byte == '[' || byte == '{')
        return read_flow(scan, at, index, depth + 1);
    if (byte == '"' || byte == '\'')
        return read_quoted(scan, at, index);
    bool dash = byte == '-' && is_class(scan, at + 1, FLOW_REST) && byte_at(scan, at + 1) != ' ';
    if (!dash && !is_class(scan, at, FLOW_FIRST))
        return 0;
    size_t end = at;
    while (is_class(scan, end, FLOW_REST))
        end++;
    size_t last = end;
    while (scan->data[last - 1] == ' ')
        last--;
    set_text(scan, index, at, last, true);
    return end;
}

/* Reads one entry of a flow collection. Returns the place behind it, or 0. */
static size_t read_flow_entry(struct scan *scan, size_t at, uint32_t index, int depth)
{
    if (node_of(scan, index)->kind == QM_LIST) {
        uint32_t item = add_node(scan, index, at);

        return item == QM_NO_NODE ? 0 : read_flow_value(scan, at, item, depth);
    }
    struct found_key key;
    if (!find_key(scan, at, &key) || byte_at(scan, key.after) != ' ')
        return 0;
    uint32_t pair = add_pair(scan, index, &key);
    return pair == QM_NO_NODE ? 0
                              : read_flow_value(scan, skip_blanks(scan, key.after), pair, depth);
}

/* Reads a flow collection. Returns the place behind it, or 0 for what it refuses. */
static size_t read_flow(struct scan *scan, size_t at, uint32_t index, int depth)
{
    if (depth > MAX_FLOWS)
        return 0;
    char close = scan->data[at] == '[' ? ']' : '}';
    node_of(scan, index)->kind = close == ']' ? QM_LIST : QM_MAPPING;
    at = skip_blanks(scan, at + 1);
    if (byte_at(scan, at) == close)
        return at + 1;
    for (;;) {
        at = read_flow_entry(scan, at, index, depth);
        if (at == 0)
            return 0;
        at = skip_blanks(scan, at);
        if (byte_at(scan, at) == close)
            return at + 1;
        if (byte_at(scan, at) != ',')
            return 0;
        at = skip_blanks(scan, at + 1);
    }
}

/* ---- block scalars */

static void next_line(struct scan *scan, size_t end)
{
    scan->at = end < scan->end ? end + 1 : scan->end;
    scan->line++;
    scan->line_start = scan->counted_at = scan->at;
    scan->counted = 0;
}

/* Returns the indentation of the text, or 0 for what the reader refuses. */
static size_t block_indent(const struct scan *scan, size_t at)
{
    size_t blanks = 0;

    while (at < scan->end) {
        size_t text = skip_blanks(scan, at);

        if (byte_at(scan, text) == '\t')
            return 0;
        if (!is_line_end(scan, text) && text < scan->end) {
            size_t indent = text - at;
            bool inside = indent > scan->blocks[scan->depth - 1].indent && indent >= blanks;

            return inside ? indent : 0;
        }
        if (text - at > blanks)
            blanks = text - at;
        at = line_end(scan, text) + 1;
    }
    return 0;
}

/* Reads the lines of a literal scalar (or steps over those of a folded one that nobody needs). */
static bool read_block_lines(struct scan *scan, size_t indent, char chomp, bool keep)
{
    struct qm_buffer *pool = &scan->reader->pool;
    size_t content = pool->size; /* end of the last line with text, without its line end */
    bool ended = false;          /* that line has an end */
    bool any = false;

    while (scan->at < scan->end) {
        size_t text = scan->at;

        while (text - scan->at < indent && byte_at(scan, text) == ' ' && text < scan->end)
            text++;
        bool blank = is_line_end(scan, text);
        if (!blank && text - scan->at < indent) {
            if (scan->data[text] == '\t')
                return false;
            break;
        }
        size_t end = text_end(scan, text);
        if (keep && !qm_buffer_add(pool, scan->data + text, end - text))
            return false;
        size_t after = line_end(scan, text);
        if (!blank) {
            content = pool->size;
            any = true;
            ended = after < scan->end;
        }
        if (keep && after < scan->end && !qm_buffer_add(pool, "\n", 1))
            return false;
        next_line(scan, after);
    }
    if (!any)
        return false;
    if (keep && chomp != '+')
        pool->size = content + (chomp != '-' && ended);
    return true;
}

/* Reads a block scalar whose indicator is at a place; stops at the line behind it. */
static bool read_block(struct scan *scan, size_t at, uint32_t index)
{
    /* What an alias makes of it is not known yet. */
    bool keep = scan->anchor_count || qm_tree_keeps(scan->reader, index);
    if (scan->data[at] == '>' && keep)
        return false;
    char chomp = byte_at(scan, at + 1);
    size_t rest = at + 1 + (chomp == '-' || chomp == '+');
    size_t comment = skip_blanks(scan, rest);
    if (!is_line_end(scan, comment) && !(byte_at(scan, comment) == '#' && comment > rest))
        return false;
    size_t end = line_end(scan, comment);
    size_t indent = block_indent(scan, end + 1);
    if (indent == 0)
        return false;
    size_t pooled = scan->reader->pool.size;
    next_line(scan, end);
    if (!read_block_lines(scan, indent, chomp, keep))
        return false;
    set_pooled(scan, index, pooled);
    return true;
}

/* ---- anchors and aliases */

/* Finds the name behind an indicator. Returns the place behind it, or 0. */
static size_t find_name(const struct scan *scan, size_t at, struct qm_span *name)
{
    size_t end = at + 1;

    while (is_class(scan, end, NAME))
        end++;
    *name = qm_span_of(at + 1, end);
    bool ends = byte_at(scan, end) == ' ' || is_line_end(scan, end);
    return name->size && ends ? end : 0;
}

static size_t read_anchor(struct scan *scan, size_t at, uint32_t index)
{
    struct qm_span name;
    size_t end = find_name(scan, at, &name);

    if (end == 0 || scan->anchor_count == MAX_ANCHORS)
        return 0;
    scan->anchors[scan->anchor_count++] = (struct anchor){.name = name, .node = index};
    return end;
}

/* Returns the node that the last anchor of a name stands at, or QM_NO_NODE. */
static uint32_t find_anchor(const struct scan *scan, struct qm_span name)
{
    for (size_t i = scan->anchor_count; i-- > 0;) {
        const struct anchor *anchor = &scan->anchors[i];

        if (anchor->name.size == name.size &&
            memcmp(scan->data + anchor->name.start, scan->data + name.start, name.size) == 0)
            return anchor->node;
    }
    return QM_NO_NODE;
}

/* Whether a node is complete and has no alias in it, so that aliases cannot multiply. */
static bool can_be_target(const struct scan *scan, uint32_t target)
{
    for (size_t i = 0; i < scan->depth; i++)
        if (scan->blocks[i].node == target)
            return false;
    uint32_t last = target;
    while (node_of(scan, last)->last != QM_NO_NODE)
        last = node_of(scan, last)->last;
    for (size_t i = 0; i < scan->alias_count; i++)
        if (scan->aliases[i] > target && scan->aliases[i] <= last)
            return false;
    return true;
}

/* Reads an alias. Returns the place behind it, or 0. */
static size_t read_alias(struct scan *scan, size_t at, uint32_t index)
{
    struct qm_span name;
    size_t end = find_name(scan, at, &name);
    uint32_t target = end ? find_anchor(scan, name) : QM_NO_NODE;

    if (target == QM_NO_NODE || scan->alias_count == MAX_ALIASES || !can_be_target(scan, target))
        return 0;
    scan->aliases[scan->alias_count++] = index;
    node_of(scan, index)->kind = QM_ALIAS;
    node_of(scan, index)->target = target;
    uint32_t child = node_of(scan, target)->first;
    for (; child != QM_NO_NODE; child = node_of(scan, child)->next)
        if (node_of(scan, child)->strong)
            qm_tree_mark_strong(scan->reader, index);
    return end;
}

/* ---- lines */

/* Reads the value of a node; leaves the reader at the next line. */
static bool read_value(struct scan *scan, size_t at, uint32_t index)
{
    size_t before = at;

    at = skip_blanks(scan, at);
    bool anchored = byte_at(scan, at) == '&';
    if (anchored) {
        before = read_anchor(scan, at, index);
        if (before == 0)
            return false;
        at = skip_blanks(scan, before);
    }
    char byte = byte_at(scan, at);
    if (is_line_end(scan, at) || (byte == '#' && at > before)) {
        scan->pending = index;
        scan->must_follow = anchored;
        next_line(scan, line_end(scan, at));
        return true;
    }
    scan->pending = QM_NO_NODE;
    node_of(scan, index)->place = place_of(scan, at);
    if (byte == '|' || byte == '>')
        return read_block(scan, at, index);
    if (byte == '[' || byte == '{')
        at = read_flow(scan, at, index, 0);
    else if (byte == '"' || byte == '\'')
        at = read_quoted(scan, at, index);
    else if (byte == '*' && !anchored)
        at = read_alias(scan, at, index);
    else
        at = read_plain(scan, at, index);
    if (at == 0)
        return false;
    size_t rest = skip_blanks(scan, at);
    bool comment = byte_at(scan, rest) == '#' && scan->data[rest - 1] == ' ';
    if (!is_line_end(scan, rest) && !comment)
        return false;
    next_line(scan, line_end(scan, rest));
    return true;
}

/* Turns the pending node (or nothing, for the root) into a collection that begins at a place. */
static uint32_t open_block(struct scan *scan, enum qm_kind kind, size_t at)
{
    if (scan->depth == MAX_BLOCKS)
        return QM_NO_NODE;
    uint32_t index = scan->depth ? scan->pending : add_node(scan, QM_NO_NODE, at);
    if (index == QM_NO_NODE)
        return QM_NO_NODE;
    node_of(scan, index)->kind = (uint8_t)kind;
    node_of(scan, index)->place = place_of(scan, at);
    scan->blocks[scan->depth++] = (struct block){.node = index, .indent = at - scan->line_start};
    scan->pending = QM_NO_NODE;
    scan->must_follow = false;
    return index;
}

static bool is_dash(const struct scan *scan, size_t at)
{
    return byte_at(scan, at) == '-' && (byte_at(scan, at + 1) == ' ' || is_line_end(scan, at + 1));
}

/* Reads what begins at a place in the collection that is open there. */
static bool read_entry(struct scan *scan, size_t at)
{
    uint32_t around = scan->blocks[scan->depth - 1].node;
    struct found_key key;

    while (is_dash(scan, at)) {
        if (node_of(scan, around)->kind != QM_LIST)
            return false;
        scan->pending = add_node(scan, around, at + 1);
        if (scan->pending == QM_NO_NODE)
            return false;
        size_t inner = skip_blanks(scan, at + 1);
        bool list = is_dash(scan, inner) && byte_at(scan, inner) == '-';
        if (!list && !find_key(scan, inner, &key))
            return read_value(scan, at + 1, scan->pending);
        at = inner;
        around = open_block(scan, list ? QM_LIST : QM_MAPPING, at);
        if (around == QM_NO_NODE)
            return false;
    }
    if (node_of(scan, around)->kind != QM_MAPPING || !find_key(scan, at, &key))
        return false;
    uint32_t pair = add_pair(scan, around, &key);
    return pair != QM_NO_NODE && read_value(scan, key.after, pair);
}

/* Closes what ends before a place and opens what begins there. */
static bool find_block(struct scan *scan, size_t at)
{
    size_t column = at - scan->line_start;
    bool dash = is_dash(scan, at);

    if (!scan->depth)
        return scan->reader->node_count == 0 &&
               open_block(scan, dash ? QM_LIST : QM_MAPPING, at) != QM_NO_NODE;
    for (; scan->depth; scan->depth--, scan->pending = QM_NO_NODE) {
        const struct block *top = &scan->blocks[scan->depth - 1];
        uint8_t kind = node_of(scan, top->node)->kind;

        /* A list may stand as far left as the key that it belongs to. */
        bool same_column_list = column == top->indent && dash && kind == QM_MAPPING;
        if (column > top->indent || same_column_list)
            return scan->pending != QM_NO_NODE &&
                   open_block(scan, dash ? QM_LIST : QM_MAPPING, at) != QM_NO_NODE;
        if (scan->must_follow)
            return false;
        if (column == top->indent && (kind == QM_MAPPING || dash)) {
            scan->pending = QM_NO_NODE;
            return true;
        }
    }
    return false;
}

static bool read_lines(struct scan *scan)
{
    while (scan->at < scan->end) {
        size_t at = skip_blanks(scan, scan->at);
        char byte = byte_at(scan, at);

        if (is_line_end(scan, at) || byte == '#') {
            next_line(scan, line_end(scan, at));
            continue;
        }
        bool marker =
            at == scan->line_start && scan->end - at >= 3 &&
            (memcmp(scan->data + at, "---", 3) == 0 || memcmp(scan->data + at, "...", 3) == 0);
        if (marker || !find_block(scan, at) || !read_entry(scan, at))
            return false;
    }
    return !scan->must_follow;
}

bool qm_yaml_read(struct quota_manifest *reader, const char *data, size_t start, size_t end,
                  unsigned line)
{
    set_classes(reader);
    if (!qm_is_plain_text(data, start, end))
        return false;
    reader->node_count = 0;
    reader->pool.size = 0;
    struct scan scan = {.reader = reader,
                        .data = data,
                        .at = start,
                        .end = end,
                        .line_start = start,
                        .line = line,
                        .counted_at = start,
                        .pending = QM_NO_NODE};
    return read_lines(&scan) && qm_tree_write(reader, data);
}
