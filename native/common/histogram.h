/*
 * A log-linear histogram of unsigned integers.
 *
 * Every power of two [2^e, 2^(e+1)) is cut into 2^bits slots of equal width, so a slot is never
 * wider than its lowest value divided by 2^bits, and values below 2^(bits+1) have a slot of their
 * own. That gives the error bound: for a value v that was recorded, the slot's highest value r
 * satisfies
 *
 *     v <= r < v * (1 + 2^-bits)        (and r == v when v < 2^(bits+1))
 *
 * Recording costs a handful of instructions and no memory; merging adds the slots.
 */
#ifndef QA_HISTOGRAM_H
#define QA_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

enum { QA_HISTOGRAM_MAX_BITS = 16 };

struct qa_histogram {
    uint64_t lowest;    /* smallest value the caller expects */
    uint64_t highest;   /* largest value that keeps the error bound */
    unsigned bits;      /* log2 of the slots per power of two */
    size_t slots;       /* length of counts */
    uint64_t *counts;   /* samples per slot */
    uint64_t total;     /* samples recorded, underflow and overflow included */
    uint64_t sum;       /* exact sum of the samples; stays at UINT64_MAX once it would pass it */
    uint64_t min;       /* exact, UINT64_MAX while empty */
    uint64_t max;       /* exact, 0 while empty */
    uint64_t underflow; /* samples below lowest: counted as lowest */
    uint64_t overflow;  /* samples above highest: counted as highest */
};

/**
 * Make an empty histogram. Its memory is touched at once, so that recording causes no page fault.
 *
 * @param histogram  what to initialise
 * @param lowest     smallest value to tell apart, in the caller's unit
 * @param highest    largest value to tell apart, same unit
 * @param bits       precision, 0 to QA_HISTOGRAM_MAX_BITS: the relative error stays below 2^-bits
 * @return 0, or -1 when lowest > highest, bits is out of range, or there is no memory
 */
int qa_histogram_init(struct qa_histogram *histogram, uint64_t lowest, uint64_t highest,
                      unsigned bits);

/**
 * Free the memory. Harmless on a histogram that is all zero or already destroyed.
 *
 * @param histogram  what to free
 */
void qa_histogram_destroy(struct qa_histogram *histogram);

/**
 * Count one value. A value outside [lowest, highest] goes to the nearest slot and is also counted
 * in underflow or overflow; min, max and sum stay exact in every case.
 *
 * @param histogram  where to count
 * @param value      the sample, in the histogram's unit
 */
void qa_histogram_record(struct qa_histogram *histogram, uint64_t value);

/**
 * Count one value several times, as qa_histogram_record does.
 *
 * @param histogram  where to count
 * @param value      the sample, in the histogram's unit
 * @param times      how often: a weight
 */
void qa_histogram_record_times(struct qa_histogram *histogram, uint64_t value, uint64_t times);

/**
 * Add every sample of one histogram to another.
 *
 * @param into  receives the samples
 * @param from  is not changed
 * @return 0, or -1 (and nothing is changed) when the two differ in lowest, highest or bits
 */
int qa_histogram_merge(struct qa_histogram *into, const struct qa_histogram *from);

/**
 * Nearest-rank quantile: the smallest slot such that at least ppm / 1000000 of the samples are in
 * it or below. The slot's highest value is returned, so the answer is never too small, and by less
 * than 2^-bits too large. It never exceeds the exact maximum; where samples overflowed it *is* the
 * exact maximum.
 *
 * @param histogram  what to ask
 * @param ppm        the quantile in parts per million, 0 to 1000000: p99.9 is 999000
 * @return the value in the histogram's unit; 0 when the histogram is empty
 */
uint64_t qa_histogram_quantile(const struct qa_histogram *histogram, uint32_t ppm);

/**
 * Arithmetic mean of the samples.
 *
 * @param histogram  what to ask
 * @return the mean in the histogram's unit; 0.0 when the histogram is empty
 */
double qa_histogram_mean(const struct qa_histogram *histogram);

/**
 * The error bound that the precision gives.
 *
 * @param histogram  what to ask
 * @return 2^-bits, a ratio
 */
double qa_histogram_error_ratio(const struct qa_histogram *histogram);

/**
 * Number of the slot that a value falls into. Exposed for the tests.
 *
 * @param bits   precision
 * @param value  any value
 * @return the slot
 */
size_t qa_histogram_slot(unsigned bits, uint64_t value);

/**
 * Highest value of a slot. Exposed for the tests.
 *
 * @param bits  precision
 * @param slot  any slot that qa_histogram_slot can return
 * @return the largest value v for which qa_histogram_slot(bits, v) == slot
 */
uint64_t qa_histogram_slot_top(unsigned bits, size_t slot);

#endif
