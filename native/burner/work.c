#include "work.h"

#include <stddef.h>

#include "clock.h"
#include "median.h"

/* Where the clock is coarse fewer samples have to do; each is that much longer. */
enum { CALIBRATION_SAMPLES = 21, COARSE_SAMPLES = 5, STEPS_A_SAMPLE = 8 };

/* Steps between two looks at the clock. They take 30 to 70 us on a fast CPU, so that reading it
 * costs well below 1 %. */
#define CALIBRATION_CHUNK UINT64_C(32768)

/* A clock that does not move during so much work, 50 ms on a fast CPU and more on a slow one,
 * stands still: no tick is longer than 10 ms. */
#define STANDSTILL (UINT64_C(1024) * CALIBRATION_CHUNK)
#define LONGEST_STEP_NS (10 * QA_NS_PER_MS)

typedef uint64_t (*qa_clock)(void *context);

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

static uint64_t real_cpu_ns(void *context)
{
    (void)context;
    return qa_clock_thread_cpu_ns();
}

static uint64_t real_wall_ns(void *context)
{
    (void)context;
    return qa_clock_now_ns();
}

/* The state goes through memory that the compiler must write, else it could drop the work. */
static void real_work(void *context, uint64_t iterations)
{
    static _Thread_local volatile uint64_t state = 88172645463325252u;

    (void)context;
    state = qa_work_run(state, iterations);
}

/* Works until the clock has moved by at least that much, and at least once. Both the reading from
 * before and the one afterwards follow right upon a move of the clock, so the steps in between are
 * all that it counted. Returns the steps, or 0 when the clock stands still. */
static uint64_t work_until_moved(const struct qa_work_meter *meter, qa_clock clock,
                                 uint64_t least_ns, uint64_t *now_ns)
{
    uint64_t begin_ns = *now_ns;
    uint64_t before_ns = begin_ns;
    uint64_t done = 0;

    for (uint64_t still = 0; still < STANDSTILL;) {
        meter->work(meter->context, CALIBRATION_CHUNK);
        done += CALIBRATION_CHUNK;
        *now_ns = clock(meter->context);
        still = *now_ns > before_ns ? 0 : still + CALIBRATION_CHUNK;
        if (still == 0 && *now_ns - begin_ns >= least_ns)
            return done;
        before_ns = *now_ns;
    }
    return 0;
}

/* One move of the clock: a chunk of work where the clock is fine, a tick where it is not. Returns 0
 * when it stands still. */
static uint64_t step_of(const struct qa_work_meter *meter, qa_clock clock, uint64_t *now_ns)
{
    uint64_t first_ns;

    if (work_until_moved(meter, clock, 1, now_ns) == 0)
        return 0;
    first_ns = *now_ns;
    return work_until_moved(meter, clock, 1, now_ns) > 0 ? *now_ns - first_ns : 0;
}

/* Fills the samples with steps per millisecond, in ascending order, and returns how many there are:
 * 0 when the clock stands still. */
static size_t take_samples(const struct qa_work_meter *meter, qa_clock clock,
                           uint64_t samples[CALIBRATION_SAMPLES])
{
    uint64_t now_ns = clock(meter->context);
    uint64_t step_ns = step_of(meter, clock, &now_ns);
    bool coarse = step_ns > QA_NS_PER_MS / STEPS_A_SAMPLE;
    uint64_t tick_ns = step_ns < LONGEST_STEP_NS ? step_ns : LONGEST_STEP_NS;
    uint64_t least_ns = coarse ? tick_ns * STEPS_A_SAMPLE : QA_NS_PER_MS;
    size_t count = coarse ? COARSE_SAMPLES : CALIBRATION_SAMPLES;

    if (step_ns == 0)
        return 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t begin_ns = now_ns;
        uint64_t done = work_until_moved(meter, clock, least_ns, &now_ns);

        if (done == 0)
            return 0;
        samples[i] = (uint64_t)((double)done * 1e6 / (double)(now_ns - begin_ns) + 0.5);
    }
    qa_median(samples, count);
    return count;
}

static int judge(uint64_t rate, uint64_t *iterations_per_ms)
{
    if (rate < 1 || rate > QA_WORK_MAX_PER_MS)
        return -1;
    *iterations_per_ms = rate;
    return 0;
}

int qa_work_calibrate_with(const struct qa_work_meter *meter, uint64_t *iterations_per_ms)
{
    uint64_t samples[CALIBRATION_SAMPLES];
    size_t count = take_samples(meter, meter->cpu_ns, samples);

    if (count > 0 && judge(samples[(count - 1) / 2], iterations_per_ms) == 0)
        return 0;
    /* Whatever else the CPU did in that time made a sample slower, never faster. */
    count = take_samples(meter, meter->wall_ns, samples);
    return count > 0 ? judge(samples[count - 1], iterations_per_ms) : -1;
}

int qa_work_calibrate(uint64_t *iterations_per_ms)
{
    static const struct qa_work_meter REAL = {real_cpu_ns, real_wall_ns, real_work, NULL};

    return qa_work_calibrate_with(&REAL, iterations_per_ms);
}

uint64_t qa_work_iterations(uint64_t work_ns, uint64_t iterations_per_ms)
{
    uint64_t iterations = (uint64_t)((double)work_ns * (double)iterations_per_ms / 1e6 + 0.5);

    return work_ns > 0 && iterations == 0 ? 1 : iterations;
}
