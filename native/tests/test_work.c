#include "work.h"

#include "clock.h"
#include "harness.h"

static void the_chain_is_xorshift64(void)
{
    uint64_t state = qa_work_run(88172645463325252u, 1);

    CHECK_U64(state, UINT64_C(8748534153485358512)); /* Marsaglia's published first value */
    CHECK_U64(qa_work_run(1, 0), 1);
    CHECK_U64(qa_work_run(qa_work_run(1, 10), 20), qa_work_run(1, 30));
}

static void chunks_change_nothing(void)
{
    static const uint64_t COUNTS[] = {0,
                                      1,
                                      QA_WORK_CHUNK - 1,
                                      QA_WORK_CHUNK,
                                      QA_WORK_CHUNK + 1,
                                      2 * QA_WORK_CHUNK,
                                      3 * QA_WORK_CHUNK + 17};
    atomic_int stop = 0;

    for (size_t i = 0; i < sizeof COUNTS / sizeof COUNTS[0]; i++) {
        uint64_t state = 99;

        CHECK(qa_work_run_unless(&state, COUNTS[i], &stop));
        CHECK_U64(state, qa_work_run(99, COUNTS[i]));
    }
}

static void work_can_be_stopped(void)
{
    atomic_int stop = 1;
    uint64_t state = 99;
    uint64_t begin_ns = qa_clock_now_ns();

    CHECK(!qa_work_run_unless(&state, UINT64_C(1000000000000), &stop));
    CHECK(qa_clock_now_ns() - begin_ns < QA_NS_PER_SEC);
}

static void calibrated_work_takes_its_time(void)
{
    uint64_t rate = qa_work_calibrate();
    uint64_t best_ns = UINT64_MAX;

    CHECK(rate > 1000);
    CHECK(rate < 100000000);
    /* The best of ten, since whatever else the CPU does only makes it slower. */
    for (int i = 0; i < 10; i++) {
        volatile uint64_t state = 99;
        uint64_t cpu_ns = qa_clock_thread_cpu_ns();

        state = qa_work_run(state, qa_work_iterations(20 * QA_NS_PER_MS, rate));
        cpu_ns = qa_clock_thread_cpu_ns() - cpu_ns;
        best_ns = cpu_ns < best_ns ? cpu_ns : best_ns;
    }
    CHECK(best_ns > 12 * QA_NS_PER_MS);
    CHECK(best_ns < 28 * QA_NS_PER_MS);
}

static void time_becomes_iterations(void)
{
    CHECK_U64(qa_work_iterations(0, 400000), 0);
    CHECK_U64(qa_work_iterations(1, 1), 1);
    CHECK_U64(qa_work_iterations(1000000, 400000), 400000);
    CHECK_U64(qa_work_iterations(2500000, 3), 8);
    CHECK_U64(qa_work_iterations(UINT64_C(60000000000), 100000000), UINT64_C(6000000000000));
}

int main(void)
{
    RUN(the_chain_is_xorshift64);
    RUN(chunks_change_nothing);
    RUN(work_can_be_stopped);
    RUN(calibrated_work_takes_its_time);
    RUN(time_becomes_iterations);
    return REPORT();
}
