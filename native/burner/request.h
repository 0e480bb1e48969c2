/* One timed request: the inner step of the closed loop, and what the overhead measurement measures.
 */
#ifndef QA_REQUEST_H
#define QA_REQUEST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "clock.h"
#include "histogram.h"
#include "work.h"

/**
 * Do the work of one request and count its latency. The clock is read once: the end of a request is
 * the beginning of the next one, so no stall can hide between two requests.
 *
 * @param latency     receives the latency in nanoseconds
 * @param state       the work's chain
 * @param iterations  the request's work
 * @param stop        anything but 0 cuts the request short
 * @param begin_ns    when the request began; set to its end
 * @return true, or false when it was cut short: then nothing is counted
 */
static inline bool qa_request_run(struct qa_histogram *latency, uint64_t *state,
                                  uint64_t iterations, const atomic_int *stop, uint64_t *begin_ns)
{
    uint64_t end_ns;

    if (!qa_work_run_unless(state, iterations, stop))
        return false;
    end_ns = qa_clock_now_ns();
    qa_histogram_record(latency, end_ns - *begin_ns);
    *begin_ns = end_ns;
    return true;
}

#endif
