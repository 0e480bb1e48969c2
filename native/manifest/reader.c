#include "reader.h"

#include <stdlib.h>
#include <string.h>

#include "manifest.h"

/* ---- keys */

uint32_t qm_key_hash(const char *key, size_t size)
{
    uint32_t hash = 2166136261U;

    for (size_t i = 0; i < size; i++)
        hash = (hash ^ (unsigned char)key[i]) * 16777619U;
    return hash ^ hash >> 15;
}

static size_t slot_of(const char *key, size_t size)
{
    return qm_key_hash(key, size) % QM_KEY_SLOTS;
}

uint8_t qm_key_marks(const struct quota_manifest *reader, const char *key, size_t size)
{
    if (size >= sizeof reader->keys[0].name)
        return 0;
    for (size_t slot = slot_of(key, size); reader->slots[slot]; slot = (slot + 1) % QM_KEY_SLOTS) {
        const struct qm_key *known = &reader->keys[reader->slots[slot] - 1];

        if (known->size == size && memcmp(known->name, key, size) == 0)
            return known->marks;
    }
    return 0;
}

int quota_manifest_key(struct quota_manifest *reader, const char *key, int marks)
{
    size_t size = strlen(key);

    if (reader->key_count == QM_MAX_KEYS || size >= sizeof reader->keys[0].name)
        return -1;
    struct qm_key *known = &reader->keys[reader->key_count++];
    memcpy(known->name, key, size);
    known->size = size;
    known->marks = (uint8_t)marks;
    size_t slot = slot_of(key, size);
    while (reader->slots[slot])
        slot = (slot + 1) % QM_KEY_SLOTS;
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
    if (reader == NULL)
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

int quota_manifest_word(struct quota_manifest *reader, const char *word, int use)
{
    size_t size = strlen(word);

    if (reader->word_count == QM_MAX_WORDS || size >= sizeof reader->words[0].text)
        return -1;
    struct qm_word *known = &reader->words[reader->word_count++];
    memcpy(known->text, word, size);
    known->size = size;
    known->use = use;
    return 0;
}
