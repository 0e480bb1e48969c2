/* Bytes that grow, kept from one document to the next. */
#ifndef QM_BUFFER_H
#define QM_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { QM_MAX_DIGITS = 10 };

struct qm_buffer {
    char *bytes; /* NULL until something is added */
    size_t size;
    size_t capacity;
};

/**
 * Make room for more bytes.
 *
 * @param buffer  all zero before its first use; free(buffer->bytes) ends it
 * @param more    how many
 * @return true, or false when memory is short; what is in the buffer stays
 */
bool qm_buffer_reserve(struct qm_buffer *buffer, size_t more);

/**
 * Add bytes.
 *
 * @param buffer  where to
 * @param bytes   what to add, not a part of the buffer
 * @param size    how many
 * @return true, or false when memory is short
 */
bool qm_buffer_add(struct qm_buffer *buffer, const char *bytes, size_t size);

/** Add a byte for which there is room. */
static inline void qm_buffer_put(struct qm_buffer *buffer, char byte)
{
    buffer->bytes[buffer->size++] = byte;
}

/** Add a number in decimal digits. There must be room for QM_MAX_DIGITS. */
static inline void qm_buffer_put_number(struct qm_buffer *buffer, uint32_t number)
{
    char digits[QM_MAX_DIGITS];
    size_t count = 0;

    do
        digits[count++] = (char)('0' + number % 10);
    while ((number /= 10) != 0);
    while (count > 0)
        qm_buffer_put(buffer, digits[--count]);
}

#endif
