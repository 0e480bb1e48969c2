/* The simulator, where Python's tests do not reach: under sanitizers, with odd traces. */
#include "harness.h"
#include "sim.h"

enum { WINDOWS = 400 };

/* Under sanitizers each takes a long time. */
#ifdef QA_SANITIZED
enum { ROUNDS = 200 };
#else
enum { ROUNDS = 2000 };
#endif

static uint32_t elapsed[WINDOWS];
static uint32_t used[WINDOWS];

static struct quota_sim_trace trace_of(uint64_t count)
{
    return (struct quota_sim_trace){elapsed, used, count};
}

static struct quota_sim_setting setting_of(int64_t quota_msec, uint32_t cpus)
{
    return (struct quota_sim_setting){.quota_ns = quota_msec * 1000000,
                                      .period_ns = 100000000,
                                      .tick_ns = 4000000,
                                      .slice_ns = 5000000,
                                      .cpus = cpus,
                                      .kernel = QUOTA_SIM_PER_TASK};
}

static void fill(uint32_t elapsed_usec, uint32_t used_usec)
{
    for (int i = 0; i < WINDOWS; i++) {
        elapsed[i] = elapsed_usec;
        used[i] = used_usec;
    }
}

static struct quota_sim_result run(const struct quota_sim_setting *setting, uint64_t count)
{
    struct quota_sim_trace trace = trace_of(count);
    struct quota_sim_result result;

    CHECK(quota_sim_run(&trace, setting, &result) == 0);
    return result;
}

static void test_a_busy_thread_uses_its_quota(void)
{
    struct quota_sim_setting setting = setting_of(50, 1);
    struct quota_sim_result result;

    fill(10000, 10000);
    result = run(&setting, WINDOWS);
    CHECK_U64(result.elapsed_ns, UINT64_C(4000000000));
    CHECK_U64(result.nr_periods, 40);
    CHECK_U64(result.nr_throttled, 40);
    CHECK_U64(result.used_ns + result.backlog_ns, result.demand_ns);
    CHECK(result.used_ns > 1990000000 && result.used_ns < 2010000000);
    CHECK(result.stalled_ns == result.throttled_ns);
}

static void test_settings_out_of_range_are_refused(void)
{
    struct quota_sim_setting good = setting_of(50, 1), bad;
    struct quota_sim_trace trace = trace_of(1);
    struct quota_sim_result result;

    fill(10000, 10000);
    bad = good, bad.quota_ns = 999999;
    CHECK(quota_sim_run(&trace, &bad, &result) == -1);
    bad = good, bad.period_ns = 999999;
    CHECK(quota_sim_run(&trace, &bad, &result) == -1);
    bad = good, bad.period_ns = 1000000001;
    CHECK(quota_sim_run(&trace, &bad, &result) == -1);
    bad = good, bad.burst_ns = good.quota_ns + 1;
    CHECK(quota_sim_run(&trace, &bad, &result) == -1);
    bad = good, bad.phase_ns = good.period_ns;
    CHECK(quota_sim_run(&trace, &bad, &result) == -1);
    bad = good, bad.cpus = QUOTA_SIM_MAX_CPUS + 1;
    CHECK(quota_sim_run(&trace, &bad, &result) == -1);
    bad = good, bad.kernel = 4;
    CHECK(quota_sim_run(&trace, &bad, &result) == -1);
    CHECK(quota_sim_run(&trace, &good, &result) == 0);
}

static void test_windows_without_length_do_no_harm(void)
{
    struct quota_sim_setting setting = setting_of(50, 2);
    struct quota_sim_result result;

    fill(0, 5000);
    result = run(&setting, 100);
    CHECK_U64(result.elapsed_ns, 0);
    CHECK_U64(result.used_ns + result.backlog_ns, result.demand_ns);
}

static void test_the_largest_numbers_fit(void)
{
    struct quota_sim_setting setting = setting_of(100, QUOTA_SIM_MAX_CPUS);
    struct quota_sim_result result;

    fill(UINT32_MAX, UINT32_MAX);
    result = run(&setting, 3);
    CHECK_U64(result.used_ns + result.backlog_ns, result.demand_ns);
}

static struct quota_sim_setting random_setting(void)
{
    struct quota_sim_setting setting = setting_of(0, (uint32_t)(harness_random() % 6 + 1));

    setting.period_ns = (int64_t)(harness_random() % 1000 + 1) * 1000000;
    setting.quota_ns = (int64_t)(harness_random() % 300 + 1) * 1000000;
    setting.burst_ns = (int64_t)(harness_random() % ((uint64_t)setting.quota_ns + 1));
    setting.phase_ns = (int64_t)(harness_random() % (uint64_t)setting.period_ns);
    setting.tick_ns = (int64_t)(harness_random() % 10000000 + 10000);
    setting.slice_ns = (int64_t)(harness_random() % 10000000 + 1);
    setting.kernel = (uint32_t)(harness_random() % 3 + 1);
    return setting;
}

static void test_no_work_is_lost_whatever_comes(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        struct quota_sim_setting setting = random_setting();
        struct quota_sim_result result;

        for (int i = 0; i < WINDOWS; i++) {
            elapsed[i] = (uint32_t)(harness_random() % 20000);
            used[i] = harness_random() % 3 == 0 ? (uint32_t)(harness_random() % 60000) : 0;
        }
        result = run(&setting, WINDOWS);
        CHECK_U64(result.used_ns + result.backlog_ns, result.demand_ns);
        CHECK(result.nr_throttled <= result.nr_periods);
        CHECK(result.delay_p50_ns <= result.delay_p99_ns);
        CHECK(result.delay_p99_ns <= result.delay_max_ns);
    }
}

static void test_estimates_stay_around_what_was_used(void)
{
    static uint8_t held[WINDOWS];
    static uint32_t least[WINDOWS], most[WINDOWS];
    struct quota_sim_trace trace = trace_of(WINDOWS);

    for (int round = 0; round < ROUNDS / 4; round++) {
        uint64_t sum = 0, least_sum = 0;

        for (int i = 0; i < WINDOWS; i++) {
            elapsed[i] = (uint32_t)(harness_random() % 20000);
            used[i] = harness_random() % 2 == 0 ? (uint32_t)(harness_random() % 40000) : 0;
            held[i] = harness_random() % 5 == 0;
        }
        quota_sim_uncensor(&trace, held, least, most);
        for (int i = 0; i < WINDOWS; i++) {
            sum += used[i];
            least_sum += least[i];
            CHECK(most[i] >= used[i]);
        }
        CHECK_U64(least_sum, sum);
    }
}

static void test_use_of_odd_windows(void)
{
    struct quota_sim_trace trace = trace_of(WINDOWS);
    struct quota_sim_use use;

    fill(0, UINT32_MAX);
    CHECK(quota_sim_measure(&trace, 100000, 300000000, &use) == 0);
    CHECK_U64(use.windows, 0);
    fill(1, UINT32_MAX);
    CHECK(quota_sim_measure(&trace, 1, 1, &use) == 0);
    CHECK_U64(use.windows, WINDOWS);
    CHECK(quota_sim_measure(&trace, 0, 1, &use) == -1);
    CHECK(quota_sim_measure(&trace, 1, 0, &use) == -1);
}

int main(void)
{
    RUN(test_a_busy_thread_uses_its_quota);
    RUN(test_settings_out_of_range_are_refused);
    RUN(test_windows_without_length_do_no_harm);
    RUN(test_the_largest_numbers_fit);
    RUN(test_no_work_is_lost_whatever_comes);
    RUN(test_estimates_stay_around_what_was_used);
    RUN(test_use_of_odd_windows);
    return REPORT();
}
