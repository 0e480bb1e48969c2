/* The tree of a document while it is read, and the buffers that are used again for the next. */
#ifndef QUOTA_MANIFEST_TREE_H
#define QUOTA_MANIFEST_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NO_NODE = UINT32_MAX, MAX_KEYS = 128, KEY_SLOTS = 512, MAX_WORDS = 64 };

enum node_kind { SCALAR, LIST, MAPPING, ALIAS };

struct place {
    uint32_t line;
    uint32_t column;
};

/* A piece of the document, or of the pool of texts that are not written as they are read. */
struct span {
    uint32_t start;
    uint32_t size;
};

struct node {
    uint8_t kind; /* enum node_kind */
    bool plain : 1;
    bool pooled : 1; /* the text is in the pool */
    bool strong : 1; /* the key or something below it has QUOTA_MANIFEST_STRONG */
    uint8_t marks;   /* of the key */
    struct place place;
    struct span text;
    struct span key;
    struct place key_place; /* where a reader tells it: line 0 otherwise */
    uint32_t target;        /* of an alias */
    uint32_t parent;
    uint32_t next;
    uint32_t first;
    uint32_t last;
    uint32_t children;
};

struct buffer {
    char *bytes;
    size_t size;
    size_t capacity;
};

struct known_key {
    char name[64];
    size_t size;
    uint8_t marks;
};

struct word {
    char text[64];
    size_t size;
    int use;
};

struct quota_manifest {
    struct known_key keys[MAX_KEYS];
    uint16_t slots[KEY_SLOTS]; /* index into keys plus one */
    size_t key_count;
    struct word words[MAX_WORDS];
    size_t word_count;
    struct node *nodes;
    size_t node_count;
    size_t node_capacity;
    uint8_t classes[256]; /* of bytes, for read.c */
    struct buffer pool;
    struct buffer json;
    struct buffer seen; /* keys of the mappings that are open, for json.c */
};

/* Makes room for more bytes. Returns false when memory is short. */
bool buffer_reserve(struct buffer *buffer, size_t more);

/* Adds bytes. Returns false when memory is short. */
bool buffer_add(struct buffer *buffer, const char *bytes, size_t size);

/* Adds a number in decimal digits. Returns false when memory is short. */
bool buffer_number(struct buffer *buffer, uint32_t number);

/* Returns a number that differs for most keys. */
uint32_t key_hash(const char *key, size_t size);

/* Returns the marks of a key, 0 for an unknown one. */
uint8_t key_marks(const struct quota_manifest *reader, const char *key, size_t size);

/* Adds a child to a collection, or the root when parent is NO_NODE. Returns its index, or NO_NODE
 * when memory is short or the document has too many nodes. */
uint32_t tree_add(struct quota_manifest *reader, uint32_t parent);

/* Marks a node and everything around it as strong. */
void tree_mark_strong(struct quota_manifest *reader, uint32_t index);

/* Whether a node will be written, as far as its own text and what is in it so far tell. */
bool tree_keeps(const struct quota_manifest *reader, uint32_t index);

/* Adds the tree to the JSON buffer. Returns false when memory is short. */
bool tree_write(struct quota_manifest *reader, const char *data);

/* Reads bytes start to end of data as one document and adds its tree to the JSON buffer; of one
 * without any node nothing. Returns false when it is not of the subset, too large or memory is
 * short; something of it may then be in the buffer. */
bool read_document(struct quota_manifest *reader, const char *data, size_t start, size_t end,
                   unsigned line);

/* Whether bytes are text as every reader takes it: UTF-8 without unusual characters. */
bool is_plain_text(const char *data, size_t start, size_t end);

/* Reads one JSON value and adds its tree, places of keys included, to the JSON buffer. Moves start,
 * line and column (from 0) to what follows it. Returns false when it is none, too large or deep,
 * has a key twice, or memory is short; something of it may then be in the buffer. */
bool read_json_value(struct quota_manifest *reader, const char *data, size_t *start, size_t end,
                     uint32_t *line, uint32_t *column);

#endif
