#include <stdlib.h>
#include <string.h>

#include "bandwidth.h"
#include "histogram.h"
#include "window.h"

enum { DELAY_BITS = 7, NSEC_PER_USEC = 1000, PIECE_USEC = 1000 };

static const int64_t MAX_DELAY_NS = INT64_C(1) << 52; /* 52 days */
static const int64_t MIN_PERIOD_NS = 1 * QS_NSEC_PER_MSEC;
static const int64_t MAX_PERIOD_NS = 1000 * QS_NSEC_PER_MSEC;

/* The work that waits on one CPU, as positions in the trace: a CPU does its own, first come first
 * served, for a task does not leave a CPU on which its group is throttled. */
struct queue {
    uint64_t head;         /* window of the oldest work */
    int64_t head_begin_ns; /* where that window begins */
    int64_t head_left_ns;  /* work of it that waits */
    int64_t due_ns;        /* when what was done last was done in the trace */
    int64_t backlog_ns;
};

struct replay {
    const struct quota_sim_trace *trace;
    const struct quota_sim_setting *setting;
    struct quota_sim_result *result;
    struct qs_bandwidth group;
    struct queue *queues;
    struct qa_histogram delays;
    int64_t now_ns;
    int64_t tick_at_ns;
    int64_t backlog_ns;
    uint64_t at; /* window of now */
    uint64_t in_time_ns;
};

/* How many CPUs share a window's work: as many as it takes at least, and no more pieces than of a
 * millisecond. */
static uint32_t cpus_at(const struct replay *replay, uint64_t window)
{
    uint32_t least = qs_cpus_of(replay->trace, window);
    uint32_t pieces = replay->trace->used_usec[window] / PIECE_USEC;
    uint32_t cpus = pieces > least ? pieces : least;

    return cpus < replay->setting->cpus ? cpus : replay->setting->cpus;
}

/* A CPU's share of a window's work. */
static int64_t share_ns(const struct replay *replay, uint64_t window, uint32_t cpu)
{
    uint32_t used_usec = replay->trace->used_usec[window];
    uint32_t cpus = cpus_at(replay, window);

    if (cpu >= cpus)
        return 0;
    if (cpus == 1)
        return (int64_t)used_usec * NSEC_PER_USEC;
    return (int64_t)(used_usec / cpus + (cpu < used_usec % cpus)) * NSEC_PER_USEC;
}

int quota_sim_version(void)
{
    return QUOTA_SIM_VERSION;
}

uint32_t quota_sim_parallelism(const struct quota_sim_trace *trace)
{
    uint32_t most = 1;

    for (uint64_t i = 0; i < trace->count; i++) {
        uint32_t cpus = qs_cpus_of(trace, i);

        if (cpus > most)
            most = cpus;
    }
    return most;
}

static void take_head(struct queue *queue, uint64_t window, int64_t begin_ns, int64_t work_ns)
{
    queue->head = window;
    queue->head_begin_ns = begin_ns;
    queue->head_left_ns = work_ns;
    if (queue->due_ns < begin_ns)
        queue->due_ns = begin_ns;
}

static void next_head(const struct replay *replay, struct queue *queue)
{
    uint32_t cpu = (uint32_t)(queue - replay->queues);
    uint64_t window = queue->head;
    int64_t begin_ns = queue->head_begin_ns;
    int64_t work_ns;

    do {
        begin_ns += (int64_t)replay->trace->elapsed_usec[window] * NSEC_PER_USEC;
        window++;
        work_ns = replay->trace->used_usec[window] == 0 ? 0 : share_ns(replay, window, cpu);
    } while (work_ns == 0);
    take_head(queue, window, begin_ns, work_ns);
}

static void count_delay(struct replay *replay, int64_t work_ns, int64_t delay_ns)
{
    if (delay_ns <= 0)
        replay->in_time_ns += (uint64_t)work_ns;
    else
        qa_histogram_record_times(&replay->delays, (uint64_t)delay_ns, (uint64_t)work_ns);
}

/* Takes work from a CPU's queue that it does from now on. */
static void serve(struct replay *replay, struct queue *queue, int64_t work_ns)
{
    int64_t done_ns = 0;

    queue->backlog_ns -= work_ns;
    replay->backlog_ns -= work_ns;
    while (done_ns < work_ns) {
        int64_t left_ns = work_ns - done_ns;
        int64_t part_ns = left_ns < queue->head_left_ns ? left_ns : queue->head_left_ns;

        done_ns += part_ns;
        queue->head_left_ns -= part_ns;
        queue->due_ns += part_ns;
        count_delay(replay, part_ns, replay->now_ns + done_ns - queue->due_ns);
        if (queue->head_left_ns == 0 && queue->backlog_ns + work_ns - done_ns > 0)
            next_head(replay, queue);
    }
}

static void pass_ticks(struct replay *replay)
{
    int64_t tick_ns = replay->setting->tick_ns;

    if (replay->tick_at_ns <= replay->now_ns)
        replay->tick_at_ns += ((replay->now_ns - replay->tick_at_ns) / tick_ns + 1) * tick_ns;
}

/* Lets time pass in which nothing runs. */
static void wait_until(struct replay *replay, int64_t when_ns)
{
    if (replay->backlog_ns > 0)
        replay->result->stalled_ns += (uint64_t)(when_ns - replay->now_ns);
    replay->now_ns = when_ns;
    qs_expire(&replay->group, when_ns);
    pass_ticks(replay);
}

static int64_t sooner(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static bool runs(const struct qs_cpu *cpu)
{
    return cpu->has_work && !cpu->throttled;
}

/* The end of the first queue that will be empty, or a moment before it. */
static int64_t first_end(const struct replay *replay, int64_t when_ns)
{
    for (uint32_t i = 0; i < replay->group.used_cpus; i++)
        if (runs(&replay->group.cpus[i]))
            when_ns = sooner(when_ns, replay->now_ns + replay->queues[i].backlog_ns);
    return when_ns;
}

/* Runs up to the next moment at which something changes. */
static void run_until(struct replay *replay, int64_t when_ns)
{
    int64_t until_ns = first_end(replay, sooner(when_ns, replay->tick_at_ns));
    int64_t span_ns = until_ns - replay->now_ns;

    for (uint32_t i = 0; i < replay->group.used_cpus; i++)
        if (runs(&replay->group.cpus[i]))
            serve(replay, &replay->queues[i], span_ns);
    replay->result->used_ns += (uint64_t)span_ns * replay->group.running;
    replay->now_ns = until_ns;
    /* A refill at the moment of a tick comes first: the timer's interrupt does not wait for it. */
    qs_expire(&replay->group, until_ns);
    if (until_ns == replay->tick_at_ns) {
        qs_tick(&replay->group, until_ns);
        replay->tick_at_ns += replay->setting->tick_ns;
    }
}

/* A CPU whose work ends with the window may go on with the next one's. */
static void stop_idle(struct replay *replay)
{
    for (uint32_t i = 0; i < replay->group.used_cpus; i++)
        if (replay->group.cpus[i].has_work && replay->queues[i].backlog_ns == 0)
            qs_stop(&replay->group, i, replay->now_ns);
}

static void play_window(struct replay *replay, int64_t end_ns)
{
    while (replay->now_ns < end_ns) {
        int64_t when_ns;

        stop_idle(replay);
        when_ns = sooner(end_ns, replay->group.next_ns);
        if (replay->group.running == 0)
            wait_until(replay, when_ns);
        else
            run_until(replay, when_ns);
    }
}

/* Plays a window whose work meets no limit, all at once; returns false when it may meet one. */
static bool play_freely(struct replay *replay, int64_t work_ns, int64_t end_ns)
{
    uint32_t cpus = cpus_at(replay, replay->at);
    int64_t each_ns = cpus == 1 ? work_ns : (work_ns + cpus - 1) / cpus;

    if (replay->backlog_ns > 0 || replay->now_ns + each_ns > end_ns)
        return false;
    if (replay->group.running > 0)
        stop_idle(replay);
    if (!qs_run_freely(&replay->group, cpus, each_ns, replay->now_ns))
        return false;
    replay->in_time_ns += (uint64_t)work_ns;
    replay->result->used_ns += (uint64_t)work_ns;
    replay->now_ns = end_ns;
    qs_expire(&replay->group, end_ns);
    pass_ticks(replay);
    return true;
}

static void rest(struct replay *replay, int64_t end_ns)
{
    if (replay->group.running > 0)
        stop_idle(replay);
    replay->now_ns = end_ns;
    qs_expire(&replay->group, end_ns);
    pass_ticks(replay);
}

/* Lays a window's work before its CPUs. */
static void arrive(struct replay *replay, int64_t work_ns)
{
    uint32_t cpus = cpus_at(replay, replay->at);

    replay->backlog_ns += work_ns;
    for (uint32_t i = 0; i < cpus; i++) {
        struct queue *queue = &replay->queues[i];
        int64_t share = share_ns(replay, replay->at, i);

        if (queue->backlog_ns == 0)
            take_head(queue, replay->at, replay->now_ns, share);
        queue->backlog_ns += share;
        if (!replay->group.cpus[i].has_work)
            qs_start(&replay->group, i, replay->now_ns);
    }
}

static void play(struct replay *replay)
{
    const struct quota_sim_trace *trace = replay->trace;

    for (replay->at = 0; replay->at < trace->count; replay->at++) {
        int64_t work_ns = (int64_t)trace->used_usec[replay->at] * NSEC_PER_USEC;
        int64_t end_ns = replay->now_ns + (int64_t)trace->elapsed_usec[replay->at] * NSEC_PER_USEC;

        replay->result->demand_ns += (uint64_t)work_ns;
        if (work_ns == 0 && replay->backlog_ns == 0) {
            rest(replay, end_ns);
        } else if (work_ns == 0 || !play_freely(replay, work_ns, end_ns)) {
            if (work_ns > 0)
                arrive(replay, work_ns);
            play_window(replay, end_ns);
        }
    }
}

/* Work that is left is at least as late as it is old. */
static void count_backlog(struct replay *replay)
{
    for (uint32_t i = 0; i < replay->group.used_cpus; i++) {
        struct queue *queue = &replay->queues[i];
        int64_t left_ns = queue->backlog_ns;

        while (left_ns > 0) {
            int64_t part_ns = queue->head_left_ns;

            queue->due_ns += part_ns;
            count_delay(replay, part_ns, replay->now_ns - queue->due_ns);
            left_ns -= part_ns;
            if (left_ns > 0)
                next_head(replay, queue);
        }
    }
}

static void conclude(struct replay *replay)
{
    struct quota_sim_result *result = replay->result;
    const struct qa_histogram *delays = &replay->delays;

    qs_finish(&replay->group, replay->now_ns);
    count_backlog(replay);
    qa_histogram_record_times(&replay->delays, 0, replay->in_time_ns);
    result->elapsed_ns = (uint64_t)replay->now_ns;
    result->backlog_ns = (uint64_t)replay->backlog_ns;
    result->delay_p50_ns = qa_histogram_quantile(delays, 500000);
    result->delay_p95_ns = qa_histogram_quantile(delays, 950000);
    result->delay_p99_ns = qa_histogram_quantile(delays, 990000);
    result->delay_p999_ns = qa_histogram_quantile(delays, 999000);
    result->delay_max_ns = delays->max;
}

static bool in_range(const struct quota_sim_setting *setting)
{
    bool fits = setting->quota_ns == 0 ||
                (setting->quota_ns >= MIN_PERIOD_NS && setting->quota_ns <= MAX_DELAY_NS &&
                 setting->burst_ns >= 0 && setting->burst_ns <= setting->quota_ns);

    return fits && setting->period_ns >= MIN_PERIOD_NS && setting->period_ns <= MAX_PERIOD_NS &&
           setting->phase_ns >= 0 && setting->phase_ns < setting->period_ns &&
           setting->tick_ns > 0 && setting->tick_ns <= MAX_PERIOD_NS && setting->slice_ns > 0 &&
           setting->slice_ns <= MAX_PERIOD_NS && setting->cpus >= 1 &&
           setting->cpus <= QUOTA_SIM_MAX_CPUS && setting->kernel >= QUOTA_SIM_EXPIRING &&
           setting->kernel <= QUOTA_SIM_PER_TASK;
}

int quota_sim_run(const struct quota_sim_trace *trace, const struct quota_sim_setting *setting,
                  struct quota_sim_result *result)
{
    struct replay replay = {
        .trace = trace, .setting = setting, .result = result, .tick_at_ns = setting->tick_ns};
    struct qs_cpu *cpus = NULL;
    uint32_t *waiting = NULL;
    int failed = -2;

    if (!in_range(setting))
        return -1;
    memset(result, 0, sizeof *result);
    cpus = malloc(setting->cpus * sizeof *cpus);
    waiting = malloc(setting->cpus * sizeof *waiting);
    replay.queues = calloc(setting->cpus, sizeof *replay.queues);
    if (cpus != NULL && waiting != NULL && replay.queues != NULL &&
        qa_histogram_init(&replay.delays, 0, (uint64_t)MAX_DELAY_NS, DELAY_BITS) == 0) {
        qs_init(&replay.group, setting, result, cpus, waiting);
        play(&replay);
        conclude(&replay);
        failed = 0;
    }
    qa_histogram_destroy(&replay.delays);
    free(replay.queues);
    free(waiting);
    free(cpus);
    return failed;
}
