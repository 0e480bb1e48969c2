/*
 * Demand: how much CPU work arrives in each interval.
 *
 * The text form, one file:
 *
 *     # comments and empty lines are skipped
 *     interval_usec 10000      first: length of an interval in microseconds
 *     20000                    one line an interval: CPU work of all threads together, microseconds
 *     0                        an idle interval
 *     150000 6                 the same, shared by 6 threads instead of all
 */
#ifndef QA_DEMAND_H
#define QA_DEMAND_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "error.h"

enum {
    QA_DEMAND_MAX_INTERVALS = 10000000,
    QA_DEMAND_MIN_INTERVAL_USEC = 100,
    QA_DEMAND_MAX_INTERVAL_USEC = 60000000,
    QA_DEMAND_MAX_WORK_USEC = 1000000000
};

struct qa_demand_interval {
    uint64_t work_ns; /* CPU work of all threads together */
    uint32_t threads; /* how many threads share it, at least 1 */
};

struct qa_demand {
    uint64_t interval_ns;
    size_t count;
    struct qa_demand_interval *intervals;
};

/**
 * Read the text form.
 *
 * @param in       where to read, to its end
 * @param name     what to call it in error texts
 * @param threads  threads of this run: the default, and the most that a line may name
 * @param demand   set on success; free it with qa_demand_destroy
 * @param error    receives "name:line: reason" on failure
 * @return 0, or -1 when the text is malformed, holds no interval, cannot be read, or is too large
 */
int qa_demand_read(FILE *in, const char *name, uint32_t threads, struct qa_demand *demand,
                   struct qa_error *error);

/**
 * Free the memory. Harmless on a demand that is all zero or already destroyed.
 *
 * @param demand  what to free
 */
void qa_demand_destroy(struct qa_demand *demand);

/**
 * CPU work of one thread in one interval. The demand repeats for ever in both directions.
 *
 * @param demand    the demand, at least one interval
 * @param interval  number of the interval; may be negative or beyond the end
 * @param thread    number of the thread, from 0
 * @return nanoseconds of CPU work, 0 when the thread has nothing to do then
 */
uint64_t qa_demand_share_ns(const struct qa_demand *demand, int64_t interval, uint32_t thread);

/**
 * Length of the whole demand, played once.
 *
 * @param demand  the demand
 * @return nanoseconds
 */
uint64_t qa_demand_length_ns(const struct qa_demand *demand);

#endif
