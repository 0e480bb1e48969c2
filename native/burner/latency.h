/* The one shape that latency histograms have here, so that all of them can be merged. */
#ifndef QA_LATENCY_H
#define QA_LATENCY_H

#include "histogram.h"

/* 512 slots per power of two: latencies are at most 0.2 % too large. */
#define QA_LATENCY_BITS 9u

/* 39 hours in nanoseconds, beyond the longest run. */
#define QA_LATENCY_HIGHEST_NS ((UINT64_C(1) << 47) - 1)

/**
 * Make an empty latency histogram in nanoseconds (about 160 kB).
 *
 * @param histogram  what to initialise
 * @return 0, or -1 when there is no memory
 */
static inline int qa_latency_init(struct qa_histogram *histogram)
{
    return qa_histogram_init(histogram, 0, QA_LATENCY_HIGHEST_NS, QA_LATENCY_BITS);
}

#endif
