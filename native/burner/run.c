#include "run.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "clock.h"
#include "latency.h"
#include "worker.h"

/* Time for all threads to reach their start before the load begins. */
#define START_DELAY_NS (2 * QA_NS_PER_MS)

/* Workers keep a few hundred bytes on their stacks. */
#define WORKER_STACK_BYTES (256 * 1024)

/* Wakes the watcher when the workers are done. From anyone else it means nothing. */
#define END_WATCHING SIGUSR1

enum gate { GATE_CLOSED, GATE_OPEN, GATE_ABANDONED };

struct run {
    struct qa_plan plan;
    struct qa_worker *workers;
    pthread_t *threads;
    uint32_t prepared; /* workers initialised */
    uint32_t started;  /* threads started */
    pthread_t watcher;
    uint64_t give_up_ns;  /* when to stop draining */
    atomic_bool finished; /* the workers are done */
    pthread_mutex_t lock;
    pthread_cond_t gate_moved;
    enum gate gate;
};

/* One worker's thread needs both. */
struct seat {
    struct run *run;
    struct qa_worker *worker;
};

static sigset_t ending_signals(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    return set;
}

void qa_run_block_signals(void)
{
    sigset_t set = ending_signals();

    pthread_sigmask(SIG_BLOCK, &set, NULL);
}

static enum gate wait_for_gate(struct run *run)
{
    enum gate gate;

    pthread_mutex_lock(&run->lock);
    while (run->gate == GATE_CLOSED)
        pthread_cond_wait(&run->gate_moved, &run->lock);
    gate = run->gate;
    pthread_mutex_unlock(&run->lock);
    return gate;
}

static void move_gate(struct run *run, enum gate gate)
{
    pthread_mutex_lock(&run->lock);
    run->gate = gate;
    pthread_cond_broadcast(&run->gate_moved);
    pthread_mutex_unlock(&run->lock);
}

static void *worker_main(void *argument)
{
    struct seat seat = *(struct seat *)argument;

    free(argument);
    if (wait_for_gate(seat.run) == GATE_OPEN)
        qa_worker_run(seat.worker);
    return NULL;
}

static void stop_workers(struct run *run, int reason)
{
    int running = QA_RUNNING;

    atomic_compare_exchange_strong(&run->plan.stop, &running, reason);
    for (uint32_t i = 0; i < run->started; i++)
        qa_worker_wake(&run->workers[i]);
}

/* Waits until the workers are done or a signal asks for the end, at most until a time. Returns the
 * signal, or 0 when it was something else. */
static int wait_for_signal(struct run *run, uint64_t until_ns)
{
    sigset_t set = ending_signals();

    sigaddset(&set, END_WATCHING);
    while (!atomic_load(&run->finished)) {
        uint64_t now_ns = qa_clock_now_ns();
        struct timespec left = qa_clock_timespec(until_ns > now_ns ? until_ns - now_ns : 0);
        int number = sigtimedwait(&set, NULL, &left);

        if (number > 0 && number != END_WATCHING)
            return number;
        if (number < 0 && errno == EAGAIN && qa_clock_now_ns() >= until_ns)
            return 0;
    }
    return 0;
}

/* Stops the workers when a signal asks for it or the time to drain is over. A thread of its own,
 * because the main thread is busy waiting for the workers. */
static void *watcher_main(void *argument)
{
    struct run *run = argument;
    int number;

    if (wait_for_gate(run) != GATE_OPEN)
        return NULL;
    number = wait_for_signal(run, run->give_up_ns);
    stop_workers(run, number == 0 ? QA_STOP_DRAINED : QA_STOP_INTERRUPTED);
    /* Swallow further signals: the report is still to come. */
    while (!atomic_load(&run->finished))
        wait_for_signal(run, UINT64_MAX);
    return NULL;
}

static int start_thread(pthread_t *thread, void *(*entry)(void *), void *argument)
{
    pthread_attr_t attributes;
    int code = pthread_attr_init(&attributes);

    if (code != 0)
        return code;
    pthread_attr_setstacksize(&attributes, WORKER_STACK_BYTES);
    code = pthread_create(thread, &attributes, entry, argument);
    pthread_attr_destroy(&attributes);
    return code;
}

static int start_worker(struct run *run, uint32_t number)
{
    struct seat *seat = malloc(sizeof *seat);
    int code;

    if (seat == NULL)
        return ENOMEM;
    *seat = (struct seat){run, &run->workers[number]};
    code = start_thread(&run->threads[number], worker_main, seat);
    if (code != 0)
        free(seat);
    return code;
}

/* Ends and joins whatever was started so far. */
static void abandon(struct run *run)
{
    move_gate(run, GATE_ABANDONED);
    for (uint32_t i = 0; i < run->started; i++)
        pthread_join(run->threads[i], NULL);
    run->started = 0;
}

static int start_all(struct run *run, uint32_t threads, struct qa_error *error)
{
    int code = 0;

    while (run->started < threads && code == 0) {
        code = start_worker(run, run->started);
        run->started += code == 0;
    }
    if (code != 0) {
        qa_error_set(error, "cannot start thread %lu of %lu: %s", (unsigned long)run->started + 1,
                     (unsigned long)threads, strerror(code));
        abandon(run);
        return -1;
    }
    code = start_thread(&run->watcher, watcher_main, run);
    if (code != 0) {
        abandon(run);
        return qa_error_set(error, "cannot start the watching thread: %s", strerror(code));
    }
    return 0;
}

static void finish_all(struct run *run)
{
    for (uint32_t i = 0; i < run->started; i++)
        pthread_join(run->threads[i], NULL);
    atomic_store(&run->finished, true);
    pthread_kill(run->watcher, END_WATCHING);
    pthread_join(run->watcher, NULL);
}

static void set_times(struct run *run, const struct qa_run_config *config)
{
    struct qa_plan *plan = &run->plan;

    plan->begin_ns = qa_clock_now_ns() + START_DELAY_NS;
    plan->measure_begin_ns = plan->begin_ns + config->lead_ns;
    plan->measure_end_ns = plan->measure_begin_ns + config->duration_ns;
    run->give_up_ns = config->demand != NULL ? plan->measure_end_ns + config->drain_ns : UINT64_MAX;
}

static void fill_plan(struct qa_plan *plan, const struct qa_run_config *config)
{
    plan->demand = config->demand;
    plan->iterations = config->iterations;
    plan->iterations_per_ms = config->iterations_per_ms;
    plan->jitter_ns = config->jitter_ns;
    plan->jitter_per_thread = config->jitter_per_thread;
    plan->seed = config->seed;
}

static void free_run(struct run *run)
{
    for (uint32_t i = 0; i < run->prepared; i++)
        qa_worker_destroy(&run->workers[i]);
    free(run->workers);
    free(run->threads);
    pthread_cond_destroy(&run->gate_moved);
    pthread_mutex_destroy(&run->lock);
}

static int prepare_run(struct run *run, const struct qa_run_config *config)
{
    size_t bytes = config->threads * sizeof *run->workers;

    memset(run, 0, sizeof *run);
    pthread_mutex_init(&run->lock, NULL);
    pthread_cond_init(&run->gate_moved, NULL);
    fill_plan(&run->plan, config);
    run->threads = calloc(config->threads, sizeof *run->threads);
    run->workers = aligned_alloc(QA_CACHE_SEPARATION, bytes);
    if (run->threads == NULL || run->workers == NULL)
        return -1;
    memset(run->workers, 0, bytes);
    for (; run->prepared < config->threads; run->prepared++)
        if (qa_worker_init(&run->workers[run->prepared], &run->plan, run->prepared) != 0)
            return -1;
    return 0;
}

static uint64_t usec_of(struct timeval time)
{
    return (uint64_t)time.tv_sec * 1000000 + (uint64_t)time.tv_usec;
}

static void add_usage(struct qa_run_result *result, const struct rusage *before,
                      const struct rusage *after)
{
    result->cpu_user_usec = usec_of(after->ru_utime) - usec_of(before->ru_utime);
    result->cpu_system_usec = usec_of(after->ru_stime) - usec_of(before->ru_stime);
    result->switches_voluntary = (uint64_t)(after->ru_nvcsw - before->ru_nvcsw);
    result->switches_involuntary = (uint64_t)(after->ru_nivcsw - before->ru_nivcsw);
}

static void gather(struct qa_run_result *result, const struct run *run)
{
    uint64_t first_ns = UINT64_MAX;
    uint64_t last_ns = 0;

    for (uint32_t i = 0; i < run->started; i++) {
        const struct qa_worker *worker = &run->workers[i];

        qa_histogram_merge(&result->latency, &worker->latency); /* same shape: cannot fail */
        result->requests += worker->requests;
        result->unfinished += worker->unfinished;
        if (worker->last_ns <= worker->first_ns)
            continue;
        result->measured_cpu_ns += worker->cpu_ns;
        result->throughput += (double)worker->requests * (double)QA_NS_PER_SEC /
                              (double)(worker->last_ns - worker->first_ns);
        first_ns = worker->first_ns < first_ns ? worker->first_ns : first_ns;
        last_ns = worker->last_ns > last_ns ? worker->last_ns : last_ns;
    }
    result->measured_ns = last_ns > first_ns ? last_ns - first_ns : 0;
    result->interrupted = atomic_load(&run->plan.stop) == QA_STOP_INTERRUPTED;
}

/* The run proper, between two readings of the process's own account. */
static int execute(struct run *run, const struct qa_run_config *config,
                   struct qa_run_result *result, struct qa_error *error)
{
    struct rusage before, after;
    uint64_t begin_ns = qa_clock_now_ns();

    getrusage(RUSAGE_SELF, &before);
    if (start_all(run, config->threads, error) != 0)
        return -1;
    set_times(run, config);
    move_gate(run, GATE_OPEN);
    finish_all(run);
    getrusage(RUSAGE_SELF, &after);
    result->wall_ns = qa_clock_now_ns() - begin_ns;
    add_usage(result, &before, &after);
    gather(result, run);
    return 0;
}

int qa_run(const struct qa_run_config *config, struct qa_run_result *result, struct qa_error *error)
{
    struct run run;
    int status = -1;
    /* Blocked before any thread exists: all of them inherit it, and the watcher waits for it. */
    sigset_t end_watching, previous;

    sigemptyset(&end_watching);
    sigaddset(&end_watching, END_WATCHING);
    pthread_sigmask(SIG_BLOCK, &end_watching, &previous);
    memset(result, 0, sizeof *result);
    if (prepare_run(&run, config) != 0 || qa_latency_init(&result->latency) != 0)
        qa_error_set(error, "out of memory for %lu threads", (unsigned long)config->threads);
    else
        status = execute(&run, config, result, error);
    free_run(&run);
    if (status != 0)
        qa_run_result_destroy(result);
    pthread_sigmask(SIG_SETMASK, &previous, NULL);
    return status;
}

void qa_run_result_destroy(struct qa_run_result *result)
{
    qa_histogram_destroy(&result->latency);
}
