/* What the command line of quota-burner can say. */
#ifndef QA_SETTINGS_H
#define QA_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "error.h"
#include "options.h"

enum qa_mode { QA_MODE_NONE, QA_MODE_SATURATE, QA_MODE_BURST, QA_MODE_TRACE, QA_MODE_OVERHEAD };

struct qa_settings {
    enum qa_mode mode;
    uint64_t threads;
    uint64_t duration_ns;
    bool duration_given; /* false in mode trace: play the trace once */
    uint64_t warmup_ns;
    uint64_t discard_ns;
    uint64_t drain_ns;
    uint64_t iterations;
    uint64_t interval_ns;
    uint64_t work_ns;
    uint64_t jitter_ns;
    bool jitter_per_thread;
    uint64_t seed;
    const char *trace;
    uint64_t iterations_per_ms; /* 0: calibrate */
    struct qa_text_list cgroup_procs;
    bool exit_with_parent;
    uint64_t parent; /* 0: whoever it is when the program starts */
    bool key_values;
    bool no_json;
    bool help;
    bool version;
};

/**
 * Read the command line. Nothing is printed.
 *
 * @param argc      as main received it
 * @param argv      as main received it; the settings point into it
 * @param settings  set on success
 * @param error     receives the reason of a failure
 * @return 0, or -1 when an argument is unknown, malformed, out of range or contradicts another
 */
int qa_settings_read(int argc, char *const *argv, struct qa_settings *settings,
                     struct qa_error *error);

/**
 * Check the jitter against the interval; starts must not overtake each other.
 *
 * @param jitter_ns    how far a start may move
 * @param interval_ns  time between starts
 * @param error        receives the reason of a failure
 * @return 0, or -1 when the jitter is more than half the interval
 */
int qa_settings_check_jitter(uint64_t jitter_ns, uint64_t interval_ns, struct qa_error *error);

/**
 * Name of a mode as typed and reported.
 *
 * @param mode  any mode
 * @return its name, "none" for QA_MODE_NONE
 */
const char *qa_mode_name(enum qa_mode mode);

/**
 * Print the help text.
 *
 * @param out  where to print
 */
void qa_settings_help(FILE *out);

#endif
