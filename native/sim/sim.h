/* What a CPU quota would do to a demand that was recorded: the bandwidth control of the kernel's
 * fair class (kernel/sched/fair.c), driven by a trace instead of by threads.
 *
 * The trace is what a group used in consecutive windows while nothing held it back. Its work
 * becomes ready where the trace shows it running, as early in its window as the CPUs at work there
 * allow, and is done by those CPUs, on each first come first served. What is kept of the kernel:
 * the pool and its refill with burst, slices handed to CPUs, slack handed back, debt that is found
 * at the next tick only, a timer that rests while the group does, and throttling CPU by CPU.
 *
 * The result is a pure function of its arguments.
 */
#ifndef QUOTA_SIM_H
#define QUOTA_SIM_H

#include <stdint.h>

/* Changes whenever a caller must change with it. */
enum { QUOTA_SIM_VERSION = 1 };

enum { QUOTA_SIM_MAX_CPUS = 4096 };

/* Kernels that differ in what they do to a demand or in what they count. */
enum {
    QUOTA_SIM_EXPIRING = 1, /* 4.18 to 5.3: what a CPU did not use expires with the period */
    QUOTA_SIM_PER_CPU = 2,  /* 5.4 to 6.17: a CPU's throttled time counts without tasks, too */
    QUOTA_SIM_PER_TASK = 3, /* from 6.18 on: it begins when a task has to wait */
};

/* A trace: two arrays of the same length. */
struct quota_sim_trace {
    const uint32_t *elapsed_usec; /* length of each window */
    const uint32_t *used_usec;    /* CPU time used in it, summed over CPUs */
    uint64_t count;
};

/* What to try. Times in nanoseconds. */
struct quota_sim_setting {
    int64_t quota_ns; /* 0: unlimited */
    int64_t period_ns;
    int64_t burst_ns;
    int64_t phase_ns; /* of the period's timer, 0 to period_ns - 1 */
    int64_t tick_ns;  /* how often a running CPU accounts for what it used */
    int64_t slice_ns; /* sched_cfs_bandwidth_slice_us */
    uint32_t cpus;    /* the most CPUs that the group runs on at once */
    uint32_t kernel;
};

/* What would happen. The first five are the kernel's counters as it defines them. */
struct quota_sim_result {
    uint64_t nr_periods;   /* expiries of the period's timer while it was active */
    uint64_t nr_throttled; /* those of them that found a CPU throttled */
    uint64_t throttled_ns; /* summed over CPUs */
    uint64_t nr_bursts;    /* periods that used more than the quota */
    uint64_t burst_ns;     /* what they used beyond it */
    uint64_t elapsed_ns;
    uint64_t demand_ns;  /* work that became ready */
    uint64_t used_ns;    /* work that was done */
    uint64_t backlog_ns; /* work left at the end */
    uint64_t stalled_ns; /* time in which work waited and no CPU was allowed to run any */
    /* How much later than in the trace the work was done: percentiles of the work, not of the
     * time. Work left at the end counts with its age. Precise to 2^-7. */
    uint64_t delay_p50_ns;
    uint64_t delay_p95_ns;
    uint64_t delay_p99_ns;
    uint64_t delay_p999_ns;
    uint64_t delay_max_ns;
};

/* Use of a trace in windows of one length, in millionths of a CPU; percentiles are of the active
 * windows, precise to 2^-7. */
struct quota_sim_use {
    uint64_t windows;
    uint64_t active_windows; /* those with more than 2 % of a CPU */
    uint64_t p50_ucpus;
    uint64_t p95_ucpus;
    uint64_t p99_ucpus;
    uint64_t max_ucpus;
    uint64_t busiest_p95_ucpus; /* the highest p95 of one stretch */
};

#pragma GCC visibility push(default)

/** QUOTA_SIM_VERSION of the library that was loaded. */
int quota_sim_version(void);

/**
 * The most CPUs that a window of the trace shows at work.
 *
 * @param trace  the trace
 * @return a number of CPUs, at least 1
 */
uint32_t quota_sim_parallelism(const struct quota_sim_trace *trace);

/**
 * Run the trace under a limit.
 *
 * @param trace    the trace; not changed
 * @param setting  what to try
 * @param result   set on success
 * @return 0; -1 when the setting is out of range (1 ms <= period <= 1 s, quota 0 or >= 1 ms, burst
 * <= quota, 1 <= cpus <= QUOTA_SIM_MAX_CPUS, positive tick and slice); -2 when memory is short
 */
int quota_sim_run(const struct quota_sim_trace *trace, const struct quota_sim_setting *setting,
                  struct quota_sim_result *result);

/**
 * Say what a trace uses.
 *
 * @param trace         the trace; not changed
 * @param window_usec   length of a window, at least that of the trace's own
 * @param stretch_usec  length of a stretch; one that is shorter at the end counts too
 * @param use           set on success
 * @return 0; -1 when a length is 0; -2 when memory is short
 */
int quota_sim_measure(const struct quota_sim_trace *trace, uint64_t window_usec,
                      uint64_t stretch_usec, struct quota_sim_use *use);

/**
 * Estimate what was wanted where a limit held the group back.
 *
 * Between the moment a group is frozen and the refill that ends it, work waits that was there
 * before. At least that work is put where it would have run: what ran right after the refill is
 * moved into the freeze, as fast as the CPUs at work around it show. At most the group would have
 * gone on through the whole freeze.
 *
 * @param trace    the trace; not changed
 * @param held     of each window, whether a freeze ended in it
 * @param least    receives the use of each window by the lower estimate
 * @param most     receives the use of each window by the upper estimate
 */
void quota_sim_uncensor(const struct quota_sim_trace *trace, const uint8_t *held, uint32_t *least,
                        uint32_t *most);

#pragma GCC visibility pop

#endif
