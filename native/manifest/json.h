/* One JSON value. */
#ifndef QM_JSON_H
#define QM_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct quota_manifest;

/**
 * Read a value and add its tree, with the places of keys, to the reader's JSON.
 *
 * @param reader  receives the tree
 * @param data    the file; qm_is_plain_text holds for it
 * @param start   offset of the value; moved to what follows it and white space
 * @param end     offset behind the last byte
 * @param line    number of the line at start; moved with it
 * @param column  characters before start on that line; moved with it
 * @return true, or false when it is not of the subset, too large or deep, has a key twice, or
 * memory is short; a part of the tree may then be in the JSON
 */
bool qm_json_read(struct quota_manifest *reader, const char *data, size_t *start, size_t end,
                  uint32_t *line, uint32_t *column);

#endif
