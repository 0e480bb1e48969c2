/* The output of quota-burner. */
#ifndef QA_REPORT_H
#define QA_REPORT_H

#include <stdint.h>
#include <stdio.h>

#include "demand.h"
#include "overhead.h"
#include "run.h"
#include "settings.h"

/* Everything that a report says. */
struct qa_report {
    const struct qa_settings *settings;
    const struct qa_run_config *config;
    const struct qa_run_result *result;
    const struct qa_overhead *overhead;
};

/**
 * Print the JSON document of a run, on one line.
 *
 * @param out     where to print; look at ferror() afterwards
 * @param report  what to say
 */
void qa_report_json(FILE *out, const struct qa_report *report);

/**
 * Print the KEY=VALUE lines of a run. The latency lines are left out when nothing was counted.
 *
 * @param out     where to print; look at ferror() afterwards
 * @param result  what to say
 */
void qa_report_key_values(FILE *out, const struct qa_run_result *result);

/**
 * Print the JSON document of mode overhead, on one line.
 *
 * @param out       where to print; look at ferror() afterwards
 * @param overhead  what to say
 */
void qa_report_overhead(FILE *out, const struct qa_overhead *overhead);

#endif
