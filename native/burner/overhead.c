#include "overhead.h"

#include "latency.h"
#include "median.h"
#include "request.h"

enum { MAX_ROUNDS = 1000 };

/* A thing to measure: does it that many times. */
typedef void (*operation)(struct qa_histogram *histogram, uint64_t times);

static void read_clock(struct qa_histogram *histogram, uint64_t times)
{
    (void)histogram;
    for (uint64_t i = 0; i < times; i++)
        qa_clock_now_ns();
}

static void record(struct qa_histogram *histogram, uint64_t times)
{
    for (uint64_t i = 0; i < times; i++)
        qa_histogram_record(histogram, 400000 + (i & 0xFFFF));
}

/* The loop of a saturating worker, with its look at the deadline and at the stop flag. */
static void request(struct qa_histogram *histogram, uint64_t times)
{
    const uint64_t never = UINT64_MAX;
    atomic_int stop = 0;
    uint64_t state = 1;
    uint64_t begin_ns = qa_clock_now_ns();

    for (uint64_t i = 0; i < times && begin_ns < never && atomic_load(&stop) == 0; i++)
        qa_request_run(histogram, &state, 0, &stop, &begin_ns);
}

/* Median over the rounds, in picoseconds, since a fast operation takes only a few nanoseconds. */
static double cost_ns(operation run, struct qa_histogram *histogram, unsigned rounds,
                      uint64_t times)
{
    uint64_t samples[MAX_ROUNDS];

    for (unsigned i = 0; i < rounds; i++) {
        uint64_t begin_ns = qa_clock_now_ns();

        run(histogram, times);
        samples[i] = (qa_clock_now_ns() - begin_ns) * 1000 / times;
    }
    return (double)qa_median(samples, rounds) / 1000.0;
}

int qa_overhead_measure(unsigned rounds, uint64_t operations, struct qa_overhead *overhead)
{
    struct qa_histogram histogram;

    if (rounds < 1 || rounds > MAX_ROUNDS || operations < 1)
        return -1;
    if (qa_latency_init(&histogram) != 0)
        return -1;
    overhead->clock_read_ns = cost_ns(read_clock, &histogram, rounds, operations);
    overhead->histogram_record_ns = cost_ns(record, &histogram, rounds, operations);
    overhead->request_ns = cost_ns(request, &histogram, rounds, operations);
    qa_histogram_destroy(&histogram);
    return 0;
}
