/* What the tests of the reader share: a reader with keys of each kind, and calls on texts. */
#ifndef QA_READING_H
#define QA_READING_H

#include <stdlib.h>

#include "harness.h"
#include "manifest.h"
#include "well_formed.h"

typedef long (*reading_call)(struct quota_manifest *, const char *, size_t, size_t, unsigned);

/* Keys for every use; what they are called means nothing to the reader. */
static inline void reading_know_keys(struct quota_manifest *reader)
{
    if (quota_manifest_key(reader, "containers", QUOTA_MANIFEST_STRONG) != 0 ||
        quota_manifest_key(reader, "cpu", QUOTA_MANIFEST_STRONG) != 0 ||
        quota_manifest_key(reader, "name", QUOTA_MANIFEST_WEAK) != 0 ||
        quota_manifest_key(reader, "kind", QUOTA_MANIFEST_WEAK) != 0 ||
        quota_manifest_key(reader, "labels", QUOTA_MANIFEST_STRONG | QUOTA_MANIFEST_OPEN) != 0)
        abort();
}

/* A reader of every document. */
static inline struct quota_manifest *reading_new(void)
{
    struct quota_manifest *reader = quota_manifest_new();

    if (reader == NULL || quota_manifest_word(reader, "", QUOTA_MANIFEST_READ) != 0)
        abort();
    reading_know_keys(reader);
    return reader;
}

/* A reader for which words stand for each use. */
static inline struct quota_manifest *reading_new_with_words(void)
{
    static const struct {
        const char *word;
        int use;
    } words[] = {
        {"ConfigMap", QUOTA_MANIFEST_KIND_SKIP}, {"Pod", QUOTA_MANIFEST_KIND_READ},
        {"containers", QUOTA_MANIFEST_READ},     {"cpu", QUOTA_MANIFEST_READ_KEY},
        {"services", QUOTA_MANIFEST_LEAVE},      {"{{", QUOTA_MANIFEST_ASK},
    };
    struct quota_manifest *reader = quota_manifest_new();

    if (reader == NULL)
        abort();
    reading_know_keys(reader);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (quota_manifest_word(reader, words[i].word, words[i].use) != 0)
            abort();
    return reader;
}

/**
 * Read bytes that are copied to where nothing stands behind them, so that the address sanitizer
 * notices the smallest step too far.
 *
 * @return the answer, terminated, until the next call; "-1" when there is none
 */
static inline const char *reading_of(struct quota_manifest *reader, reading_call call,
                                     const char *bytes, size_t size)
{
    static char *answer;
    char *data = malloc(size > 0 ? size : 1);
    long length;

    if (data == NULL)
        abort();
    memcpy(data, bytes, size);
    length = call(reader, data, 0, size, 1);
    free(data);
    if (length < 0)
        return "-1";
    CHECK(is_well_formed(quota_manifest_text(reader), (size_t)length));
    answer = realloc(answer, (size_t)length + 1);
    if (answer == NULL)
        abort();
    memcpy(answer, quota_manifest_text(reader), (size_t)length);
    answer[length] = '\0';
    return answer;
}

/**
 * The tree of a text that is one document.
 *
 * @return the tree, until the next call; "null" where it is left to the caller, "none" where there
 * is no document, "-1" where there is no answer
 */
static inline const char *reading_tree(struct quota_manifest *reader, reading_call call,
                                       const char *bytes, size_t size)
{
    static char *tree;
    const char *answer = reading_of(reader, call, bytes, size);
    int before = 0;

    if (strcmp(answer, "-1") == 0)
        return "-1";
    if (strcmp(answer, "[]") == 0)
        return "none";
    sscanf(answer, "[[%*u,%*u,%*u,%n", &before);
    CHECK(before > 0);
    free(tree);
    tree = strdup(answer + before);
    if (tree == NULL)
        abort();
    tree[strlen(tree) - strlen("]]")] = '\0';
    return tree;
}

/* A text of some bytes, over and over. The caller frees it. */
static inline char *reading_repeat(const char *before, const char *piece, size_t times,
                                   const char *after, size_t *size)
{
    size_t length = strlen(piece);
    char *text = malloc(strlen(before) + length * times + strlen(after) + 1);
    char *at = text;

    if (text == NULL)
        abort();
    at = stpcpy(at, before);
    for (size_t i = 0; i < times; i++)
        at = stpcpy(at, piece);
    at = stpcpy(at, after);
    *size = (size_t)(at - text);
    return text;
}

#endif
