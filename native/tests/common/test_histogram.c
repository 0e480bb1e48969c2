#include "histogram.h"

#include <stdlib.h>

#include "harness.h"

enum { SAMPLES = 20000 };

/* Numbers of every magnitude up to 2^(64 - least_shift). */
static uint64_t any_magnitude(unsigned least_shift)
{
    uint64_t number = harness_random();

    return number >> (least_shift + number % (64 - least_shift));
}

static void error_bound_holds_for(unsigned bits, uint64_t value)
{
    uint64_t top = qa_histogram_slot_top(bits, qa_histogram_slot(bits, value));

    CHECK(top >= value);
    CHECK(top - value <= value >> bits);
    if (value >> bits < 2)
        CHECK_U64(top, value);
    CHECK(top == UINT64_MAX ||
          qa_histogram_slot(bits, top + 1) == qa_histogram_slot(bits, top) + 1);
}

static void error_bound_holds_everywhere(void)
{
    for (unsigned bits = 0; bits <= QA_HISTOGRAM_MAX_BITS; bits++) {
        for (int i = 0; i < SAMPLES; i++)
            error_bound_holds_for(bits, any_magnitude(0));
        for (unsigned exponent = 0; exponent < 64; exponent++) {
            error_bound_holds_for(bits, UINT64_C(1) << exponent);
            error_bound_holds_for(bits, (UINT64_C(1) << exponent) - 1);
            error_bound_holds_for(bits, (UINT64_C(1) << exponent) + 1);
        }
        error_bound_holds_for(bits, 0);
        error_bound_holds_for(bits, UINT64_MAX);
    }
}

static void slots_are_in_order_without_gaps(void)
{
    for (uint64_t value = 0; value < 100000; value++) {
        size_t step = qa_histogram_slot(5, value + 1) - qa_histogram_slot(5, value);

        CHECK(step <= 1);
    }
}

static int ascending(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* Nearest rank by the definition, on sorted samples. */
static uint64_t exact_quantile(const uint64_t *sorted, uint64_t count, uint32_t ppm)
{
    uint64_t rank = (count * ppm + 999999) / 1000000;

    return sorted[rank > 0 ? rank - 1 : 0];
}

static void quantiles_agree_with_sorting(void)
{
    static const uint32_t PPM[] = {0,      1,      250000, 500000, 900000,
                                   950000, 990000, 999000, 999999, 1000000};
    static const uint64_t COUNTS[] = {1, 2, 3, 10, 99, 100, 101, 1000, SAMPLES};
    static uint64_t samples[SAMPLES];

    for (size_t c = 0; c < sizeof COUNTS / sizeof COUNTS[0]; c++) {
        struct qa_histogram histogram;

        CHECK(qa_histogram_init(&histogram, 0, UINT64_C(1) << 40, 9) == 0);
        for (uint64_t i = 0; i < COUNTS[c]; i++) {
            samples[i] = any_magnitude(24);
            qa_histogram_record(&histogram, samples[i]);
        }
        qsort(samples, COUNTS[c], sizeof samples[0], ascending);
        for (size_t p = 0; p < sizeof PPM / sizeof PPM[0]; p++) {
            uint64_t exact = exact_quantile(samples, COUNTS[c], PPM[p]);
            uint64_t answer = qa_histogram_quantile(&histogram, PPM[p]);

            CHECK(answer >= exact);
            CHECK(answer - exact <= exact >> 9);
        }
        CHECK_U64(qa_histogram_quantile(&histogram, 1000000), samples[COUNTS[c] - 1]);
        CHECK_U64(histogram.min, samples[0]);
        CHECK_U64(histogram.max, samples[COUNTS[c] - 1]);
        qa_histogram_destroy(&histogram);
    }
}

/* 0.99 * 100 in floating point may round to either side of 99. */
static void ranks_are_not_rounded(void)
{
    struct qa_histogram histogram;

    CHECK(qa_histogram_init(&histogram, 0, 1000000, 12) == 0);
    for (uint64_t i = 1; i <= 1000; i++)
        qa_histogram_record(&histogram, i);
    CHECK_U64(qa_histogram_quantile(&histogram, 500000), 500);
    CHECK_U64(qa_histogram_quantile(&histogram, 990000), 990);
    CHECK_U64(qa_histogram_quantile(&histogram, 990001), 991);
    CHECK_U64(qa_histogram_quantile(&histogram, 999000), 999);
    CHECK_U64(qa_histogram_quantile(&histogram, 999001), 1000);
    CHECK_U64(qa_histogram_quantile(&histogram, 2000000), 1000);
    qa_histogram_destroy(&histogram);
}

static void merging_equals_recording_together(void)
{
    struct qa_histogram one, two, both;

    CHECK(qa_histogram_init(&one, 5, 1 << 20, 7) == 0);
    CHECK(qa_histogram_init(&two, 5, 1 << 20, 7) == 0);
    CHECK(qa_histogram_init(&both, 5, 1 << 20, 7) == 0);
    for (int i = 0; i < SAMPLES; i++) {
        uint64_t value = any_magnitude(40);

        qa_histogram_record(i % 3 == 0 ? &one : &two, value);
        qa_histogram_record(&both, value);
    }
    CHECK(qa_histogram_merge(&one, &two) == 0);
    CHECK_U64(one.total, both.total);
    CHECK_U64(one.sum, both.sum);
    CHECK_U64(one.min, both.min);
    CHECK_U64(one.max, both.max);
    CHECK_U64(one.underflow, both.underflow);
    CHECK_U64(one.overflow, both.overflow);
    CHECK(both.underflow > 0 && both.overflow > 0);
    CHECK(memcmp(one.counts, both.counts, both.slots * sizeof both.counts[0]) == 0);
    qa_histogram_destroy(&one);
    qa_histogram_destroy(&two);
    qa_histogram_destroy(&both);
}

static void merging_needs_the_same_shape(void)
{
    struct qa_histogram into, other;
    static const uint64_t SHAPES[][3] = {{1, 1000, 4}, {0, 1001, 4}, {0, 1000, 5}};

    CHECK(qa_histogram_init(&into, 0, 1000, 4) == 0);
    qa_histogram_record(&into, 17);
    for (int i = 0; i < 3; i++) {
        CHECK(qa_histogram_init(&other, SHAPES[i][0], SHAPES[i][1], (unsigned)SHAPES[i][2]) == 0);
        qa_histogram_record(&other, 3);
        CHECK(qa_histogram_merge(&into, &other) == -1);
        CHECK_U64(into.total, 1);
        qa_histogram_destroy(&other);
    }
    qa_histogram_destroy(&into);
}

static void merging_an_empty_one_changes_nothing(void)
{
    struct qa_histogram into, empty;

    CHECK(qa_histogram_init(&into, 0, 1000, 4) == 0);
    CHECK(qa_histogram_init(&empty, 0, 1000, 4) == 0);
    qa_histogram_record(&into, 17);
    CHECK(qa_histogram_merge(&into, &empty) == 0);
    CHECK_U64(into.min, 17);
    CHECK_U64(into.max, 17);
    CHECK_U64(into.total, 1);
    qa_histogram_destroy(&into);
    qa_histogram_destroy(&empty);
}

static void values_outside_the_range_are_counted(void)
{
    struct qa_histogram histogram;

    CHECK(qa_histogram_init(&histogram, 100, 1000, 6) == 0);
    qa_histogram_record(&histogram, 99);
    qa_histogram_record(&histogram, 100);
    qa_histogram_record(&histogram, 1000);
    qa_histogram_record(&histogram, 1001);
    qa_histogram_record(&histogram, 123456);
    CHECK_U64(histogram.total, 5);
    CHECK_U64(histogram.underflow, 1);
    CHECK_U64(histogram.overflow, 2);
    CHECK_U64(histogram.min, 99);
    CHECK_U64(histogram.max, 123456);
    CHECK_U64(histogram.sum, 99 + 100 + 1000 + 1001 + 123456);
    CHECK_U64(qa_histogram_quantile(&histogram, 400000), 100);
    CHECK(qa_histogram_quantile(&histogram, 600000) >= 1000);
    CHECK(qa_histogram_quantile(&histogram, 600000) <= 1000 + 1000 / 64);
    CHECK_U64(qa_histogram_quantile(&histogram, 800000), 123456);
    qa_histogram_record(&histogram, UINT64_MAX);
    CHECK_U64(histogram.sum, UINT64_MAX);
    qa_histogram_destroy(&histogram);
}

static void an_empty_one_answers_zero(void)
{
    struct qa_histogram histogram;

    CHECK(qa_histogram_init(&histogram, 0, 1000, 6) == 0);
    CHECK_U64(qa_histogram_quantile(&histogram, 500000), 0);
    CHECK(qa_histogram_mean(&histogram) < 1e-9);
    CHECK(qa_histogram_error_ratio(&histogram) > 0.0156 &&
          qa_histogram_error_ratio(&histogram) < 0.0157);
    qa_histogram_destroy(&histogram);
    qa_histogram_destroy(&histogram);
}

static void impossible_shapes_are_refused(void)
{
    struct qa_histogram histogram;

    CHECK(qa_histogram_init(&histogram, 2, 1, 6) == -1);
    CHECK(qa_histogram_init(&histogram, 0, 1, QA_HISTOGRAM_MAX_BITS + 1) == -1);
    CHECK(qa_histogram_init(&histogram, 0, 0, 0) == 0);
    qa_histogram_record(&histogram, 0);
    CHECK_U64(qa_histogram_quantile(&histogram, 500000), 0);
    qa_histogram_destroy(&histogram);
    CHECK(qa_histogram_init(&histogram, 0, UINT64_MAX, 3) == 0);
    qa_histogram_record(&histogram, UINT64_MAX);
    CHECK_U64(qa_histogram_quantile(&histogram, 500000), UINT64_MAX);
    qa_histogram_destroy(&histogram);
}

static void the_mean_is_exact(void)
{
    struct qa_histogram histogram;

    CHECK(qa_histogram_init(&histogram, 0, 1000000, 2) == 0);
    qa_histogram_record(&histogram, 1000);
    qa_histogram_record(&histogram, 1001);
    CHECK(qa_histogram_mean(&histogram) > 1000.49 && qa_histogram_mean(&histogram) < 1000.51);
    qa_histogram_destroy(&histogram);
}

static void weights_count_as_often_as_single_samples(void)
{
    struct qa_histogram many, single;

    CHECK(qa_histogram_init(&many, 10, 1000, 5) == 0);
    CHECK(qa_histogram_init(&single, 10, 1000, 5) == 0);
    for (uint64_t value = 0; value < 1200; value += 7) {
        qa_histogram_record_times(&many, value, value % 5);
        for (uint64_t i = 0; i < value % 5; i++)
            qa_histogram_record(&single, value);
    }
    CHECK_U64(many.total, single.total);
    CHECK_U64(many.sum, single.sum);
    CHECK_U64(many.min, single.min);
    CHECK_U64(many.max, single.max);
    CHECK_U64(many.underflow, single.underflow);
    CHECK_U64(many.overflow, single.overflow);
    CHECK(memcmp(many.counts, single.counts, many.slots * sizeof *many.counts) == 0);
    qa_histogram_record_times(&many, UINT64_MAX / 2, 3);
    CHECK_U64(many.sum, UINT64_MAX);
    qa_histogram_destroy(&many);
    qa_histogram_destroy(&single);
}

int main(void)
{
    RUN(weights_count_as_often_as_single_samples);
    RUN(error_bound_holds_everywhere);
    RUN(slots_are_in_order_without_gaps);
    RUN(quantiles_agree_with_sorting);
    RUN(ranks_are_not_rounded);
    RUN(merging_equals_recording_together);
    RUN(merging_needs_the_same_shape);
    RUN(merging_an_empty_one_changes_nothing);
    RUN(values_outside_the_range_are_counted);
    RUN(an_empty_one_answers_zero);
    RUN(impossible_shapes_are_refused);
    RUN(the_mean_is_exact);
    return REPORT();
}
