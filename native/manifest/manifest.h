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

struct quota_manifest;

int quota_manifest_version(void);

/* Returns a reader without keys and words, or NULL when memory is short. One thread may use it at a
 * time. */
struct quota_manifest *quota_manifest_new(void);

/* Adds a key with one or more of the marks above. Returns 0, or -1 when there are too many. */
int quota_manifest_key(struct quota_manifest *reader, const char *key, int marks);

/* Adds a word with one of the uses above. Returns 0, or -1 when there are too many. */
int quota_manifest_word(struct quota_manifest *reader, const char *word, int use);

/* Reads the documents in bytes start to end of data, whose first line has the given number.
 *
 * Returns the length of the JSON text, or -1 when there are too many bytes or memory is short. The
 * text stays valid until the next call. */
long quota_manifest_read(struct quota_manifest *reader, const char *data, size_t start, size_t end,
                         unsigned line);

/* The same for JSON values one after the other. They are read if the words say so of all of them
 * together, and -1 is returned where one of them is not of the subset. */
long quota_manifest_read_json(struct quota_manifest *reader, const char *data, size_t start,
                              size_t end, unsigned line);

/* Returns the text of the last successful read; it is not terminated. */
const char *quota_manifest_text(const struct quota_manifest *reader);

void quota_manifest_free(struct quota_manifest *reader);

#endif
