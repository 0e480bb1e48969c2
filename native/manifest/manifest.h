/* Reads plain block-style YAML, as manifests are mostly written, into a pruned tree in JSON.
 *
 * It takes a subset of YAML and refuses everything else, so that a caller with a complete reader
 * can use that one instead; what it takes, it reads as that reader would, places included.
 *
 * The answer is one JSON value:
 *   scalar   ["text",plain,line,column]
 *   list     [line,column,item,...]
 *   mapping  {"":[line,column],"key":value,...}
 *   nothing  null
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

/* Changes whenever a caller must change with it. */
enum { QUOTA_MANIFEST_VERSION = 2 };

struct quota_manifest;

int quota_manifest_version(void);

/* Returns a reader without keys, or NULL when memory is short. One thread may use it at a time. */
struct quota_manifest *quota_manifest_new(void);

/* Adds a key with one or more of the marks above. Returns 0, or -1 when there are too many. */
int quota_manifest_key(struct quota_manifest *reader, const char *key, int marks);

/* Reads bytes start to end of data as one document whose first line has the given number.
 *
 * Returns the length of the JSON text, or -1 when the document is not of the subset, too large or
 * memory is short. The text stays valid until the next call. */
long quota_manifest_read(struct quota_manifest *reader, const char *data, size_t start, size_t end,
                         unsigned line);

/* Returns the text of the last successful read; it is not terminated. */
const char *quota_manifest_text(const struct quota_manifest *reader);

void quota_manifest_free(struct quota_manifest *reader);

#endif
