/* What the measurement itself costs. */
#ifndef QA_OVERHEAD_H
#define QA_OVERHEAD_H

#include <stdint.h>

struct qa_overhead {
    double clock_read_ns;       /* one reading of the clock */
    double histogram_record_ns; /* one sample into the histogram */
    double request_ns;          /* everything around the work of one request */
};

/**
 * Measure the cost of timing, as the median over rounds. The cost of a request is measured with the
 * very code of the closed loop and requests without work.
 *
 * @param rounds      1 to 1000
 * @param operations  operations a round, at least 1; a round lasts about 50 ns times this
 * @param overhead    receives the result, nanoseconds of wall time an operation
 * @return 0, or -1 when rounds is out of range or there is no memory
 */
int qa_overhead_measure(unsigned rounds, uint64_t operations, struct qa_overhead *overhead);

#endif
