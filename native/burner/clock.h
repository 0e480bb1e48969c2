/* Monotonic time and CPU time, both in nanoseconds. */
#ifndef QA_CLOCK_H
#define QA_CLOCK_H

#include <stdint.h>
#include <time.h>

#define QA_NS_PER_SEC UINT64_C(1000000000)
#define QA_NS_PER_MS UINT64_C(1000000)
#define QA_NS_PER_USEC UINT64_C(1000)

/**
 * Wall time that never goes back and is not stepped by settimeofday or NTP (CLOCK_MONOTONIC).
 *
 * @return nanoseconds since an arbitrary point; only differences have a meaning
 */
uint64_t qa_clock_now_ns(void);

/**
 * CPU time of the calling thread, user and system. Time in which the thread was throttled,
 * preempted or asleep does not count.
 *
 * @return nanoseconds since the thread started
 */
uint64_t qa_clock_thread_cpu_ns(void);

/**
 * Convert nanoseconds to the form that the POSIX calls take.
 *
 * @param ns  nanoseconds
 * @return the same time as seconds and nanoseconds
 */
struct timespec qa_clock_timespec(uint64_t ns);

#endif
