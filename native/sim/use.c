#include <string.h>

#include "histogram.h"
#include "sim.h"

enum { USE_BITS = 7, UCPUS = 1000000, ASLEEP_UCPUS = 20000 };

static const uint64_t MOST_UCPUS = (uint64_t)UCPUS * QUOTA_SIM_MAX_CPUS;

/* Windows of one length, gathered from those of the trace. */
struct gathering {
    struct qa_histogram all;
    struct qa_histogram stretch;
    struct quota_sim_use *use;
    uint64_t window_elapsed_usec;
    uint64_t window_used_usec;
    uint64_t stretch_elapsed_usec;
};

static void end_stretch(struct gathering *gathering)
{
    struct qa_histogram *stretch = &gathering->stretch;
    uint64_t p95 = qa_histogram_quantile(stretch, 950000);

    if (p95 > gathering->use->busiest_p95_ucpus)
        gathering->use->busiest_p95_ucpus = p95;
    memset(stretch->counts, 0, stretch->slots * sizeof *stretch->counts);
    stretch->total = stretch->sum = stretch->max = stretch->underflow = stretch->overflow = 0;
    stretch->min = UINT64_MAX;
    gathering->stretch_elapsed_usec = 0;
}

static void end_window(struct gathering *gathering)
{
    uint64_t ucpus = gathering->window_used_usec * UCPUS / gathering->window_elapsed_usec;

    gathering->use->windows++;
    if (ucpus > gathering->use->max_ucpus)
        gathering->use->max_ucpus = ucpus;
    if (ucpus >= ASLEEP_UCPUS) {
        gathering->use->active_windows++;
        qa_histogram_record(&gathering->all, ucpus);
        qa_histogram_record(&gathering->stretch, ucpus);
    }
    gathering->window_elapsed_usec = gathering->window_used_usec = 0;
}

static void gather(struct gathering *gathering, const struct quota_sim_trace *trace,
                   uint64_t window_usec, uint64_t stretch_usec)
{
    for (uint64_t i = 0; i < trace->count; i++) {
        uint64_t elapsed = trace->elapsed_usec[i];

        gathering->window_elapsed_usec += elapsed;
        gathering->window_used_usec += trace->used_usec[i];
        gathering->stretch_elapsed_usec += elapsed;
        /* Windows of a trace are never quite even: half of one more or less is as good. */
        if (gathering->window_elapsed_usec + elapsed / 2 >= window_usec &&
            gathering->window_elapsed_usec > 0)
            end_window(gathering);
        if (gathering->stretch_elapsed_usec >= stretch_usec)
            end_stretch(gathering);
    }
    end_stretch(gathering);
}

int quota_sim_measure(const struct quota_sim_trace *trace, uint64_t window_usec,
                      uint64_t stretch_usec, struct quota_sim_use *use)
{
    struct gathering gathering = {.use = use};
    int failed = -2;

    if (window_usec == 0 || stretch_usec == 0)
        return -1;
    memset(use, 0, sizeof *use);
    if (qa_histogram_init(&gathering.all, 0, MOST_UCPUS, USE_BITS) == 0 &&
        qa_histogram_init(&gathering.stretch, 0, MOST_UCPUS, USE_BITS) == 0) {
        gather(&gathering, trace, window_usec, stretch_usec);
        use->p50_ucpus = qa_histogram_quantile(&gathering.all, 500000);
        use->p95_ucpus = qa_histogram_quantile(&gathering.all, 950000);
        use->p99_ucpus = qa_histogram_quantile(&gathering.all, 990000);
        failed = 0;
    }
    qa_histogram_destroy(&gathering.all);
    qa_histogram_destroy(&gathering.stretch);
    return failed;
}
