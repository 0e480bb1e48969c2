#include "worker.h"

#include "clock.h"
#include "harness.h"

static struct qa_demand_interval interval = {1000000, 4};
static const struct qa_demand DEMAND = {100000000, 1, &interval};

static struct qa_plan plan_with(uint64_t jitter_ns, bool per_thread)
{
    return (struct qa_plan){
        .demand = &DEMAND,
        .jitter_ns = jitter_ns,
        .jitter_per_thread = per_thread,
        .seed = 7,
        .begin_ns = UINT64_C(1000000000),
        .measure_begin_ns = UINT64_C(1200000000),
        .measure_end_ns = UINT64_C(2200000000),
    };
}

static void without_jitter_starts_are_regular(void)
{
    struct qa_plan plan = plan_with(0, false);

    CHECK_U64(qa_plan_due_ns(&plan, 0, 0), 1200000000);
    CHECK_U64(qa_plan_due_ns(&plan, 7, 3), 1900000000);
    CHECK_U64(qa_plan_due_ns(&plan, -2, 0), 1000000000);
}

static void nothing_is_due_before_the_beginning(void)
{
    struct qa_plan plan = plan_with(50000000, true);

    for (uint32_t thread = 0; thread < 100; thread++) {
        CHECK(qa_plan_due_ns(&plan, -2, thread) >= plan.begin_ns);
        CHECK_U64(qa_plan_due_ns(&plan, -20, thread), plan.begin_ns);
    }
}

/* Within its bounds, using them up, and centred. */
static void jitter_is_uniform(void)
{
    struct qa_plan plan = plan_with(50000000, false);
    int64_t low = INT64_MAX, high = INT64_MIN, sum = 0;

    for (int64_t i = 0; i < 10000; i++) {
        int64_t moved = (int64_t)qa_plan_due_ns(&plan, i, 0) - (1200000000 + i * 100000000);

        low = moved < low ? moved : low;
        high = moved > high ? moved : high;
        sum += moved;
    }
    CHECK(low >= -50000000 && low < -49000000);
    CHECK(high <= 50000000 && high > 49000000);
    CHECK(sum / 10000 > -1500000 && sum / 10000 < 1500000);
}

static void starts_never_overtake_each_other(void)
{
    struct qa_plan plan = plan_with(50000000, true);

    for (int64_t i = 0; i < 10000; i++)
        CHECK(qa_plan_due_ns(&plan, i, 5) <= qa_plan_due_ns(&plan, i + 1, 5));
}

static void jitter_is_shared_or_not(void)
{
    struct qa_plan shared = plan_with(50000000, false);
    struct qa_plan own = plan_with(50000000, true);
    int differ = 0;

    for (int64_t i = 0; i < 100; i++) {
        CHECK_U64(qa_plan_due_ns(&shared, i, 0), qa_plan_due_ns(&shared, i, 9));
        differ += qa_plan_due_ns(&own, i, 0) != qa_plan_due_ns(&own, i, 9);
    }
    CHECK(differ > 90);
}

static void the_seed_decides(void)
{
    struct qa_plan one = plan_with(50000000, false);
    struct qa_plan two = plan_with(50000000, false);

    CHECK_U64(qa_plan_due_ns(&one, 5, 0), qa_plan_due_ns(&two, 5, 0));
    two.seed = 8;
    CHECK(qa_plan_due_ns(&one, 5, 0) != qa_plan_due_ns(&two, 5, 0));
}

static void workers_share_no_cache_line(void)
{
    CHECK_U64(sizeof(struct qa_worker) % QA_CACHE_SEPARATION, 0);
    CHECK(offsetof(struct qa_worker, lock) - offsetof(struct qa_worker, state) >=
          QA_CACHE_SEPARATION);
}

int main(void)
{
    RUN(without_jitter_starts_are_regular);
    RUN(nothing_is_due_before_the_beginning);
    RUN(jitter_is_uniform);
    RUN(starts_never_overtake_each_other);
    RUN(jitter_is_shared_or_not);
    RUN(the_seed_decides);
    RUN(workers_share_no_cache_line);
    return REPORT();
}
