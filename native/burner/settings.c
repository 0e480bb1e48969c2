#include "settings.h"

#include <stddef.h>
#include <string.h>

#include "clock.h"
#include "work.h"

/* Groups of options: one bit a mode, and combinations that share a heading in the help. */
#define IN(mode) (1u << (mode))
#define IN_SATURATE IN(QA_MODE_SATURATE)
#define IN_BURST IN(QA_MODE_BURST)
#define IN_TRACE IN(QA_MODE_TRACE)
#define IN_OPEN (IN_BURST | IN_TRACE)
#define IN_LOADS (IN_SATURATE | IN_OPEN)
#define IN_ALL (IN(QA_MODE_NONE) | IN_LOADS | IN(QA_MODE_OVERHEAD))

#define FIELD(name) offsetof(struct qa_settings, name)

static const struct qa_option OPTIONS[] = {
    {"threads", QA_OPTION_COUNT, "COUNT", NULL, 1, 1024, IN_LOADS, FIELD(threads),
     "threads that make load"},
    {"duration", QA_OPTION_DURATION, "SECONDS", "s", 0.001, 86400, IN_LOADS, FIELD(duration_ns),
     "measured time; in mode trace the trace is repeated or cut to it, and without this\n"
     "      option it is played once"},
    {"warmup", QA_OPTION_DURATION, "MS", "ms", 0, 600000, IN_LOADS, FIELD(warmup_ns),
     "load before the measured time, not counted: caches, CPU frequency"},
    {"discard", QA_OPTION_DURATION, "MS", "ms", 0, 600000, IN_LOADS, FIELD(discard_ns),
     "more of it: the first period in a limit is not representative, since setting the\n"
     "      limit fills its pool. Give the limit's period"},
    {"cgroup-procs", QA_OPTION_TEXT_LIST, "PATH", NULL, 0, 0, IN_LOADS, FIELD(cgroup_procs),
     "join this cgroup before starting threads: its cgroup.procs file, or v1 tasks file;\n"
     "      once for each hierarchy"},
    {"iterations-per-ms", QA_OPTION_COUNT, "COUNT", NULL, 1, (double)QA_WORK_MAX_PER_MS, IN_LOADS,
     FIELD(iterations_per_ms),
     "work of a millisecond, as an earlier run reported it; else it is measured"},
    {"exit-with-parent", QA_OPTION_FLAG, NULL, NULL, 0, 0, IN_LOADS, FIELD(exit_with_parent),
     "end early when the parent thread ends"},
    {"parent", QA_OPTION_COUNT, "PID", NULL, 1, 2147483647, IN_LOADS, FIELD(parent),
     "with --exit-with-parent: refuse to run when the parent is no longer this process"},
    {"key-values", QA_OPTION_FLAG, NULL, NULL, 0, 0, IN_LOADS, FIELD(key_values),
     "after the JSON line, print KEY=VALUE lines: THROUGHPUT_REQ_PER_SEC, LAT_P50_NS ..."},
    {"no-json", QA_OPTION_FLAG, NULL, NULL, 0, 0, IN_LOADS, FIELD(no_json),
     "leave out the JSON line"},
    {"iterations", QA_OPTION_COUNT, "COUNT", NULL, 1, 1e12, IN_SATURATE, FIELD(iterations),
     "work of one request, in xorshift steps"},
    {"interval", QA_OPTION_DURATION, "MS", "ms", 0.1, 60000, IN_BURST, FIELD(interval_ns),
     "time from one burst to the next"},
    {"work", QA_OPTION_DURATION, "MS", "ms", 0.001, 60000, IN_BURST, FIELD(work_ns),
     "CPU work of each thread in a burst"},
    {"trace", QA_OPTION_TEXT, "FILE", NULL, 0, 0, IN_TRACE, FIELD(trace),
     "the demand to replay, '-' for standard input; required.\n"
     "      First line 'interval_usec N', then one line an interval: microseconds of CPU work of\n"
     "      all threads together and, if not all share it, a number of threads"},
    {"jitter", QA_OPTION_DURATION, "MS", "ms", 0, 30000, IN_OPEN, FIELD(jitter_ns),
     "move each start by up to this, either way; at most half an interval"},
    {"jitter-per-thread", QA_OPTION_FLAG, NULL, NULL, 0, 0, IN_OPEN, FIELD(jitter_per_thread),
     "each thread moves on its own; else all start together"},
    {"seed", QA_OPTION_COUNT, "NUMBER", NULL, 1, 4294967295, IN_OPEN, FIELD(seed),
     "chooses the jitter; the same seed gives the same starts"},
    {"drain", QA_OPTION_DURATION, "MS", "ms", 0, 600000, IN_OPEN, FIELD(drain_ns),
     "time after the measured time to finish what was due in it"},
    {"help", QA_OPTION_FLAG, NULL, NULL, 0, 0, IN_ALL, FIELD(help), "print this text and exit"},
    {"version", QA_OPTION_FLAG, NULL, NULL, 0, 0, IN_ALL, FIELD(version),
     "print the version and exit"},
};

enum { OPTION_COUNT = sizeof OPTIONS / sizeof OPTIONS[0] };

static const struct qa_settings DEFAULTS = {
    .threads = 2,
    .duration_ns = 10 * QA_NS_PER_SEC,
    .warmup_ns = 100 * QA_NS_PER_MS,
    .discard_ns = 100 * QA_NS_PER_MS,
    .drain_ns = 1000 * QA_NS_PER_MS,
    .iterations = 200000,
    .interval_ns = 100 * QA_NS_PER_MS,
    .work_ns = 25 * QA_NS_PER_MS,
    .seed = 1,
};

static const struct {
    enum qa_mode mode;
    const char *name;
    const char *help;
} MODES[] = {
    {QA_MODE_NONE, "none", NULL},
    {QA_MODE_SATURATE, "saturate",
     "closed loop: every thread does one fixed request after another"},
    {QA_MODE_BURST, "burst",
     "open loop: in every interval each thread does some milliseconds of work"},
    {QA_MODE_TRACE, "trace", "open loop: the work of each interval comes from a file"},
    {QA_MODE_OVERHEAD, "overhead", "no load: measure what the timing of a request costs"},
};

enum { MODE_COUNT = sizeof MODES / sizeof MODES[0] };

const char *qa_mode_name(enum qa_mode mode)
{
    return MODES[mode].name;
}

static int read_mode(const char *text, enum qa_mode *mode, struct qa_error *error)
{
    for (int i = 0; i < MODE_COUNT; i++) {
        if (MODES[i].mode != QA_MODE_NONE && strcmp(text, MODES[i].name) == 0) {
            *mode = MODES[i].mode;
            return 0;
        }
    }
    return qa_error_set(error, "unknown mode '%s': saturate, burst, trace or overhead", text);
}

static bool was_given(uint64_t given, size_t offset)
{
    for (size_t i = 0; i < OPTION_COUNT; i++)
        if (OPTIONS[i].offset == offset)
            return (given >> i & 1) != 0;
    return false;
}

int qa_settings_check_jitter(uint64_t jitter_ns, uint64_t interval_ns, struct qa_error *error)
{
    if (jitter_ns <= interval_ns / 2)
        return 0;
    return qa_error_set(error, "--jitter is more than half of the interval of %.15g ms",
                        (double)interval_ns / (double)QA_NS_PER_MS);
}

static int check_together(const struct qa_settings *settings, struct qa_error *error)
{
    if (settings->mode == QA_MODE_NONE)
        return qa_error_set(error, "no mode given: saturate, burst, trace or overhead");
    if (settings->mode == QA_MODE_TRACE && settings->trace == NULL)
        return qa_error_set(error, "mode trace needs --trace FILE");
    if (settings->parent != 0 && !settings->exit_with_parent)
        return qa_error_set(error, "--parent without --exit-with-parent means nothing");
    if (settings->no_json && !settings->key_values)
        return qa_error_set(error, "--no-json without --key-values leaves nothing to print");
    if (settings->mode == QA_MODE_BURST)
        return qa_settings_check_jitter(settings->jitter_ns, settings->interval_ns, error);
    return 0;
}

int qa_settings_read(int argc, char *const *argv, struct qa_settings *settings,
                     struct qa_error *error)
{
    int skip = 1;
    uint64_t given;

    *settings = DEFAULTS;
    if (argc < 1) /* allowed to execve, if to nobody else */
        return check_together(settings, error);
    if (argc > skip && strncmp(argv[skip], "--", 2) != 0) {
        if (read_mode(argv[skip], &settings->mode, error) != 0)
            return -1;
        skip++;
    }
    if (qa_options_parse(OPTIONS, OPTION_COUNT, IN(settings->mode), argc - skip, argv + skip,
                         settings, &given, error) != 0)
        return -1;
    settings->duration_given = was_given(given, FIELD(duration_ns));
    if (settings->help || settings->version)
        return 0;
    return check_together(settings, error);
}

static void help_section(FILE *out, const char *title, unsigned groups)
{
    fprintf(out, "\n%s:\n", title);
    qa_options_help(out, OPTIONS, OPTION_COUNT, groups, &DEFAULTS);
}

void qa_settings_help(FILE *out)
{
    fputs("usage: quota-burner MODE [OPTION ...]\n\n"
          "Make CPU load, time every request, print one line of JSON.\n\nmodes:\n",
          out);
    for (int i = 0; i < MODE_COUNT; i++)
        if (MODES[i].help != NULL)
            fprintf(out, "  %-10s %s\n", MODES[i].name, MODES[i].help);
    help_section(out, "options of every load", IN_LOADS);
    help_section(out, "mode saturate", IN_SATURATE);
    help_section(out, "mode burst", IN_BURST);
    help_section(out, "mode trace", IN_TRACE);
    help_section(out, "modes burst and trace", IN_OPEN);
    help_section(out, "always", IN_ALL);
    fputs("\nSIGTERM and SIGINT end the run early; it still reports, with \"interrupted\": true.\n"
          "Exit status: 0 reported, 2 error (the reason is on standard error).\n",
          out);
}
