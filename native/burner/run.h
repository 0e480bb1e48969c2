/* A run: starts the workers, watches for the end, gathers what they measured. */
#ifndef QA_RUN_H
#define QA_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "demand.h"
#include "error.h"
#include "histogram.h"

struct qa_run_config {
    uint32_t threads;               /* at least 1 */
    uint64_t duration_ns;           /* measured time, at least 1 */
    uint64_t lead_ns;               /* load before it that is not counted */
    uint64_t drain_ns;              /* open loop: time after it to finish what is due */
    uint64_t iterations;            /* closed loop: work of one request */
    const struct qa_demand *demand; /* open loop: what arrives when; NULL for the closed loop */
    uint64_t iterations_per_ms;     /* open loop: see qa_work_calibrate */
    uint64_t jitter_ns;             /* open loop: at most half an interval */
    bool jitter_per_thread;
    uint64_t seed;
};

struct qa_run_result {
    struct qa_histogram latency; /* of all threads, nanoseconds */
    uint64_t requests;           /* finished and counted */
    uint64_t unfinished;         /* due in the measured time, not finished */
    double throughput;           /* requests per second: sum of the threads' own rates */
    uint64_t measured_ns;        /* from its begin to the end of the last counted request */
    uint64_t measured_cpu_ns;    /* CPU time of all threads in it */
    uint64_t wall_ns;            /* the whole run, lead-in and drain included */
    uint64_t cpu_user_usec;      /* getrusage of the process over wall_ns ... */
    uint64_t cpu_system_usec;
    uint64_t switches_voluntary;
    uint64_t switches_involuntary; /* ... up to here */
    bool interrupted;              /* SIGTERM or SIGINT ended it early */
};

/**
 * Block SIGTERM and SIGINT in the calling thread. qa_run needs that and picks up what arrived
 * since.
 */
void qa_run_block_signals(void);

/**
 * Run a load to its end, or until SIGTERM or SIGINT.
 *
 * @param config  what to run
 * @param result  set on success; free it with qa_run_result_destroy
 * @param error   receives the reason of a failure
 * @return 0, or -1 when there is no memory or a thread cannot be started; no thread is left behind
 */
int qa_run(const struct qa_run_config *config, struct qa_run_result *result,
           struct qa_error *error);

/**
 * Free the memory. Harmless on a result that is all zero or already destroyed.
 *
 * @param result  what to free
 */
void qa_run_result_destroy(struct qa_run_result *result);

#endif
