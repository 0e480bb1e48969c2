/* Reads plain block-style YAML, as manifests are mostly written, into pruned trees in JSON.
 *
 * A file is cut into documents at lines that begin with "---". Words say which of them are read;
 * the others are passed over, or left to the caller. It takes a subset of YAML and leaves what is
 * not of it, so that a caller with a complete reader can use that one instead; what it takes, it
 * reads as that reader would, places included.
 *
 * The answer is a list with an entry for each document that is not passed over:
 *   [start,end,line,tree]   offsets of its bytes, number of its first line, and null instead of
 *                           the tree where it is left to the caller
 * where the tree is
 *   scalar   ["text",plain,line,column]
 *   list     [line,column,item,...]
 *   mapping  {"":[line,column],"key":value,...}, and of JSON the places of the keys behind its own
 * A pair of a mapping is left out unless its key is known, a key with QUOTA_MANIFEST_STRONG stands
 * somewhere in its value, or it is a scalar in the mapping below a key with QUOTA_MANIFEST_OPEN.
 */
#ifndef QUOTA_MANIFEST_H
#define QUOTA_MANIFEST_H

#include <stddef.h>

/* Marks of a key. */
enum {
    QUOTA_MANIFEST_WEAK = 1,   /* keep the pair where the mapping around it is kept */
    QUOTA_MANIFEST_STRONG = 2, /* keep the pair and everything around it */
    QUOTA_MANIFEST_OPEN = 4,   /* keep every scalar in the mapping below this key */
};

/* What becomes of a document. Where several words are in it, the last of these counts, and a known
 * kind (the value of "kind" at its margin) before any word. */
enum {
    QUOTA_MANIFEST_SKIP,      /* it has none of the words: it is passed over */
    QUOTA_MANIFEST_ASK,       /* the word is in it: it is left to the caller, unless it is read */
    QUOTA_MANIFEST_READ_KEY,  /* a key that begins with the word is in it: it is read */
    QUOTA_MANIFEST_READ,      /* the word is in it: it is read */
    QUOTA_MANIFEST_LEAVE,     /* the word is in it: it is left to the caller in any case */
    QUOTA_MANIFEST_KIND_SKIP, /* the word is its kind: it is passed over */
    QUOTA_MANIFEST_KIND_READ, /* the word is its kind: it is read */
};

/* Changes whenever a caller must change with it. */
enum { QUOTA_MANIFEST_VERSION = 4 };

/* A reader with its buffers. One thread may use it at a time. */
struct quota_manifest;

#pragma GCC visibility push(default)

/** QUOTA_MANIFEST_VERSION of the library that was loaded. */
int quota_manifest_version(void);

/**
 * Make a reader without keys and words.
 *
 * @return the reader, for quota_manifest_free, or NULL when memory is short
 */
struct quota_manifest *quota_manifest_new(void);

/**
 * Make a key known.
 *
 * @param reader  which reader
 * @param key     the key, copied
 * @param marks   one or more of the marks above
 * @return 0, or -1 when the keys are too many (128) or this one is too long (63 bytes)
 */
int quota_manifest_key(struct quota_manifest *reader, const char *key, int marks);

/**
 * Make a word known.
 *
 * @param reader  which reader
 * @param word    the word, copied; the empty one is in every document
 * @param use     one of the uses above
 * @return 0, or -1 when the words are too many (64) or this one is too long (63 bytes)
 */
int quota_manifest_word(struct quota_manifest *reader, const char *word, int use);

/**
 * Read documents.
 *
 * @param reader  which reader
 * @param data    the file
 * @param start   offset of the first byte, at the beginning of a line
 * @param end     offset behind the last byte, at or behind start
 * @param line    number of the first line, from 1
 * @return the bytes of the answer, which stays until the next call; -1 when the file is too large
 * (2 GiB) or memory is short
 */
long quota_manifest_read(struct quota_manifest *reader, const char *data, size_t start, size_t end,
                         unsigned line);

/**
 * Read JSON values that stand one after the other. The words decide about all of them together.
 *
 * @param reader  which reader
 * @param data    the file
 * @param start   offset of the first byte, at the beginning of a line
 * @param end     offset behind the last byte, at or behind start
 * @param line    number of the first line, from 1
 * @return as quota_manifest_read; also -1 when one of the values is not of the subset, or the words
 * do not say that they are read
 */
long quota_manifest_read_json(struct quota_manifest *reader, const char *data, size_t start,
                              size_t end, unsigned line);

/**
 * The answer.
 *
 * @param reader  which reader, after a read that succeeded
 * @return its first byte; it is not terminated
 */
const char *quota_manifest_text(const struct quota_manifest *reader);

/**
 * Free a reader.
 *
 * @param reader  which reader; NULL is harmless
 */
void quota_manifest_free(struct quota_manifest *reader);

#pragma GCC visibility pop

#endif
