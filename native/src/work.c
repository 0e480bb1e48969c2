#include "work.h"

#include "clock.h"
#include "median.h"

enum { CALIBRATION_SAMPLES = 21 };

uint64_t qa_work_run(uint64_t state, uint64_t iterations)
{
    for (uint64_t i = 0; i < iterations; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
    }
    return state;
}

bool qa_work_run_unless(uint64_t *state, uint64_t iterations, const atomic_int *stop)
{
    while (iterations > QA_WORK_CHUNK) {
        *state = qa_work_run(*state, QA_WORK_CHUNK);
        iterations -= QA_WORK_CHUNK;
        if (atomic_load_explicit(stop, memory_order_relaxed) != 0)
            return false;
    }
    *state = qa_work_run(*state, iterations);
    return true;
}

/* CPU time of that many steps. The state goes through memory that the compiler must write, else it
 * could drop the work. */
static uint64_t cpu_ns_of(uint64_t iterations)
{
    static _Thread_local volatile uint64_t state = 88172645463325252u;
    uint64_t before = qa_clock_thread_cpu_ns();

    state = qa_work_run(state, iterations);
    return qa_clock_thread_cpu_ns() - before;
}

/* Steps that take at least a millisecond, so that the clock's own cost is well below 0.1 %. */
static uint64_t chunk_of_a_millisecond(void)
{
    uint64_t iterations = 16384;

    while (cpu_ns_of(iterations) < QA_NS_PER_MS)
        iterations *= 2;
    return iterations;
}

uint64_t qa_work_calibrate(void)
{
    uint64_t samples[CALIBRATION_SAMPLES];
    uint64_t iterations = chunk_of_a_millisecond();

    for (int i = 0; i < CALIBRATION_SAMPLES; i++) {
        uint64_t cpu_ns = cpu_ns_of(iterations);

        samples[i] = (uint64_t)((double)iterations * 1e6 / (double)(cpu_ns > 0 ? cpu_ns : 1));
    }
    uint64_t rate = qa_median(samples, CALIBRATION_SAMPLES);
    return rate > 0 ? rate : 1;
}

uint64_t qa_work_iterations(uint64_t work_ns, uint64_t iterations_per_ms)
{
    uint64_t iterations = (uint64_t)((double)work_ns * (double)iterations_per_ms / 1e6 + 0.5);

    return work_ns > 0 && iterations == 0 ? 1 : iterations;
}
