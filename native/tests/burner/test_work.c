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
    uint64_t rate = 0;
    uint64_t best_ns = UINT64_MAX;

    CHECK(qa_work_calibrate(&rate) == 0);
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

/* A machine whose work takes an exact time, and whose clocks show a part of it. */
struct machine {
    uint64_t steps_per_ms;
    uint64_t cpu_tick_ns;  /* the clock of CPU time moves by this; 0: never */
    uint64_t wall_tick_ns; /* the same for wall time */
    uint64_t others_ns;    /* every hundredth piece of work waits so long for somebody else */
    uint64_t steps;        /* done so far */
    uint64_t pieces;
};

static uint64_t shown(uint64_t ns, uint64_t tick_ns)
{
    return tick_ns == 0 ? 0 : ns / tick_ns * tick_ns;
}

static uint64_t spent_ns(const struct machine *machine)
{
    return (uint64_t)((double)machine->steps * 1e6 / (double)machine->steps_per_ms);
}

static uint64_t machine_cpu_ns(void *context)
{
    const struct machine *machine = context;

    return shown(spent_ns(machine), machine->cpu_tick_ns);
}

static uint64_t machine_wall_ns(void *context)
{
    const struct machine *machine = context;
    uint64_t waited_ns = machine->pieces / 100 * machine->others_ns;

    return shown(spent_ns(machine) + waited_ns, machine->wall_tick_ns);
}

static void machine_work(void *context, uint64_t iterations)
{
    struct machine *machine = context;

    machine->steps += iterations;
    machine->pieces++;
}

static int calibrate(struct machine machine, uint64_t *rate)
{
    struct qa_work_meter meter = {machine_cpu_ns, machine_wall_ns, machine_work, &machine};

    return qa_work_calibrate_with(&meter, rate);
}

/* Within an eighth: a sample of eight ticks begins and ends within a piece of work of a tick. */
static bool is_about(uint64_t found, uint64_t wanted)
{
    return found >= wanted - wanted / 8 && found <= wanted + wanted / 8;
}

static void a_clock_that_moves_at_ticks_is_no_hindrance(void)
{
    static const uint64_t TICKS_NS[] = {1, 1000, 1000000, 4000000, 10000000};
    static const uint64_t SPEEDS[] = {20000, 400000, 1500000};

    for (size_t t = 0; t < sizeof TICKS_NS / sizeof TICKS_NS[0]; t++) {
        for (size_t s = 0; s < sizeof SPEEDS / sizeof SPEEDS[0]; s++) {
            uint64_t rate = 0;

            CHECK(calibrate((struct machine){SPEEDS[s], TICKS_NS[t], 1, 5000000, 0, 0}, &rate) ==
                  0);
            CHECK(is_about(rate, SPEEDS[s]));
        }
    }
}

static void wall_time_takes_the_place_of_a_clock_that_stands_still(void)
{
    uint64_t rate = 0;

    CHECK(calibrate((struct machine){400000, 0, 1, 5000000, 0, 0}, &rate) == 0);
    CHECK(is_about(rate, 400000));
    CHECK(calibrate((struct machine){400000, 0, 4000000, 0, 0, 0}, &rate) == 0);
    CHECK(is_about(rate, 400000));
}

static void what_no_cpu_does_is_not_believed(void)
{
    uint64_t rate = 7;

    CHECK(calibrate((struct machine){400000, 0, 0, 0, 0, 0}, &rate) == -1);
    CHECK(calibrate((struct machine){UINT64_C(1000000000), 1, 1, 0, 0, 0}, &rate) == -1);
    CHECK_U64(rate, 7);
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
    RUN(a_clock_that_moves_at_ticks_is_no_hindrance);
    RUN(wall_time_takes_the_place_of_a_clock_that_stands_still);
    RUN(what_no_cpu_does_is_not_believed);
    RUN(time_becomes_iterations);
    return REPORT();
}
