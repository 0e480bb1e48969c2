#include "run.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "clock.h"
#include "harness.h"
#include "work.h"

static struct qa_run_result result;
static struct qa_error error;

static struct qa_run_config closed(uint32_t threads, uint64_t duration_ms)
{
    return (struct qa_run_config){
        .threads = threads,
        .duration_ns = duration_ms * QA_NS_PER_MS,
        .lead_ns = 20 * QA_NS_PER_MS,
        .iterations = 20000,
        .iterations_per_ms = 400000,
    };
}

static struct qa_run_config open_loop(uint32_t threads, uint64_t duration_ms,
                                      const struct qa_demand *demand)
{
    struct qa_run_config config = closed(threads, duration_ms);

    config.demand = demand;
    config.drain_ns = 5 * QA_NS_PER_SEC;
    config.seed = 1;
    return config;
}

static void a_closed_loop_adds_up(void)
{
    struct qa_run_config config = closed(3, 200);

    CHECK(qa_run(&config, &result, &error) == 0);
    CHECK(result.requests > 0);
    CHECK_U64(result.latency.total, result.requests);
    CHECK_U64(result.unfinished, 0);
    CHECK(!result.interrupted);
    /* Every moment of every thread belongs to exactly one request. */
    CHECK(result.latency.sum <= 3 * result.measured_ns);
    CHECK(result.measured_ns >= 200 * QA_NS_PER_MS);
    CHECK(result.wall_ns >= 220 * QA_NS_PER_MS);
    CHECK(result.measured_ns <= result.wall_ns);
    CHECK(result.measured_cpu_ns > 0);
    CHECK(result.measured_cpu_ns / 1000 <= result.cpu_user_usec + result.cpu_system_usec + 20000);
    CHECK(result.throughput > 0);
    qa_run_result_destroy(&result);
    qa_run_result_destroy(&result);
}

static void an_open_loop_counts_what_was_due(void)
{
    struct qa_demand_interval intervals[] = {{400000, 2}, {0, 2}, {100000, 1}};
    struct qa_demand demand = {10 * QA_NS_PER_MS, 3, intervals};
    struct qa_run_config config = open_loop(2, 300, &demand);

    config.iterations_per_ms = 1000; /* tiny work, so that even a slow build keeps up */
    CHECK(qa_run(&config, &result, &error) == 0);
    /* Ten rounds: two threads in the first interval, none in the second, one in the third. */
    CHECK_U64(result.requests, 30);
    CHECK_U64(result.unfinished, 0);
    CHECK_U64(result.latency.total, 30);
    CHECK(result.measured_ns >= 300 * QA_NS_PER_MS);
    CHECK(result.throughput > 10 && result.throughput <= 100.001);
    qa_run_result_destroy(&result);
}

static void an_interval_that_has_begun_counts(void)
{
    struct qa_demand_interval interval = {1000, 1};
    struct qa_demand demand = {40 * QA_NS_PER_MS, 1, &interval};
    struct qa_run_config config = open_loop(1, 100, &demand);

    config.lead_ns = 0;
    CHECK(qa_run(&config, &result, &error) == 0);
    CHECK_U64(result.requests, 3);
    qa_run_result_destroy(&result);
}

/* More demand than one thread can serve: latency must grow from request to request, since it runs
 * from the intended start. Measured from the actual start it would stay at 40 ms, or at 20 where a
 * busy sibling made the calibration twice too slow. */
static void omission_is_not_coordinated(void)
{
    struct qa_demand_interval interval = {40 * QA_NS_PER_MS, 1};
    struct qa_demand demand = {10 * QA_NS_PER_MS, 1, &interval};
    struct qa_run_config config = open_loop(1, 200, &demand);

    config.lead_ns = 0;
    CHECK(qa_work_calibrate(&config.iterations_per_ms) == 0);
    CHECK(qa_run(&config, &result, &error) == 0);
    CHECK_U64(result.requests, 20);
    CHECK(result.latency.max > 150 * QA_NS_PER_MS);
    CHECK(qa_histogram_quantile(&result.latency, 500000) > 80 * QA_NS_PER_MS);
    qa_run_result_destroy(&result);
}

static void what_is_not_finished_is_counted_with_its_age(void)
{
    struct qa_demand_interval interval = {60 * QA_NS_PER_SEC, 1};
    struct qa_demand demand = {50 * QA_NS_PER_MS, 1, &interval};
    struct qa_run_config config = open_loop(1, 200, &demand);

    config.lead_ns = 0;
    config.drain_ns = 50 * QA_NS_PER_MS;
    CHECK(qa_run(&config, &result, &error) == 0);
    CHECK_U64(result.requests, 0);
    CHECK_U64(result.unfinished, 4);
    CHECK_U64(result.latency.total, 4);
    CHECK(result.latency.min >= 100 * QA_NS_PER_MS);
    CHECK(result.latency.max >= 250 * QA_NS_PER_MS);
    CHECK(!result.interrupted);
    qa_run_result_destroy(&result);
}

/* Sends a signal to the process after a while. */
static void *send_later(void *argument)
{
    struct timespec pause = qa_clock_timespec(300 * QA_NS_PER_MS);

    nanosleep(&pause, NULL);
    kill(getpid(), *(int *)argument);
    return NULL;
}

static void run_and_interrupt(const struct qa_run_config *config, int number)
{
    pthread_t sender;

    if (pthread_create(&sender, NULL, send_later, &number) != 0)
        abort();
    CHECK(qa_run(config, &result, &error) == 0);
    pthread_join(sender, NULL);
    CHECK(result.interrupted);
    CHECK(result.wall_ns < 20 * QA_NS_PER_SEC);
}

static void signals_end_a_closed_loop(void)
{
    struct qa_run_config config = closed(2, 60000);

    run_and_interrupt(&config, SIGTERM);
    CHECK(result.requests > 0);
    CHECK_U64(result.latency.total, result.requests);
    qa_run_result_destroy(&result);
}

static void signals_end_a_request_of_hours(void)
{
    struct qa_run_config config = closed(2, 60000);

    config.lead_ns = 0;
    config.iterations = UINT64_C(1000000000000);
    run_and_interrupt(&config, SIGINT);
    CHECK_U64(result.requests, 0);
    CHECK_U64(result.unfinished, 2);
    qa_run_result_destroy(&result);
}

static void signals_wake_sleepers(void)
{
    struct qa_demand_interval interval = {1000, 2};
    struct qa_demand demand = {60 * QA_NS_PER_SEC, 1, &interval};
    struct qa_run_config config = open_loop(2, 60000, &demand);

    config.lead_ns = 0;
    run_and_interrupt(&config, SIGTERM);
    CHECK(result.requests + result.unfinished == 2);
    qa_run_result_destroy(&result);
}

static void a_signal_during_the_lead_leaves_nothing_measured(void)
{
    struct qa_run_config config = closed(2, 60000);

    config.lead_ns = 60 * QA_NS_PER_SEC;
    run_and_interrupt(&config, SIGTERM);
    CHECK_U64(result.requests, 0);
    CHECK_U64(result.measured_ns, 0);
    qa_run_result_destroy(&result);
}

static void a_stray_wake_up_signal_is_ignored(void)
{
    struct qa_run_config config = closed(1, 600);
    int number = SIGUSR1;
    pthread_t sender;
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    if (pthread_create(&sender, NULL, send_later, &number) != 0)
        abort();
    CHECK(qa_run(&config, &result, &error) == 0);
    pthread_join(sender, NULL);
    CHECK(!result.interrupted);
    CHECK(result.measured_ns >= 600 * QA_NS_PER_MS);
    qa_run_result_destroy(&result);
}

#ifndef QA_SANITIZED /* sanitizers reserve far more address space than the limit */
static void no_memory_is_an_error(void)
{
    struct rlimit old;
    struct qa_run_config config = closed(1024, 20);

    getrlimit(RLIMIT_AS, &old);
    if (setrlimit(RLIMIT_AS, &(struct rlimit){1 << 20, old.rlim_max}) != 0)
        return;
    CHECK(qa_run(&config, &result, &error) == -1);
    setrlimit(RLIMIT_AS, &old);
    CHECK_TEXT(error.text, "out of memory for 1024 threads");
}
#endif

int main(void)
{
    qa_run_block_signals();
    RUN(a_closed_loop_adds_up);
    RUN(an_open_loop_counts_what_was_due);
    RUN(an_interval_that_has_begun_counts);
    RUN(omission_is_not_coordinated);
    RUN(what_is_not_finished_is_counted_with_its_age);
    RUN(signals_end_a_closed_loop);
    RUN(signals_end_a_request_of_hours);
    RUN(signals_wake_sleepers);
    RUN(a_signal_during_the_lead_leaves_nothing_measured);
    RUN(a_stray_wake_up_signal_is_ignored);
#ifndef QA_SANITIZED
    RUN(no_memory_is_an_error);
#endif
    return REPORT();
}
