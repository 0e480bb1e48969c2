/* One load thread: its private state and the two loops it can run. */
#ifndef QA_WORKER_H
#define QA_WORKER_H

#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "demand.h"
#include "histogram.h"

/* Two lines of 64 bytes: CPUs fetch them in pairs. */
#define QA_CACHE_SEPARATION 128

/* Values of the stop flag. */
enum { QA_RUNNING = 0, QA_STOP_INTERRUPTED = 1, QA_STOP_DRAINED = 2 };

/* What all workers read and none writes, except for the stop flag. Times are on qa_clock_now_ns. */
struct qa_plan {
    const struct qa_demand *demand; /* NULL: closed loop */
    uint64_t iterations;            /* closed loop: work of one request */
    uint64_t iterations_per_ms;     /* open loop: size of a millisecond of work */
    uint64_t jitter_ns;             /* open loop: a start moves by up to this, either way */
    bool jitter_per_thread;         /* each thread draws its own jitter, else all share one */
    uint64_t seed;
    uint64_t begin_ns;         /* the load starts */
    uint64_t measure_begin_ns; /* counting starts */
    uint64_t measure_end_ns;   /* no counted request starts after this */
    alignas(QA_CACHE_SEPARATION) atomic_int stop;
};

struct qa_worker {
    /* Only this worker's thread touches these while it runs. */
    alignas(QA_CACHE_SEPARATION) uint64_t state;
    uint64_t requests;   /* finished and counted */
    uint64_t unfinished; /* due in the measured time, not finished */
    uint64_t first_ns;   /* measured time begins ... */
    uint64_t last_ns;    /* ... and ends; both 0 when it never began */
    uint64_t cpu_ns;     /* CPU time in between */
    struct qa_histogram latency;
    const struct qa_plan *plan;
    uint32_t number;

    /* For sleeping until a time, or until the run is stopped. One pair a worker: a lock shared by
     * all would be held by threads that are throttled. */
    alignas(QA_CACHE_SEPARATION) pthread_mutex_t lock;
    pthread_cond_t wake;
};

/**
 * Prepare a worker.
 *
 * @param worker  zeroed memory, aligned to QA_CACHE_SEPARATION
 * @param plan    shared by all workers, must outlive this one
 * @param number  of this worker, from 0
 * @return 0, or -1 when there is no memory
 */
int qa_worker_init(struct qa_worker *worker, const struct qa_plan *plan, uint32_t number);

/**
 * Free what qa_worker_init took.
 *
 * @param worker  a prepared worker whose thread does not run
 */
void qa_worker_destroy(struct qa_worker *worker);

/**
 * Carry out the plan, in the calling thread.
 *
 * @param worker  receives the counts
 */
void qa_worker_run(struct qa_worker *worker);

/**
 * Wake a sleeping worker after the plan's stop flag was set.
 *
 * @param worker  any prepared worker
 */
void qa_worker_wake(struct qa_worker *worker);

/**
 * When an interval's work is due. Never before the load starts.
 *
 * @param plan      the plan
 * @param interval  its number; 0 is the first one that counts, those before lead in
 * @param thread    number of the thread
 * @return the time on qa_clock_now_ns
 */
uint64_t qa_plan_due_ns(const struct qa_plan *plan, int64_t interval, uint32_t thread);

#endif
