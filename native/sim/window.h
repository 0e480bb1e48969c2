/* What one window of a trace tells by itself. */
#ifndef QS_WINDOW_H
#define QS_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "sim.h"

/* A window's use may exceed what its CPUs can do by what the counters lag behind: a tenth of a CPU
 * is not another one. */
enum { QS_TOLERANCE_DIVISOR = 10, QS_ASLEEP_DIVISOR = 50 };

/** The fewest CPUs that can have done a window's work. */
static inline uint32_t qs_cpus_of(const struct quota_sim_trace *trace, uint64_t window)
{
    uint32_t elapsed = trace->elapsed_usec[window];
    uint64_t used = trace->used_usec[window];
    uint64_t tolerance = elapsed / QS_TOLERANCE_DIVISOR;

    if (used <= elapsed + tolerance || elapsed == 0)
        return 1;
    return (uint32_t)((used - tolerance + elapsed - 1) / elapsed);
}

/** Whether next to nothing ran. */
static inline bool qs_asleep(const struct quota_sim_trace *trace, uint64_t window)
{
    return trace->used_usec[window] < trace->elapsed_usec[window] / QS_ASLEEP_DIVISOR;
}

#endif
