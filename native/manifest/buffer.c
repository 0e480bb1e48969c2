#include "buffer.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_BYTES = 8192 };

bool qm_buffer_reserve(struct qm_buffer *buffer, size_t more)
{
    size_t needed = buffer->size + more;
    size_t capacity = buffer->capacity > 0 ? buffer->capacity : FIRST_BYTES;
    char *bytes;

    if (needed <= buffer->capacity)
        return true;
    while (capacity < needed)
        capacity *= 2;
    bytes = realloc(buffer->bytes, capacity);
    if (bytes == NULL)
        return false;
    buffer->bytes = bytes;
    buffer->capacity = capacity;
    return true;
}

bool qm_buffer_add(struct qm_buffer *buffer, const char *bytes, size_t size)
{
    if (size == 0) /* there may be no bytes at all yet */
        return true;
    if (!qm_buffer_reserve(buffer, size))
        return false;
    memcpy(buffer->bytes + buffer->size, bytes, size);
    buffer->size += size;
    return true;
}
