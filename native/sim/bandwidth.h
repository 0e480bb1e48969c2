/* Bandwidth control of one group, as kernel/sched/fair.c has it: a pool that is refilled each
 * period, and what each CPU took of it. The caller keeps the clock and says which CPUs have work.
 */
#ifndef QS_BANDWIDTH_H
#define QS_BANDWIDTH_H

#include <stdbool.h>
#include <stdint.h>

#include "sim.h"

#define QS_NSEC_PER_MSEC INT64_C(1000000)
#define QS_NEVER INT64_MAX

/* What one CPU holds of the quota. */
struct qs_cpu {
    int64_t remaining_ns;    /* runtime_remaining; below zero it is a debt */
    int64_t accounted_at_ns; /* what ran since then is not charged yet */
    int64_t throttled_at_ns; /* where its throttled time begins, QS_NEVER while no task waits */
    uint32_t round;          /* refill that its runtime comes from */
    bool has_work;
    bool throttled;
};

struct qs_bandwidth {
    const struct quota_sim_setting *setting;
    struct quota_sim_result *result;
    struct qs_cpu *cpus;
    uint32_t *waiting; /* throttled CPUs, first come first served */
    uint32_t waiting_count;
    uint32_t used_cpus; /* no CPU behind the first so many ever had work */
    uint32_t running;   /* CPUs with work that are not throttled */
    uint32_t round;
    int64_t pool_ns;
    int64_t pool_after_refill_ns;
    int64_t refill_at_ns; /* expiry of the period's timer, the last one while it rests */
    int64_t slack_at_ns;  /* of the slack timer, QS_NEVER while it is not set */
    int64_t next_ns;      /* when qs_expire must be called */
    bool active;          /* the period's timer runs */
    bool idle;            /* nothing was taken since the last refill */
};

/** Prepare a group that never ran. The arrays hold an entry for each CPU of the setting. */
void qs_init(struct qs_bandwidth *group, const struct quota_sim_setting *setting,
             struct quota_sim_result *result, struct qs_cpu *cpus, uint32_t *waiting);

/** Say that a CPU has work from now on. */
void qs_start(struct qs_bandwidth *group, uint32_t cpu, int64_t now_ns);

/** Say that a CPU has none any more. */
void qs_stop(struct qs_bandwidth *group, uint32_t cpu, int64_t now_ns);

/** The scheduler's tick: what ran is charged, and who has nothing left is throttled. */
void qs_tick(struct qs_bandwidth *group, int64_t now_ns);

/** Let the timers expire that are due. */
void qs_expire(struct qs_bandwidth *group, int64_t now_ns);

/**
 * Do work at once that no limit can hold back: there is more in the pool than it can take, and it
 * ends before the next refill. No CPU may have work yet.
 *
 * @param count    CPUs that share it
 * @param each_ns  work of each
 * @return false, and nothing is done, when it might be held back after all
 */
bool qs_run_freely(struct qs_bandwidth *group, uint32_t count, int64_t each_ns, int64_t now_ns);

/** End the account: throttled time up to now. */
void qs_finish(struct qs_bandwidth *group, int64_t now_ns);

#endif
