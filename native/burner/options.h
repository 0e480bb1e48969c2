/* Command-line options described by one table: names, arguments, units, ranges, help. */
#ifndef QA_OPTIONS_H
#define QA_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "error.h"

enum { QA_TEXT_LIST_MAX = 16, QA_OPTIONS_MAX = 64 };

/* What an option's argument is, and the type of the field that receives it. */
enum qa_option_kind {
    QA_OPTION_FLAG,     /* bool; no argument */
    QA_OPTION_COUNT,    /* uint64_t */
    QA_OPTION_DURATION, /* uint64_t, nanoseconds; given in seconds or milliseconds, see unit */
    QA_OPTION_TEXT,     /* const char *, points into argv */
    QA_OPTION_TEXT_LIST /* struct qa_text_list; the option may be repeated */
};

struct qa_text_list {
    const char *items[QA_TEXT_LIST_MAX];
    size_t count;
};

struct qa_option {
    const char *name; /* without the leading "--" */
    enum qa_option_kind kind;
    const char *argument; /* its name in the help, NULL for a flag */
    const char *unit;     /* "s" or "ms" for a duration, else NULL */
    double min;           /* smallest number allowed, in the unit */
    double max;           /* largest number allowed, in the unit */
    unsigned groups;      /* bit mask: where the option may be used */
    size_t offset;        /* of the field in the caller's struct */
    const char *help;
};

/**
 * Read "--name value", "--name=value" and "--flag". A later value replaces an earlier one. Names
 * are never abbreviated. Nothing is printed.
 *
 * @param table   the options
 * @param size    their number, at most QA_OPTIONS_MAX
 * @param group   one bit: options whose groups lack it are refused
 * @param argc    number of arguments
 * @param argv    the arguments, without the program's name
 * @param target  the struct that receives the values; must hold the defaults already
 * @param given   receives one bit per option of the table that was present, lowest first
 * @param error   receives the reason of a failure
 * @return 0, or -1 when an argument is unknown, misplaced, malformed or out of range
 */
int qa_options_parse(const struct qa_option *table, size_t size, unsigned group, int argc,
                     char *const *argv, void *target, uint64_t *given, struct qa_error *error);

/**
 * Print the options of one group, each with its range and default.
 *
 * @param out       where to print
 * @param table     the options
 * @param size      their number
 * @param groups    print those whose groups are exactly these
 * @param defaults  the struct with the defaults
 */
void qa_options_help(FILE *out, const struct qa_option *table, size_t size, unsigned groups,
                     const void *defaults);

#endif
