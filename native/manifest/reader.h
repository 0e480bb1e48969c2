/* What is known to a reader, and what it uses again for the next document. */
#ifndef QM_READER_H
#define QM_READER_H

#include <stddef.h>
#include <stdint.h>

#include "buffer.h"
#include "tree.h"

enum { QM_MAX_KEYS = 128, QM_KEY_SLOTS = 512, QM_MAX_WORDS = 64, QM_WORD_BYTES = 64 };

struct qm_key {
    char name[QM_WORD_BYTES]; /* not terminated */
    size_t size;
    uint8_t marks;
};

struct qm_word {
    char text[QM_WORD_BYTES]; /* not terminated */
    size_t size;
    int use;
};

struct quota_manifest {
    struct qm_key keys[QM_MAX_KEYS];
    uint16_t slots[QM_KEY_SLOTS]; /* index into keys plus one */
    size_t key_count;
    struct qm_word words[QM_MAX_WORDS];
    size_t word_count;
    struct qm_node *nodes;
    size_t node_count;
    size_t node_capacity;
    size_t aliased;        /* bytes of JSON that aliases have added so far */
    uint8_t classes[256];  /* of bytes, for yaml.c */
    struct qm_buffer pool; /* texts that differ from how they stand in the file */
    struct qm_buffer json; /* the answer */
    struct qm_buffer seen; /* keys of the mappings that are open, for json.c */
};

/**
 * A number that differs for most keys.
 *
 * @param key   the key, not terminated
 * @param size  its bytes
 * @return the number
 */
uint32_t qm_key_hash(const char *key, size_t size);

/**
 * How a key is marked.
 *
 * @param reader  which keys are known
 * @param key     the key, not terminated
 * @param size    its bytes
 * @return its marks, 0 for an unknown key
 */
uint8_t qm_key_marks(const struct quota_manifest *reader, const char *key, size_t size);

#endif
