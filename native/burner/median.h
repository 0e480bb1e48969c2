/* The median of a few integers. */
#ifndef QA_MEDIAN_H
#define QA_MEDIAN_H

#include <stddef.h>
#include <stdint.h>

/**
 * Middle value of an array; the lower one of two for an even count.
 *
 * @param values  is sorted in place
 * @param count   at least 1
 * @return the median
 */
uint64_t qa_median(uint64_t *values, size_t count);

#endif
