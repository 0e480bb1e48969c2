/* The reader: line by line, with a stack of the block collections that are open. */
#include <string.h>

#include "manifest.h"
#include "tree.h"

enum {
    MAX_BLOCKS = 64,
    MAX_FLOWS = 16,
    MAX_PAIRS = 128,     /* in one mapping: duplicates are looked for one by one */
    MAX_KEY_BYTES = 512, /* YAML allows 1024 characters */
    MAX_ANCHORS = 16,
    MAX_ALIASES = 64,
};

struct block {
    uint32_t node;
    size_t indent;
};

struct anchor {
    struct span name;
    uint32_t node;
};

struct scan {
    struct quota_manifest *reader;
    const char *data;
    size_t at;
    size_t end;
    size_t line_start;
    uint32_t line;
    /* A place on this line whose column is known, so that columns cost no second pass. */
    size_t counted_at;
    uint32_t counted;
    struct block blocks[MAX_BLOCKS];
    size_t depth;
    uint32_t pending; /* a node whose value may still follow on deeper lines */
    bool must_follow; /* it has an anchor: then it must */
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
    return found ? (size_t)(found - scan->data) : scan->end;
}

/* Returns the end of a line without its carriage return. */
static size_t text_end(const struct scan *scan, size_t at)
{
    size_t end = line_end(scan, at);
    return end > at && end < scan->end && scan->data[end - 1] == '\r' ? end - 1 : end;
}

/* ---- the text as a whole */

/* Returns the length of a character outside of ASCII that YAML allows, or 0. */
static size_t wide_character(const unsigned char *bytes, size_t left)
{
    unsigned char first = bytes[0];
    size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first < 0xc2 || first > 0xf4 || left < size)
        return 0;
    uint32_t code = first & (0xffU >> (size + 1));
    for (size_t i = 1; i < size; i++) {
        if ((bytes[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (bytes[i] & 0x3fU);
    }
    static const uint32_t least[] = {0, 0, 0xa0, 0x800, 0x10000};
    if (code < least[size] || code > 0x10ffff)
        return 0;
    if ((code >= 0xd800 && code <= 0xdfff) || code == 0xfeff || code == 0xfffe || code == 0xffff)
        return 0;
    /* Line and paragraph separators end lines in YAML 1.1. */
    return code == 0x2028 || code == 0x2029 ? 0 : size;
}

/* Whether the bytes are printable ASCII and line feeds: a loop that compilers make fast. */
static bool is_ascii(const char *data, size_t start, size_t end)
{
    unsigned bad = 0;
    for (size_t at = start; at < end; at++) {
        unsigned char byte = (unsigned char)data[at];
        bad |= (unsigned)((unsigned char)(byte - 0x20) > 0x7e - 0x20) & (unsigned)(byte != '\n');
    }
    return !bad;
}

static bool is_text(const char *data, size_t start, size_t end)
{
    for (size_t at = start; at < end; at++) {
        unsigned char byte = (unsigned char)data[at];
        if ((byte >= 0x20 && byte < 0x7f) || byte == '\n' || byte == '\t')
            continue;
        if (byte == '\r' && at + 1 < end && data[at + 1] == '\n')
            continue;
        size_t size = byte >= 0x80 ? wide_character((const unsigned char *)data + at, end - at) : 0;
        if (!size)
            return false;
        at += size - 1;
    }
    return true;
}

bool is_plain_text(const char *data, size_t start, size_t end)
{
    return is_ascii(data, start, end) || is_text(data, start, end);
}

/* ---- places and nodes */

static struct place place_of(struct scan *scan, size_t at)
{
    if (at < scan->counted_at) {
        scan->counted_at = scan->line_start;
        scan->counted = 0;
    }
    for (; scan->counted_at < at; scan->counted_at++)
        scan->counted += (scan->data[scan->counted_at] & 0xc0) != 0x80;
    return (struct place){.line = scan->line, .column = scan->counted + 1};
}

static struct node *node_of(const struct scan *scan, uint32_t index)
{
    return &scan->reader->nodes[index];
}

static uint32_t add_node(struct scan *scan, uint32_t parent, size_t at)
{
    uint32_t index = tree_add(scan->reader, parent);
    if (index != NO_NODE)
        node_of(scan, index)->place = place_of(scan, at);
    return index;
}

static struct span span_of(size_t start, size_t end)
{
    return (struct span){.start = (uint32_t)start, .size = (uint32_t)(end - start)};
}

static void set_text(struct scan *scan, uint32_t index, size_t start, size_t end, bool plain)
{
    struct node *node = node_of(scan, index);
    node->text = span_of(start, end);
    node->plain = plain;
}

/* Makes what was added to the pool since a place the text of a node. */
static void set_pooled(struct scan *scan, uint32_t index, size_t start)
{
    set_text(scan, index, start, scan->reader->pool.size, false);
    node_of(scan, index)->pooled = true;
}

static bool has_key(const struct scan *scan, uint32_t mapping, struct span key)
{
    uint32_t pair = node_of(scan, mapping)->first;
    for (; pair != NO_NODE; pair = node_of(scan, pair)->next) {
        const struct span *other = &node_of(scan, pair)->key;
        if (other->size == key.size &&
            memcmp(scan->data + other->start, scan->data + key.start, key.size) == 0)
            return true;
    }
    return false;
}

/* A key as it stands in the document, and what follows it. */
struct found_key {
    struct span text;
    size_t after; /* behind the colon */
};

/* Returns a new pair without a value, or NO_NODE when it is a duplicate or there is no room. */
static uint32_t add_pair(struct scan *scan, uint32_t mapping, const struct found_key *key)
{
    if (node_of(scan, mapping)->children >= MAX_PAIRS || has_key(scan, mapping, key->text))
        return NO_NODE;
    uint32_t pair = add_node(scan, mapping, key->after);
    if (pair == NO_NODE)
        return NO_NODE;
    struct node *node = node_of(scan, pair);
    node->key = key->text;
    node->marks = key_marks(scan->reader, scan->data + key->text.start, key->text.size);
    if (node->marks & QUOTA_MANIFEST_STRONG)
        tree_mark_strong(scan->reader, pair);
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
        key->text = span_of(at + 1, end);
        end++;
    } else {
        if (!is_class(scan, at, KEY_FIRST))
            return false;
        while (is_class(scan, end, KEY_REST))
            end++;
        key->text = span_of(at, end);
    }
    if (byte_at(scan, end) != ':' || key->text.size == 0 || key->text.size > MAX_KEY_BYTES)
        return false;
    key->after = end + 1;
    return byte_at(scan, key->after) == ' ' || is_line_end(scan, key->after);
}

/* ---- scalars on one line */

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
    struct buffer *pool = &scan->reader->pool;
    if (!buffer_reserve(pool, end - start))
        return 0;
    size_t pooled = pool->size;
    for (size_t from = start; from < end; from++) {
        char byte = scan->data[from];
        if (byte == '\\') {
            byte = scan->data[++from];
            if (byte == 'n')
                byte = '\n';
            else if (byte == 't')
                byte = '\t';
            else if (byte != '"' && byte != '\\' && byte != '/')
                return 0;
        }
        pool->bytes[pool->size++] = byte;
    }
    set_pooled(scan, index, pooled);
    return end + 1;
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
    if (node_of(scan, index)->kind == LIST) {
        uint32_t item = add_node(scan, index, at);
        return item == NO_NODE ? 0 : read_flow_value(scan, at, item, depth);
    }
    struct found_key key;
    if (!find_key(scan, at, &key) || byte_at(scan, key.after) != ' ')
        return 0;
    uint32_t pair = add_pair(scan, index, &key);
    return pair == NO_NODE ? 0 : read_flow_value(scan, skip_blanks(scan, key.after), pair, depth);
}

/* Reads a flow collection. Returns the place behind it, or 0 for what it refuses. */
static size_t read_flow(struct scan *scan, size_t at, uint32_t index, int depth)
{
    if (depth > MAX_FLOWS)
        return 0;
    char close = scan->data[at] == '[' ? ']' : '}';
    node_of(scan, index)->kind = close == ']' ? LIST : MAPPING;
    at = skip_blanks(scan, at + 1);
    if (byte_at(scan, at) == close)
        return at + 1;
    for (;;) {
        at = read_flow_entry(scan, at, index, depth);
        if (!at)
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
    struct buffer *pool = &scan->reader->pool;
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
        if (keep && !buffer_add(pool, scan->data + text, end - text))
            return false;
        size_t after = line_end(scan, text);
        if (!blank) {
            content = pool->size;
            any = true;
            ended = after < scan->end;
        }
        if (keep && after < scan->end && !buffer_add(pool, "\n", 1))
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
    bool keep = scan->anchor_count || tree_keeps(scan->reader, index);
    if (scan->data[at] == '>' && keep)
        return false;
    char chomp = byte_at(scan, at + 1);
    size_t rest = at + 1 + (chomp == '-' || chomp == '+');
    size_t comment = skip_blanks(scan, rest);
    if (!is_line_end(scan, comment) && !(byte_at(scan, comment) == '#' && comment > rest))
        return false;
    size_t end = line_end(scan, comment);
    size_t indent = block_indent(scan, end + 1);
    if (!indent)
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
static size_t find_name(const struct scan *scan, size_t at, struct span *name)
{
    size_t end = at + 1;
    while (is_class(scan, end, NAME))
        end++;
    *name = span_of(at + 1, end);
    bool ends = byte_at(scan, end) == ' ' || is_line_end(scan, end);
    return name->size && ends ? end : 0;
}

static size_t read_anchor(struct scan *scan, size_t at, uint32_t index)
{
    struct span name;
    size_t end = find_name(scan, at, &name);
    if (!end || scan->anchor_count == MAX_ANCHORS)
        return 0;
    scan->anchors[scan->anchor_count++] = (struct anchor){.name = name, .node = index};
    return end;
}

/* Returns the node that the last anchor of a name stands at, or NO_NODE. */
static uint32_t find_anchor(const struct scan *scan, struct span name)
{
    for (size_t i = scan->anchor_count; i-- > 0;) {
        const struct anchor *anchor = &scan->anchors[i];
        if (anchor->name.size == name.size &&
            memcmp(scan->data + anchor->name.start, scan->data + name.start, name.size) == 0)
            return anchor->node;
    }
    return NO_NODE;
}

/* Whether a node is complete and has no alias in it, so that aliases cannot multiply. */
static bool can_be_target(const struct scan *scan, uint32_t target)
{
    for (size_t i = 0; i < scan->depth; i++)
        if (scan->blocks[i].node == target)
            return false;
    uint32_t last = target;
    while (node_of(scan, last)->last != NO_NODE)
        last = node_of(scan, last)->last;
    for (size_t i = 0; i < scan->alias_count; i++)
        if (scan->aliases[i] > target && scan->aliases[i] <= last)
            return false;
    return true;
}

/* Reads an alias. Returns the place behind it, or 0. */
static size_t read_alias(struct scan *scan, size_t at, uint32_t index)
{
    struct span name;
    size_t end = find_name(scan, at, &name);
    uint32_t target = end ? find_anchor(scan, name) : NO_NODE;
    if (target == NO_NODE || scan->alias_count == MAX_ALIASES || !can_be_target(scan, target))
        return 0;
    scan->aliases[scan->alias_count++] = index;
    node_of(scan, index)->kind = ALIAS;
    node_of(scan, index)->target = target;
    uint32_t child = node_of(scan, target)->first;
    for (; child != NO_NODE; child = node_of(scan, child)->next)
        if (node_of(scan, child)->strong)
            tree_mark_strong(scan->reader, index);
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
        if (!before)
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
    scan->pending = NO_NODE;
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
    if (!at)
        return false;
    size_t rest = skip_blanks(scan, at);
    bool comment = byte_at(scan, rest) == '#' && scan->data[rest - 1] == ' ';
    if (!is_line_end(scan, rest) && !comment)
        return false;
    next_line(scan, line_end(scan, rest));
    return true;
}

/* Turns the pending node (or nothing, for the root) into a collection that begins at a place. */
static uint32_t open_block(struct scan *scan, enum node_kind kind, size_t at)
{
    if (scan->depth == MAX_BLOCKS)
        return NO_NODE;
    uint32_t index = scan->depth ? scan->pending : add_node(scan, NO_NODE, at);
    if (index == NO_NODE)
        return NO_NODE;
    node_of(scan, index)->kind = (uint8_t)kind;
    node_of(scan, index)->place = place_of(scan, at);
    scan->blocks[scan->depth++] = (struct block){.node = index, .indent = at - scan->line_start};
    scan->pending = NO_NODE;
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
        if (node_of(scan, around)->kind != LIST)
            return false;
        scan->pending = add_node(scan, around, at + 1);
        if (scan->pending == NO_NODE)
            return false;
        size_t inner = skip_blanks(scan, at + 1);
        bool list = is_dash(scan, inner) && byte_at(scan, inner) == '-';
        if (!list && !find_key(scan, inner, &key))
            return read_value(scan, at + 1, scan->pending);
        at = inner;
        around = open_block(scan, list ? LIST : MAPPING, at);
        if (around == NO_NODE)
            return false;
    }
    if (node_of(scan, around)->kind != MAPPING || !find_key(scan, at, &key))
        return false;
    uint32_t pair = add_pair(scan, around, &key);
    return pair != NO_NODE && read_value(scan, key.after, pair);
}

/* Closes what ends before a place and opens what begins there. */
static bool find_block(struct scan *scan, size_t at)
{
    size_t column = at - scan->line_start;
    bool dash = is_dash(scan, at);
    if (!scan->depth)
        return scan->reader->node_count == 0 &&
               open_block(scan, dash ? LIST : MAPPING, at) != NO_NODE;
    for (; scan->depth; scan->depth--, scan->pending = NO_NODE) {
        const struct block *top = &scan->blocks[scan->depth - 1];
        uint8_t kind = node_of(scan, top->node)->kind;
        /* A list may stand as far left as the key that it belongs to. */
        bool same_column_list = column == top->indent && dash && kind == MAPPING;
        if (column > top->indent || same_column_list)
            return scan->pending != NO_NODE &&
                   open_block(scan, dash ? LIST : MAPPING, at) != NO_NODE;
        if (scan->must_follow)
            return false;
        if (column == top->indent && (kind == MAPPING || dash)) {
            scan->pending = NO_NODE;
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

bool read_document(struct quota_manifest *reader, const char *data, size_t start, size_t end,
                   unsigned line)
{
    set_classes(reader);
    if (!is_plain_text(data, start, end))
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
                        .pending = NO_NODE};
    return read_lines(&scan) && tree_write(reader, data);
}
