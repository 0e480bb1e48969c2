/* One document of block-style YAML. */
#ifndef QM_YAML_H
#define QM_YAML_H

#include <stdbool.h>
#include <stddef.h>

struct quota_manifest;

/**
 * Read a document and add its tree to the reader's JSON; one without any node adds nothing.
 *
 * @param reader  receives the tree
 * @param data    the file
 * @param start   offset of the first byte, at the beginning of a line
 * @param end     offset behind the last byte
 * @param line    number of the first line
 * @return true, or false when it is not of the subset, too large, or memory is short; a part of the
 * tree may then be in the JSON
 */
bool qm_yaml_read(struct quota_manifest *reader, const char *data, size_t start, size_t end,
                  unsigned line);

#endif
