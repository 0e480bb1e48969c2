#include "report.h"

#include <inttypes.h>

#include "json.h"
#include "version.h"

#define SCHEMA "quota-burner/1"

/* The quantiles that are reported, in both forms. */
static const struct {
    uint32_t ppm;
    const char *field;
    const char *key;
} QUANTILES[] = {
    {500000, "lat_p50_ns", "LAT_P50_NS"},   {900000, "lat_p90_ns", NULL},
    {950000, "lat_p95_ns", "LAT_P95_NS"},   {990000, "lat_p99_ns", "LAT_P99_NS"},
    {999000, "lat_p999_ns", "LAT_P999_NS"}, {1000000, "lat_max_ns", "LAT_MAX_NS"},
};

enum { QUANTILE_COUNT = sizeof QUANTILES / sizeof QUANTILES[0] };

static void write_head(struct qa_json *json, const char *mode)
{
    qa_json_string(json, "schema", SCHEMA);
    qa_json_string(json, "version", QA_VERSION);
    qa_json_string(json, "mode", mode);
}

/* The part of the load that depends on the mode. */
static void write_load(struct qa_json *json, const struct qa_report *report)
{
    const struct qa_settings *settings = report->settings;
    const struct qa_demand *demand = report->config->demand;

    qa_json_begin_object(json, "load");
    if (demand == NULL) {
        qa_json_u64(json, "iterations", settings->iterations);
    } else {
        qa_json_u64(json, "interval_ns", demand->interval_ns);
        if (settings->mode == QA_MODE_BURST)
            qa_json_u64(json, "work_ns", settings->work_ns);
        else
            qa_json_u64(json, "trace_intervals", demand->count);
        qa_json_u64(json, "jitter_ns", settings->jitter_ns);
        qa_json_bool(json, "jitter_per_thread", settings->jitter_per_thread);
        qa_json_u64(json, "seed", settings->seed);
        qa_json_u64(json, "drain_ns", settings->drain_ns);
    }
    qa_json_end_object(json);
}

static void write_request(struct qa_json *json, const struct qa_report *report)
{
    const struct qa_settings *settings = report->settings;

    qa_json_u64(json, "threads", settings->threads);
    qa_json_u64(json, "duration_ns", report->config->duration_ns);
    qa_json_u64(json, "warmup_ns", settings->warmup_ns);
    qa_json_u64(json, "discard_ns", settings->discard_ns);
    write_load(json, report);
    qa_json_begin_array(json, "cgroup_procs");
    for (size_t i = 0; i < settings->cgroup_procs.count; i++)
        qa_json_string(json, NULL, settings->cgroup_procs.items[i]);
    qa_json_end_array(json);
}

static void write_latency(struct qa_json *json, const struct qa_histogram *latency)
{
    qa_json_u64(json, "lat_samples", latency->total);
    if (latency->total > 0) {
        qa_json_u64(json, "lat_min_ns", latency->min);
        qa_json_real(json, "lat_mean_ns", qa_histogram_mean(latency), 1);
        for (int i = 0; i < QUANTILE_COUNT; i++)
            qa_json_u64(json, QUANTILES[i].field, qa_histogram_quantile(latency, QUANTILES[i].ppm));
    } else {
        qa_json_null(json, "lat_min_ns");
        qa_json_null(json, "lat_mean_ns");
        for (int i = 0; i < QUANTILE_COUNT; i++)
            qa_json_null(json, QUANTILES[i].field);
    }
    qa_json_u64(json, "lat_overflow", latency->overflow);
    qa_json_real(json, "lat_error_ratio", qa_histogram_error_ratio(latency), 6);
}

static void write_result(struct qa_json *json, const struct qa_run_result *result)
{
    qa_json_bool(json, "interrupted", result->interrupted);
    qa_json_u64(json, "requests", result->requests);
    qa_json_u64(json, "requests_unfinished", result->unfinished);
    qa_json_real(json, "throughput_req_per_sec", result->throughput, 2);
    write_latency(json, &result->latency);
    qa_json_u64(json, "measured_ns", result->measured_ns);
    qa_json_u64(json, "measured_cpu_ns", result->measured_cpu_ns);
    qa_json_u64(json, "wall_ns", result->wall_ns);
    qa_json_u64(json, "cpu_user_usec", result->cpu_user_usec);
    qa_json_u64(json, "cpu_system_usec", result->cpu_system_usec);
    qa_json_u64(json, "switches_voluntary", result->switches_voluntary);
    qa_json_u64(json, "switches_involuntary", result->switches_involuntary);
}

static void write_overhead(struct qa_json *json, const struct qa_overhead *overhead)
{
    qa_json_real(json, "clock_read_ns", overhead->clock_read_ns, 1);
    qa_json_real(json, "histogram_record_ns", overhead->histogram_record_ns, 1);
    qa_json_real(json, "overhead_per_request_ns", overhead->request_ns, 1);
}

void qa_report_json(FILE *out, const struct qa_report *report)
{
    struct qa_json json;

    qa_json_init(&json, out);
    qa_json_begin_object(&json, NULL);
    write_head(&json, qa_mode_name(report->settings->mode));
    write_request(&json, report);
    write_result(&json, report->result);
    qa_json_u64(&json, "iterations_per_ms", report->config->iterations_per_ms);
    qa_json_bool(&json, "calibrated", report->settings->iterations_per_ms == 0);
    write_overhead(&json, report->overhead);
    qa_json_end_object(&json);
    fputc('\n', out);
}

void qa_report_key_values(FILE *out, const struct qa_run_result *result)
{
    fprintf(out, "THROUGHPUT_REQ_PER_SEC=%.2f\n", result->throughput);
    for (int i = 0; i < QUANTILE_COUNT; i++)
        if (QUANTILES[i].key != NULL && result->latency.total > 0)
            fprintf(out, "%s=%" PRIu64 "\n", QUANTILES[i].key,
                    qa_histogram_quantile(&result->latency, QUANTILES[i].ppm));
}

void qa_report_overhead(FILE *out, const struct qa_overhead *overhead)
{
    struct qa_json json;

    qa_json_init(&json, out);
    qa_json_begin_object(&json, NULL);
    write_head(&json, qa_mode_name(QA_MODE_OVERHEAD));
    write_overhead(&json, overhead);
    qa_json_end_object(&json);
    fputc('\n', out);
}
