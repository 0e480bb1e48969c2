/* CPU work that cannot be shortened: a chain of xorshift steps, each of which needs the one before.
 */
#ifndef QA_WORK_H
#define QA_WORK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Iterations between two looks at the stop flag, about half a millisecond. The default request of
 * 200000 iterations is a single chunk, so the look costs it nothing. */
#define QA_WORK_CHUNK UINT64_C(262144)

/**
 * Run xorshift64 steps. Touches no memory and makes no system call.
 *
 * @param state       where the chain stands; must not be 0 (0 never leaves 0)
 * @param iterations  steps to run
 * @return the new state, never 0 for a state that is not 0
 */
uint64_t qa_work_run(uint64_t state, uint64_t iterations);

/**
 * Run xorshift64 steps unless told to stop.
 *
 * @param state       the chain, read and written
 * @param iterations  steps to run
 * @param stop        looked at after every QA_WORK_CHUNK steps; anything but 0 ends the work
 * @return true when all steps were run, false when the work was cut short
 */
bool qa_work_run_unless(uint64_t *state, uint64_t iterations, const atomic_int *stop);

/* Steps in a millisecond that no CPU does: a chain of six operations a step at 600 GHz. */
#define QA_WORK_MAX_PER_MS UINT64_C(100000000)

/* What a calibration measures with. The tests have clocks of their own. */
struct qa_work_meter {
    uint64_t (*cpu_ns)(void *context);
    uint64_t (*wall_ns)(void *context);
    void (*work)(void *context, uint64_t iterations);
    void *context;
};

/**
 * Measure how much work a millisecond of CPU time is on this machine now. It counts CPU time, not
 * wall time, so throttling and other processes do not falsify it. Takes about 25 ms of CPU time,
 * which also brings the CPU out of its idle frequency.
 *
 * Some machines, emulated ones among them, move the clock of CPU time at the scheduler's tick only:
 * every 1 to 10 ms. So a sample goes from one move of the clock to another and lasts many of them;
 * where the tick is 10 ms that takes 420 ms. Where the clock of CPU time does not move at all, wall
 * time takes its place, and the fastest sample counts.
 *
 * @param iterations_per_ms  receives the result, 1 to QA_WORK_MAX_PER_MS
 * @return 0, or -1 when neither clock moves, or both tell what no CPU does
 */
int qa_work_calibrate(uint64_t *iterations_per_ms);

/**
 * The same with other clocks and other work.
 *
 * @param meter              what to measure with
 * @param iterations_per_ms  as in qa_work_calibrate
 * @return as qa_work_calibrate
 */
int qa_work_calibrate_with(const struct qa_work_meter *meter, uint64_t *iterations_per_ms);

/**
 * Convert CPU time into work.
 *
 * @param work_ns            CPU time in nanoseconds
 * @param iterations_per_ms  as qa_work_calibrate returned it
 * @return iterations, rounded to the nearest, at least 1 unless work_ns is 0
 */
uint64_t qa_work_iterations(uint64_t work_ns, uint64_t iterations_per_ms);

#endif
