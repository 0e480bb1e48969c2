#include "clock.h"

static uint64_t read_ns(clockid_t id)
{
    struct timespec now;

    /* Cannot fail: the clocks named below exist on every Linux, and the address is valid. */
    clock_gettime(id, &now);
    return (uint64_t)now.tv_sec * QA_NS_PER_SEC + (uint64_t)now.tv_nsec;
}

uint64_t qa_clock_now_ns(void)
{
    return read_ns(CLOCK_MONOTONIC);
}

uint64_t qa_clock_thread_cpu_ns(void)
{
    return read_ns(CLOCK_THREAD_CPUTIME_ID);
}

struct timespec qa_clock_timespec(uint64_t ns)
{
    struct timespec time;

    time.tv_sec = (time_t)(ns / QA_NS_PER_SEC);
    time.tv_nsec = (long)(ns % QA_NS_PER_SEC);
    return time;
}
