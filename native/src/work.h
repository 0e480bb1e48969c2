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

/**
 * Measure how much work a millisecond of CPU time is on this machine now. It counts CPU time, not
 * wall time, so throttling and other processes do not falsify it. Takes about 30 ms of CPU time,
 * which also brings the CPU out of its idle frequency.
 *
 * @return iterations per millisecond of CPU time (median over 21 samples), at least 1
 */
uint64_t qa_work_calibrate(void);

/**
 * Convert CPU time into work.
 *
 * @param work_ns            CPU time in nanoseconds
 * @param iterations_per_ms  as qa_work_calibrate returned it
 * @return iterations, rounded to the nearest, at least 1 unless work_ns is 0
 */
uint64_t qa_work_iterations(uint64_t work_ns, uint64_t iterations_per_ms);

#endif
