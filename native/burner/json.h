/* Writes one JSON document on one line, value by value. Commas and escapes are the writer's
 * business. */
#ifndef QA_JSON_H
#define QA_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { QA_JSON_MAX_DEPTH = 8 };

struct qa_json {
    FILE *out;
    unsigned depth;
    bool filled[QA_JSON_MAX_DEPTH + 1]; /* by depth: something was written, so a comma comes next */
};

/**
 * Start a document. Errors of the stream are kept by the stream: look at ferror() at the end.
 *
 * @param json  the writer to initialise
 * @param out   where to write
 */
void qa_json_init(struct qa_json *json, FILE *out);

/* In all calls below `key` is the member's name inside an object, and NULL inside an array and for
 * the outermost value. Nesting deeper than QA_JSON_MAX_DEPTH is a programming error and aborts. */

/** Open an object; close it with qa_json_end_object. */
void qa_json_begin_object(struct qa_json *json, const char *key);

/** Close the innermost object. */
void qa_json_end_object(struct qa_json *json);

/** Open an array; close it with qa_json_end_array. */
void qa_json_begin_array(struct qa_json *json, const char *key);

/** Close the innermost array. */
void qa_json_end_array(struct qa_json *json);

/** Write a string; control characters are escaped, bytes that are not UTF-8 become U+FFFD. */
void qa_json_string(struct qa_json *json, const char *key, const char *value);

/** Write an unsigned integer in full. */
void qa_json_u64(struct qa_json *json, const char *key, uint64_t value);

/** Write a number with that many decimals; null when it is infinite or not a number. */
void qa_json_real(struct qa_json *json, const char *key, double value, int decimals);

/** Write true or false. */
void qa_json_bool(struct qa_json *json, const char *key, bool value);

/** Write null: the value was not measured. */
void qa_json_null(struct qa_json *json, const char *key);

#endif
