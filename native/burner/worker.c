#include "worker.h"

#include <string.h>

#include "clock.h"
#include "latency.h"
#include "request.h"
#include "work.h"

static int init_wake(struct qa_worker *worker)
{
    pthread_condattr_t attributes;
    int failed;

    if (pthread_condattr_init(&attributes) != 0)
        return -1;
    failed = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) != 0 ||
             pthread_cond_init(&worker->wake, &attributes) != 0;
    pthread_condattr_destroy(&attributes);
    return failed ? -1 : 0;
}

int qa_worker_init(struct qa_worker *worker, const struct qa_plan *plan, uint32_t number)
{
    worker->plan = plan;
    worker->number = number;
    worker->state = (UINT64_C(0x9E3779B97F4A7C15) * (number + UINT64_C(1))) | 1;
    if (qa_latency_init(&worker->latency) != 0)
        return -1;
    if (pthread_mutex_init(&worker->lock, NULL) != 0)
        goto no_lock;
    if (init_wake(worker) != 0)
        goto no_wake;
    return 0;

no_wake:
    pthread_mutex_destroy(&worker->lock);
no_lock:
    qa_histogram_destroy(&worker->latency);
    return -1;
}

void qa_worker_destroy(struct qa_worker *worker)
{
    pthread_cond_destroy(&worker->wake);
    pthread_mutex_destroy(&worker->lock);
    qa_histogram_destroy(&worker->latency);
}

void qa_worker_wake(struct qa_worker *worker)
{
    pthread_mutex_lock(&worker->lock);
    pthread_cond_signal(&worker->wake);
    pthread_mutex_unlock(&worker->lock);
}

static int stop_of(const struct qa_worker *worker)
{
    return atomic_load_explicit(&worker->plan->stop, memory_order_relaxed);
}

/* Sleeps until a time. Returns false, at once, when the run is stopped. */
static bool sleep_until(struct qa_worker *worker, uint64_t due_ns)
{
    struct timespec due = qa_clock_timespec(due_ns);

    if (qa_clock_now_ns() < due_ns) {
        pthread_mutex_lock(&worker->lock);
        while (stop_of(worker) == QA_RUNNING && qa_clock_now_ns() < due_ns)
            pthread_cond_timedwait(&worker->wake, &worker->lock, &due);
        pthread_mutex_unlock(&worker->lock);
    }
    return stop_of(worker) == QA_RUNNING;
}

/* The measured time begins for all threads at once, even for one that is stalled at that moment: to
 * let its time begin when it wakes would make it look faster than it was. */
static void begin_measuring(struct qa_worker *worker)
{
    worker->first_ns = worker->plan->measure_begin_ns;
    worker->cpu_ns = qa_clock_thread_cpu_ns();
}

static void end_measuring(struct qa_worker *worker, uint64_t now_ns)
{
    if (worker->first_ns == 0)
        return;
    worker->last_ns = now_ns;
    worker->cpu_ns = qa_clock_thread_cpu_ns() - worker->cpu_ns;
}

/* The same requests as the measured ones, not counted. Returns when the last of them ended. */
static uint64_t lead_in(struct qa_worker *worker)
{
    const struct qa_plan *plan = worker->plan;
    uint64_t now_ns = qa_clock_now_ns();

    while (now_ns < plan->measure_begin_ns && stop_of(worker) == QA_RUNNING) {
        qa_work_run_unless(&worker->state, plan->iterations, &plan->stop);
        now_ns = qa_clock_now_ns();
    }
    return now_ns;
}

/* A request that was begun in time is finished and counted even when it ends late: leaving it out
 * would leave out just the slow ones. */
static void closed_loop(struct qa_worker *worker)
{
    const struct qa_plan *plan = worker->plan;
    uint64_t now_ns = lead_in(worker);

    if (stop_of(worker) != QA_RUNNING)
        return;
    begin_measuring(worker);
    while (now_ns < plan->measure_end_ns && stop_of(worker) == QA_RUNNING) {
        if (!qa_request_run(&worker->latency, &worker->state, plan->iterations, &plan->stop,
                            &now_ns)) {
            worker->unfinished++;
            break;
        }
        worker->requests++;
    }
    end_measuring(worker, now_ns);
}

/* A hash of three numbers (the finaliser of splitmix64), so that a start can be computed for any
 * interval without a generator's state. */
static uint64_t mix(uint64_t seed, uint64_t a, uint64_t b)
{
    uint64_t x = seed + UINT64_C(0x9E3779B97F4A7C15) * (a + 1) + UINT64_C(0xD1B54A32D192ED03) * b;

    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return x ^ (x >> 31);
}

uint64_t qa_plan_due_ns(const struct qa_plan *plan, int64_t interval, uint32_t thread)
{
    uint64_t stream = plan->jitter_per_thread ? thread + UINT64_C(1) : 0;
    uint64_t draw = mix(plan->seed, (uint64_t)interval, stream) % (2 * plan->jitter_ns + 1);
    int64_t due_ns = (int64_t)plan->measure_begin_ns +
                     interval * (int64_t)plan->demand->interval_ns + (int64_t)draw -
                     (int64_t)plan->jitter_ns;

    return due_ns > (int64_t)plan->begin_ns ? (uint64_t)due_ns : plan->begin_ns;
}

static uint64_t iterations_of(const struct qa_worker *worker, int64_t interval)
{
    const struct qa_plan *plan = worker->plan;

    return qa_work_iterations(qa_demand_share_ns(plan->demand, interval, worker->number),
                              plan->iterations_per_ms);
}

/* Number of the interval that starts at or after a time. */
static int64_t interval_at(const struct qa_plan *plan, uint64_t when_ns)
{
    uint64_t length_ns = plan->demand->interval_ns;

    if (when_ns < plan->measure_begin_ns)
        return -(int64_t)((plan->measure_begin_ns - when_ns) / length_ns);
    return (int64_t)((when_ns - plan->measure_begin_ns + length_ns - 1) / length_ns);
}

/* Waits for the interval's time and does its work. Returns false when the run is stopped. */
static bool serve(struct qa_worker *worker, int64_t interval, uint64_t iterations)
{
    uint64_t due_ns = qa_plan_due_ns(worker->plan, interval, worker->number);
    uint64_t end_ns;

    if (!sleep_until(worker, due_ns) ||
        !qa_work_run_unless(&worker->state, iterations, &worker->plan->stop))
        return false;
    if (interval < 0)
        return true;
    end_ns = qa_clock_now_ns();
    qa_histogram_record(&worker->latency, end_ns - due_ns);
    worker->requests++;
    return true;
}

/* Counts the requests that were due and not finished. When the run was given time to drain, they
 * are very late: their age enters the histogram, for to leave them out would hide the worst
 * latencies. */
static void count_unfinished(struct qa_worker *worker, int64_t from, int64_t to, uint64_t now_ns)
{
    for (int64_t interval = from > 0 ? from : 0; interval < to; interval++) {
        uint64_t due_ns = qa_plan_due_ns(worker->plan, interval, worker->number);

        if (due_ns >= now_ns)
            return;
        if (iterations_of(worker, interval) == 0)
            continue;
        worker->unfinished++;
        if (stop_of(worker) == QA_STOP_DRAINED)
            qa_histogram_record(&worker->latency, now_ns - due_ns);
    }
}

static void open_loop(struct qa_worker *worker)
{
    const struct qa_plan *plan = worker->plan;
    int64_t interval = interval_at(plan, plan->begin_ns);
    int64_t end = interval_at(plan, plan->measure_end_ns);

    for (; interval < end; interval++) {
        uint64_t iterations = iterations_of(worker, interval);

        if (interval == 0)
            begin_measuring(worker);
        if (iterations > 0 && !serve(worker, interval, iterations))
            break;
    }
    if (interval < end)
        count_unfinished(worker, interval, end, qa_clock_now_ns());
    else
        sleep_until(worker, plan->measure_end_ns);
    end_measuring(worker, qa_clock_now_ns());
}

void qa_worker_run(struct qa_worker *worker)
{
    if (!sleep_until(worker, worker->plan->begin_ns))
        return;
    if (worker->plan->demand == NULL)
        closed_loop(worker);
    else
        open_loop(worker);
}
