#include "histogram.h"

#include <stdlib.h>
#include <string.h>

static unsigned highest_bit(uint64_t value)
{
    return 63u - (unsigned)__builtin_clzll(value | 1);
}

size_t qa_histogram_slot(unsigned bits, uint64_t value)
{
    unsigned exponent = highest_bit(value);
    unsigned shift = exponent > bits ? exponent - bits : 0;

    return ((size_t)shift << bits) + (size_t)(value >> shift);
}

uint64_t qa_histogram_slot_top(unsigned bits, size_t slot)
{
    size_t octave = slot >> bits;
    unsigned shift = octave > 1 ? (unsigned)octave - 1 : 0;
    uint64_t bottom = (uint64_t)(slot - ((size_t)shift << bits)) << shift;

    return bottom + ((UINT64_C(1) << shift) - 1);
}

int qa_histogram_init(struct qa_histogram *histogram, uint64_t lowest, uint64_t highest,
                      unsigned bits)
{
    memset(histogram, 0, sizeof *histogram);
    if (lowest > highest || bits > QA_HISTOGRAM_MAX_BITS)
        return -1;
    histogram->lowest = lowest;
    histogram->highest = highest;
    histogram->bits = bits;
    histogram->min = UINT64_MAX;
    histogram->slots = qa_histogram_slot(bits, highest) + 1;
    histogram->counts = malloc(histogram->slots * sizeof *histogram->counts);
    if (histogram->counts == NULL)
        return -1;
    memset(histogram->counts, 0, histogram->slots * sizeof *histogram->counts);
    return 0;
}

void qa_histogram_destroy(struct qa_histogram *histogram)
{
    free(histogram->counts);
    memset(histogram, 0, sizeof *histogram);
}

static uint64_t add_saturating(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static uint64_t product_saturating(uint64_t a, uint64_t b)
{
    uint64_t product;

    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

void qa_histogram_record_times(struct qa_histogram *histogram, uint64_t value, uint64_t times)
{
    uint64_t counted = value;

    if (times == 0)
        return;
    if (counted < histogram->lowest) {
        counted = histogram->lowest;
        histogram->underflow += times;
    } else if (counted > histogram->highest) {
        counted = histogram->highest;
        histogram->overflow += times;
    }
    histogram->counts[qa_histogram_slot(histogram->bits, counted)] += times;
    histogram->total += times;
    histogram->sum = add_saturating(histogram->sum, product_saturating(value, times));
    if (value < histogram->min)
        histogram->min = value;
    if (value > histogram->max)
        histogram->max = value;
}

void qa_histogram_record(struct qa_histogram *histogram, uint64_t value)
{
    qa_histogram_record_times(histogram, value, 1);
}

int qa_histogram_merge(struct qa_histogram *into, const struct qa_histogram *from)
{
    if (into->lowest != from->lowest || into->highest != from->highest || into->bits != from->bits)
        return -1;
    for (size_t slot = 0; slot < from->slots; slot++)
        into->counts[slot] += from->counts[slot];
    into->total += from->total;
    into->sum = add_saturating(into->sum, from->sum);
    into->underflow += from->underflow;
    into->overflow += from->overflow;
    if (from->min < into->min)
        into->min = from->min;
    if (from->max > into->max)
        into->max = from->max;
    return 0;
}

/* ceil(total * ppm / 1000000), at least 1, without leaving 64 bits and without floating point,
 * which would put p99 of 100 samples at rank 99 or 100 by rounding. */
static uint64_t rank_of(uint64_t total, uint32_t ppm)
{
    const uint64_t million = 1000000;
    uint64_t whole = total / million * ppm;
    uint64_t rest = (total % million * ppm + million - 1) / million;

    return whole + rest > 0 ? whole + rest : 1;
}

uint64_t qa_histogram_quantile(const struct qa_histogram *histogram, uint32_t ppm)
{
    uint64_t rank = rank_of(histogram->total, ppm > 1000000 ? 1000000 : ppm);
    uint64_t seen = 0;
    uint64_t top = 0;

    if (histogram->total == 0)
        return 0;
    if (rank > histogram->total - histogram->overflow)
        return histogram->max;
    for (size_t slot = 0; slot < histogram->slots && seen < rank; slot++) {
        seen += histogram->counts[slot];
        if (seen >= rank)
            top = qa_histogram_slot_top(histogram->bits, slot);
    }
    return top < histogram->max ? top : histogram->max;
}

double qa_histogram_mean(const struct qa_histogram *histogram)
{
    return histogram->total == 0 ? 0.0 : (double)histogram->sum / (double)histogram->total;
}

double qa_histogram_error_ratio(const struct qa_histogram *histogram)
{
    return 1.0 / (double)(UINT64_C(1) << histogram->bits);
}
