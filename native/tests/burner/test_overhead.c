#include "overhead.h"

#include "harness.h"

/* The bound for an optimised build is in the README; a build with sanitizers only has to be sane.
 */
static void costs_are_plausible(void)
{
    struct qa_overhead overhead;

    CHECK(qa_overhead_measure(21, 1000, &overhead) == 0);
    CHECK(overhead.clock_read_ns > 0.1 && overhead.clock_read_ns < 20000);
    CHECK(overhead.histogram_record_ns > 0.1 && overhead.histogram_record_ns < 20000);
    CHECK(overhead.request_ns > 0.1 && overhead.request_ns < 20000);
}

static void impossible_rounds_are_refused(void)
{
    struct qa_overhead overhead;

    CHECK(qa_overhead_measure(0, 1000, &overhead) == -1);
    CHECK(qa_overhead_measure(1001, 1000, &overhead) == -1);
    CHECK(qa_overhead_measure(1, 0, &overhead) == -1);
}

int main(void)
{
    RUN(costs_are_plausible);
    RUN(impossible_rounds_are_refused);
    return REPORT();
}
