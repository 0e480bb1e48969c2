#include "bandwidth.h"

/* What a CPU without work keeps (min_cfs_rq_runtime). */
static const int64_t KEPT_NS = 1 * QS_NSEC_PER_MSEC;
/* How long returned runtime waits for its distribution (cfs_bandwidth_slack_period). */
static const int64_t SLACK_DELAY_NS = 5 * QS_NSEC_PER_MSEC;
/* It is not worth it this shortly before a refill (min_bandwidth_expiration). */
static const int64_t TOO_LATE_NS = 2 * QS_NSEC_PER_MSEC;

static bool unlimited(const struct qs_bandwidth *group)
{
    return group->setting->quota_ns == 0;
}

static void set_next(struct qs_bandwidth *group)
{
    int64_t refill_ns = group->active ? group->refill_at_ns : QS_NEVER;

    group->next_ns = refill_ns < group->slack_at_ns ? refill_ns : group->slack_at_ns;
}

void qs_init(struct qs_bandwidth *group, const struct quota_sim_setting *setting,
             struct quota_sim_result *result, struct qs_cpu *cpus, uint32_t *waiting)
{
    *group = (struct qs_bandwidth){.setting = setting,
                                   .result = result,
                                   .cpus = cpus,
                                   .waiting = waiting,
                                   .pool_ns = setting->quota_ns,
                                   .pool_after_refill_ns = setting->quota_ns,
                                   .refill_at_ns = setting->phase_ns,
                                   .slack_at_ns = QS_NEVER,
                                   .next_ns = QS_NEVER};
    for (uint32_t i = 0; i < setting->cpus; i++)
        cpus[i] = (struct qs_cpu){.throttled_at_ns = QS_NEVER};
}

/* The timer keeps its phase while it rests (hrtimer_forward_now). */
static void start_timer(struct qs_bandwidth *group, int64_t now_ns)
{
    int64_t behind_ns = now_ns - group->refill_at_ns;

    if (group->active)
        return;
    group->active = true;
    if (behind_ns >= 0)
        group->refill_at_ns +=
            (behind_ns / group->setting->period_ns + 1) * group->setting->period_ns;
    set_next(group);
}

/* Takes what is missing to a target from the pool; returns whether the CPU may run. */
static bool assign(struct qs_bandwidth *group, struct qs_cpu *cpu, int64_t target_ns,
                   int64_t now_ns)
{
    int64_t wanted_ns = target_ns - cpu->remaining_ns;
    int64_t amount_ns = wanted_ns < group->pool_ns ? wanted_ns : group->pool_ns;

    start_timer(group, now_ns);
    if (amount_ns > 0) {
        group->pool_ns -= amount_ns;
        group->idle = false;
        cpu->remaining_ns += amount_ns;
    }
    cpu->round = group->round;
    return cpu->remaining_ns > 0;
}

static void throttle(struct qs_bandwidth *group, uint32_t number, int64_t now_ns)
{
    struct qs_cpu *cpu = &group->cpus[number];

    /* A refill may have come since the CPU was refused. */
    if (assign(group, cpu, 1, now_ns))
        return;
    cpu->throttled = true;
    group->waiting[group->waiting_count++] = number;
    if (cpu->has_work)
        group->running--;
    if (cpu->has_work || group->setting->kernel < QUOTA_SIM_PER_TASK)
        cpu->throttled_at_ns = now_ns;
}

static void count_throttled(struct qs_bandwidth *group, struct qs_cpu *cpu, int64_t now_ns)
{
    if (cpu->throttled_at_ns != QS_NEVER)
        group->result->throttled_ns += (uint64_t)(now_ns - cpu->throttled_at_ns);
    cpu->throttled_at_ns = QS_NEVER;
}

/* Charges a CPU for what ran on it, and has it throttled when nothing is left anywhere. */
static void account(struct qs_bandwidth *group, uint32_t number, int64_t now_ns)
{
    struct qs_cpu *cpu = &group->cpus[number];
    bool expires = group->setting->kernel == QUOTA_SIM_EXPIRING;

    if (cpu->throttled)
        return;
    if (expires && cpu->remaining_ns > 0 && cpu->round != group->round)
        cpu->remaining_ns = 0;
    cpu->remaining_ns -= now_ns - cpu->accounted_at_ns;
    cpu->accounted_at_ns = now_ns;
    if (cpu->remaining_ns <= 0 && !assign(group, cpu, group->setting->slice_ns, now_ns))
        throttle(group, number, now_ns);
}

static bool refill_within(const struct qs_bandwidth *group, int64_t span_ns, int64_t now_ns)
{
    return group->refill_at_ns - now_ns < span_ns;
}

/* Hands back what a CPU without work does not need (__return_cfs_rq_runtime). */
static void return_slack(struct qs_bandwidth *group, struct qs_cpu *cpu, int64_t now_ns)
{
    int64_t slack_ns = cpu->remaining_ns - KEPT_NS;

    if (slack_ns <= 0 ||
        (group->setting->kernel == QUOTA_SIM_EXPIRING && cpu->round != group->round))
        return;
    cpu->remaining_ns -= slack_ns;
    group->pool_ns += slack_ns;
    if (group->pool_ns > group->setting->slice_ns && group->waiting_count > 0 &&
        group->slack_at_ns == QS_NEVER &&
        !refill_within(group, SLACK_DELAY_NS + TOO_LATE_NS, now_ns)) {
        group->slack_at_ns = now_ns + SLACK_DELAY_NS;
        set_next(group);
    }
}

void qs_start(struct qs_bandwidth *group, uint32_t number, int64_t now_ns)
{
    struct qs_cpu *cpu = &group->cpus[number];

    cpu->has_work = true;
    cpu->accounted_at_ns = now_ns;
    if (number >= group->used_cpus)
        group->used_cpus = number + 1;
    if (!cpu->throttled) {
        group->running++;
        if (!unlimited(group))
            account(group, number, now_ns);
    } else if (cpu->throttled_at_ns == QS_NEVER) {
        cpu->throttled_at_ns = now_ns;
    }
}

void qs_stop(struct qs_bandwidth *group, uint32_t number, int64_t now_ns)
{
    struct qs_cpu *cpu = &group->cpus[number];

    /* Its task is gone before it can be throttled: then nobody waits there. */
    cpu->has_work = false;
    if (!cpu->throttled)
        group->running--;
    if (unlimited(group))
        return;
    account(group, number, now_ns);
    if (!cpu->throttled)
        return_slack(group, cpu, now_ns);
}

void qs_tick(struct qs_bandwidth *group, int64_t now_ns)
{
    if (unlimited(group))
        return;
    for (uint32_t i = 0; i < group->used_cpus; i++)
        if (group->cpus[i].has_work)
            account(group, i, now_ns);
}

static void unthrottle(struct qs_bandwidth *group, struct qs_cpu *cpu, int64_t now_ns)
{
    cpu->throttled = false;
    cpu->accounted_at_ns = now_ns;
    if (cpu->has_work)
        group->running++;
    count_throttled(group, cpu, now_ns);
}

/* Pays the debts of throttled CPUs, first come first served, as far as the pool reaches; each gets
 * one nanosecond more than its debt and asks for a slice when it is accounted for. */
static void distribute(struct qs_bandwidth *group, int64_t now_ns)
{
    uint32_t left = 0;

    for (uint32_t i = 0; i < group->waiting_count; i++) {
        struct qs_cpu *cpu = &group->cpus[group->waiting[i]];
        int64_t debt_ns = 1 - cpu->remaining_ns;
        int64_t paid_ns = debt_ns < group->pool_ns ? debt_ns : group->pool_ns;

        if (paid_ns > 0) {
            group->pool_ns -= paid_ns;
            cpu->remaining_ns += paid_ns;
            cpu->round = group->round;
        }
        if (cpu->remaining_ns > 0)
            unthrottle(group, cpu, now_ns);
        else
            group->waiting[left++] = group->waiting[i];
    }
    group->waiting_count = left;
}

static void refill(struct qs_bandwidth *group)
{
    const struct quota_sim_setting *setting = group->setting;
    int64_t most_ns = setting->quota_ns + setting->burst_ns;
    int64_t excess_ns;

    group->pool_ns += setting->quota_ns;
    excess_ns = group->pool_after_refill_ns - group->pool_ns;
    if (excess_ns > 0) {
        group->result->nr_bursts++;
        group->result->burst_ns += (uint64_t)excess_ns;
    }
    if (group->pool_ns > most_ns)
        group->pool_ns = most_ns;
    group->pool_after_refill_ns = group->pool_ns;
    group->round++;
}

/* The period's timer (do_sched_cfs_period_timer): it rests after one whole idle period. */
static void expire_period(struct qs_bandwidth *group, int64_t now_ns)
{
    group->result->nr_periods++;
    refill(group);
    if (group->waiting_count > 0) {
        group->result->nr_throttled++;
        distribute(group, now_ns);
        group->idle = false;
    } else if (group->idle) {
        group->active = false;
        return;
    } else {
        group->idle = true;
    }
    group->refill_at_ns += group->setting->period_ns;
}

static void expire_slack(struct qs_bandwidth *group, int64_t now_ns)
{
    group->slack_at_ns = QS_NEVER;
    if (!refill_within(group, TOO_LATE_NS, now_ns) && group->pool_ns > group->setting->slice_ns)
        distribute(group, now_ns);
}

void qs_expire(struct qs_bandwidth *group, int64_t now_ns)
{
    while (group->next_ns <= now_ns) {
        int64_t due_ns = group->next_ns;

        if (group->slack_at_ns == due_ns)
            expire_slack(group, due_ns);
        else
            expire_period(group, due_ns);
        set_next(group);
    }
}

/* The same as starting, ticking and stopping one by one, when nothing can run short: of what a CPU
 * took beyond its work it keeps KEPT_NS and hands the rest back. */
static void run_one_freely(struct qs_bandwidth *group, struct qs_cpu *cpu, int64_t work_ns,
                           int64_t now_ns)
{
    int64_t left_ns = cpu->remaining_ns - work_ns;

    if (left_ns <= 0) {
        start_timer(group, now_ns);
        group->idle = false;
        group->pool_ns -= KEPT_NS - left_ns;
        cpu->remaining_ns = KEPT_NS;
        cpu->round = group->round;
    } else if (left_ns > KEPT_NS) {
        group->pool_ns += left_ns - KEPT_NS;
        cpu->remaining_ns = KEPT_NS;
    } else {
        cpu->remaining_ns = left_ns;
    }
}

bool qs_run_freely(struct qs_bandwidth *group, uint32_t count, int64_t each_ns, int64_t now_ns)
{
    int64_t most_ns = each_ns + 2 * group->setting->slice_ns;

    if (unlimited(group))
        return true;
    if (group->waiting_count > 0 || now_ns + each_ns >= group->next_ns ||
        group->pool_ns < most_ns * (int64_t)count || group->setting->kernel == QUOTA_SIM_EXPIRING)
        return false;
    for (uint32_t i = 0; i < count; i++)
        run_one_freely(group, &group->cpus[i], each_ns, now_ns);
    return true;
}

void qs_finish(struct qs_bandwidth *group, int64_t now_ns)
{
    qs_expire(group, now_ns);
    for (uint32_t i = 0; i < group->waiting_count; i++)
        count_throttled(group, &group->cpus[group->waiting[i]], now_ns);
}
