/* quota-burner: makes CPU load under a limit and times every request. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "cgroup.h"
#include "demand.h"
#include "overhead.h"
#include "report.h"
#include "run.h"
#include "settings.h"
#include "version.h"
#include "work.h"

enum { STATUS_OK = 0, STATUS_ERROR = 2 };

/* A run measures its overhead briefly, in about a millisecond; mode overhead takes its time. */
enum { BRIEF_ROUNDS = 11, BRIEF_OPERATIONS = 1000, LONG_ROUNDS = 201, LONG_OPERATIONS = 20000 };

static int complain(const struct qa_error *error)
{
    fprintf(stderr, "quota-burner: %s\n", error->text);
    return STATUS_ERROR;
}

/* Output that did not arrive is an error, not a success. */
static int finish_output(struct qa_error *error)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return STATUS_OK;
    qa_error_set(error, "cannot write the report: %s", strerror(errno));
    return complain(error);
}

/* Death of the parent becomes a SIGTERM. If it died before the request, there will be no signal. It
 * may even have died before this program began; only the parent itself can say who it was. */
static int follow_parent(const struct qa_settings *settings, pid_t parent, struct qa_error *error)
{
    if (settings->parent != 0)
        parent = (pid_t)settings->parent;
    if (prctl(PR_SET_PDEATHSIG, SIGTERM) != 0)
        return qa_error_set(error, "cannot follow the parent: %s", strerror(errno));
    if (getppid() != parent)
        return qa_error_set(error, "the parent ended before the run began");
    return 0;
}

static int read_trace(const struct qa_settings *settings, struct qa_demand *demand,
                      struct qa_error *error)
{
    FILE *in = stdin;
    int status;

    if (strcmp(settings->trace, "-") == 0)
        return qa_demand_read(in, "standard input", (uint32_t)settings->threads, demand, error);
    in = fopen(settings->trace, "re");
    if (in == NULL)
        return qa_error_set(error, "cannot read %s: %s", settings->trace, strerror(errno));
    status = qa_demand_read(in, settings->trace, (uint32_t)settings->threads, demand, error);
    fclose(in);
    return status;
}

/* A burst is a demand of one interval that repeats. */
static int make_burst(const struct qa_settings *settings, struct qa_demand *demand,
                      struct qa_error *error)
{
    demand->intervals = calloc(1, sizeof *demand->intervals);
    if (demand->intervals == NULL)
        return qa_error_set(error, "out of memory");
    demand->count = 1;
    demand->interval_ns = settings->interval_ns;
    demand->intervals[0].work_ns = settings->work_ns * settings->threads;
    demand->intervals[0].threads = (uint32_t)settings->threads;
    return 0;
}

static int make_demand(const struct qa_settings *settings, struct qa_demand *demand,
                       struct qa_error *error)
{
    memset(demand, 0, sizeof *demand);
    if (settings->mode == QA_MODE_BURST)
        return make_burst(settings, demand, error);
    if (settings->mode != QA_MODE_TRACE)
        return 0;
    if (read_trace(settings, demand, error) != 0)
        return -1;
    return qa_settings_check_jitter(settings->jitter_ns, demand->interval_ns, error);
}

static struct qa_run_config make_config(const struct qa_settings *settings,
                                        const struct qa_demand *demand)
{
    bool once = settings->mode == QA_MODE_TRACE && !settings->duration_given;

    return (struct qa_run_config){
        .threads = (uint32_t)settings->threads,
        .duration_ns = once ? qa_demand_length_ns(demand) : settings->duration_ns,
        .lead_ns = settings->warmup_ns + settings->discard_ns,
        .drain_ns = settings->drain_ns,
        .iterations = settings->iterations,
        .demand = demand->count > 0 ? demand : NULL,
        .iterations_per_ms = settings->iterations_per_ms,
        .jitter_ns = settings->jitter_ns,
        .jitter_per_thread = settings->jitter_per_thread,
        .seed = settings->seed,
    };
}

static int join_cgroups(const struct qa_text_list *paths, struct qa_error *error)
{
    for (size_t i = 0; i < paths->count; i++)
        if (qa_cgroup_join(paths->items[i], error) != 0)
            return -1;
    return 0;
}

static void print_report(const struct qa_report *report)
{
    if (!report->settings->no_json)
        qa_report_json(stdout, report);
    if (report->settings->key_values)
        qa_report_key_values(stdout, report->result);
}

/* Calibration and overhead are measured outside the limit, so that they neither eat into it nor are
 * distorted by it. Signals are blocked only from here: reading a trace from a pipe can be ended. */
static int run_load(const struct qa_settings *settings, const struct qa_demand *demand,
                    struct qa_error *error)
{
    struct qa_run_config config = make_config(settings, demand);
    struct qa_run_result result;
    struct qa_overhead overhead;

    qa_run_block_signals();
    if (qa_overhead_measure(BRIEF_ROUNDS, BRIEF_OPERATIONS, &overhead) != 0)
        return qa_error_set(error, "out of memory");
    if (config.iterations_per_ms == 0 && qa_work_calibrate(&config.iterations_per_ms) != 0)
        return qa_error_set(error, "cannot tell the speed of this machine: its clocks stand still; "
                                   "give --iterations-per-ms");
    if (join_cgroups(&settings->cgroup_procs, error) != 0)
        return -1;
    if (qa_run(&config, &result, error) != 0)
        return -1;
    print_report(&(struct qa_report){settings, &config, &result, &overhead});
    qa_run_result_destroy(&result);
    return 0;
}

static int load(const struct qa_settings *settings, pid_t parent, struct qa_error *error)
{
    struct qa_demand demand;
    int status;

    if (settings->exit_with_parent && follow_parent(settings, parent, error) != 0)
        return complain(error);
    /* Wake sleepers when they are due, not up to 50 us later. Inherited by threads; a kernel that
     * refuses only makes the latencies that much longer. */
    prctl(PR_SET_TIMERSLACK, 1UL);
    status = make_demand(settings, &demand, error);
    if (status == 0)
        status = run_load(settings, &demand, error);
    qa_demand_destroy(&demand);
    return status == 0 ? finish_output(error) : complain(error);
}

static int measure_overhead(struct qa_error *error)
{
    struct qa_overhead overhead;

    if (qa_overhead_measure(LONG_ROUNDS, LONG_OPERATIONS, &overhead) != 0) {
        qa_error_set(error, "out of memory");
        return complain(error);
    }
    qa_report_overhead(stdout, &overhead);
    return finish_output(error);
}

int main(int argc, char **argv)
{
    pid_t parent = getppid();
    struct qa_settings settings;
    struct qa_error error;

    signal(SIGPIPE, SIG_IGN);
    if (qa_settings_read(argc, argv, &settings, &error) != 0) {
        complain(&error);
        fputs("Try 'quota-burner --help'.\n", stderr);
        return STATUS_ERROR;
    }
    if (settings.help) {
        qa_settings_help(stdout);
        return finish_output(&error);
    }
    if (settings.version) {
        puts("quota-burner " QA_VERSION);
        return finish_output(&error);
    }
    if (settings.mode == QA_MODE_OVERHEAD)
        return measure_overhead(&error);
    return load(&settings, parent, &error);
}
