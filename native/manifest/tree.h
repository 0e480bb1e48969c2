/* The tree of a document while it is read, and how it is written as JSON. */
#ifndef QM_TREE_H
#define QM_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct quota_manifest;

enum { QM_NO_NODE = UINT32_MAX };

enum qm_kind { QM_SCALAR, QM_LIST, QM_MAPPING, QM_ALIAS };

/* Both from 1. A column counts characters. */
struct qm_place {
    uint32_t line;
    uint32_t column;
};

/* A piece of the file, or of the pool of texts that differ from how they stand in it. */
struct qm_span {
    uint32_t start;
    uint32_t size;
};

struct qm_node {
    uint8_t kind; /* enum qm_kind */
    bool plain : 1;
    bool pooled : 1; /* the text is in the pool */
    bool strong : 1; /* the key or something below it has QUOTA_MANIFEST_STRONG */
    uint8_t marks;   /* of the key */
    struct qm_place place;
    struct qm_span text;
    struct qm_span key;
    struct qm_place key_place; /* line 0 where the reader does not tell it */
    uint32_t target;           /* of an alias */
    uint32_t parent;           /* this and the rest: QM_NO_NODE where there is none */
    uint32_t next;
    uint32_t first;
    uint32_t last;
    uint32_t children; /* their number */
};

/** A span from one offset to another. */
static inline struct qm_span qm_span_of(size_t start, size_t end)
{
    return (struct qm_span){.start = (uint32_t)start, .size = (uint32_t)(end - start)};
}

/**
 * Add a child to a collection. Pointers to nodes are void afterwards.
 *
 * @param reader  whose tree
 * @param parent  the collection, or QM_NO_NODE for the root
 * @return the index of the child, or QM_NO_NODE when memory is short or the nodes are too many
 */
uint32_t qm_tree_add(struct quota_manifest *reader, uint32_t parent);

/**
 * Mark a node and everything around it as strong.
 *
 * @param reader  whose tree
 * @param index   the node
 */
void qm_tree_mark_strong(struct quota_manifest *reader, uint32_t index);

/**
 * Whether a node will be written, as far as its own text and what is in it so far tell.
 *
 * @param reader  whose tree
 * @param index   the node
 * @return true when it will
 */
bool qm_tree_keeps(const struct quota_manifest *reader, uint32_t index);

/**
 * Add the tree to the reader's JSON; one without nodes adds nothing.
 *
 * @param reader  whose tree
 * @param data    the file that it was read from
 * @return true, or false when memory is short or aliases make the tree too large; a part of it may
 * then be in the JSON
 */
bool qm_tree_write(struct quota_manifest *reader, const char *data);

#endif
