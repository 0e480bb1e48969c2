#include "clock.h"
#include "harness.h"

static void never_goes_back(void)
{
    uint64_t last = qa_clock_now_ns();

    for (int i = 0; i < 100000; i++) {
        uint64_t now = qa_clock_now_ns();

        if (now < last)
            CHECK(now >= last);
        last = now;
    }
}

static void sleeping_costs_wall_time_only(void)
{
    struct timespec pause = qa_clock_timespec(30 * QA_NS_PER_MS);
    uint64_t wall = qa_clock_now_ns();
    uint64_t cpu = qa_clock_thread_cpu_ns();

    nanosleep(&pause, NULL);
    CHECK(qa_clock_now_ns() - wall >= 30 * QA_NS_PER_MS);
    CHECK(qa_clock_thread_cpu_ns() - cpu < 20 * QA_NS_PER_MS);
}

static void converts_to_timespec(void)
{
    struct timespec time = qa_clock_timespec(3 * QA_NS_PER_SEC + 7);

    CHECK(time.tv_sec == 3);
    CHECK(time.tv_nsec == 7);
    time = qa_clock_timespec(999999999);
    CHECK(time.tv_sec == 0);
    CHECK(time.tv_nsec == 999999999);
}

int main(void)
{
    RUN(never_goes_back);
    RUN(sleeping_costs_wall_time_only);
    RUN(converts_to_timespec);
    return REPORT();
}
