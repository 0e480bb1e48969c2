#include "demand.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "number.h"

static const char BLANKS[] = " \t\r\n";

/* Where a reader stands, for its error texts. */
struct place {
    const char *name;
    unsigned long line;
};

static int fail(const struct place *place, struct qa_error *error, const char *reason)
{
    return qa_error_set(error, "%s:%lu: %s", place->name, place->line, reason);
}

static bool number_within(const char *text, uint64_t min, uint64_t max, uint64_t *value)
{
    return qa_number_u64(text, value) && *value >= min && *value <= max;
}

static int read_header(char *word, char *value, struct qa_demand *demand, const struct place *place,
                       struct qa_error *error)
{
    uint64_t usec;

    if (strcmp(word, "interval_usec") != 0 || value == NULL)
        return fail(place, error, "expected 'interval_usec NUMBER' before the first interval");
    if (!number_within(value, QA_DEMAND_MIN_INTERVAL_USEC, QA_DEMAND_MAX_INTERVAL_USEC, &usec))
        return fail(place, error, "interval_usec must be a whole number from 100 to 60000000");
    demand->interval_ns = usec * QA_NS_PER_USEC;
    return 0;
}

static int append(struct qa_demand *demand, size_t *capacity, struct qa_demand_interval interval)
{
    if (demand->count == *capacity) {
        size_t larger = *capacity == 0 ? 1024 : *capacity * 2;
        void *grown = realloc(demand->intervals, larger * sizeof *demand->intervals);

        if (grown == NULL)
            return -1;
        demand->intervals = grown;
        *capacity = larger;
    }
    demand->intervals[demand->count++] = interval;
    return 0;
}

static int read_interval(const char *work, const char *over, uint32_t threads,
                         struct qa_demand *demand, size_t *capacity, const struct place *place,
                         struct qa_error *error)
{
    uint64_t usec;
    uint64_t shared_by = threads;

    if (!number_within(work, 0, QA_DEMAND_MAX_WORK_USEC, &usec))
        return fail(place, error, "work must be a whole number of microseconds up to 1000000000");
    if (over != NULL && !number_within(over, 1, threads, &shared_by))
        return fail(place, error,
                    "threads must be a whole number from 1 to the value of --threads");
    if (demand->count == QA_DEMAND_MAX_INTERVALS)
        return fail(place, error, "more than 10000000 intervals");
    if (append(demand, capacity,
               (struct qa_demand_interval){usec * QA_NS_PER_USEC, (uint32_t)shared_by}) != 0)
        return fail(place, error, "out of memory");
    return 0;
}

static int read_line(char *line, uint32_t threads, struct qa_demand *demand, size_t *capacity,
                     const struct place *place, struct qa_error *error)
{
    char *rest = NULL;
    char *comment = strchr(line, '#');
    char *first, *second;

    if (comment != NULL)
        *comment = '\0';
    first = strtok_r(line, BLANKS, &rest);
    if (first == NULL)
        return 0;
    second = strtok_r(NULL, BLANKS, &rest);
    if (second != NULL && strtok_r(NULL, BLANKS, &rest) != NULL)
        return fail(place, error, "more than two words");
    if (demand->interval_ns == 0)
        return read_header(first, second, demand, place, error);
    return read_interval(first, second, threads, demand, capacity, place, error);
}

static int read_lines(FILE *in, struct place *place, uint32_t threads, struct qa_demand *demand,
                      struct qa_error *error)
{
    char line[256];
    size_t capacity = 0;

    /* A fixed buffer on purpose: a file without line ends must not fill the memory. */
    for (memset(line, 1, sizeof line); fgets(line, sizeof line, in) != NULL;
         memset(line, 1, sizeof line)) {
        /* fgets ends what it read with one NUL. The last NUL of the buffer is that one, since the
         * buffer was filled with ones; any NUL before it came from the file. */
        const char *end = memchr(line, '\0', sizeof line);
        bool embedded = end + 1 < line + sizeof line &&
                        memchr(end + 1, '\0', (size_t)(line + sizeof line - end - 1)) != NULL;

        place->line++;
        if (embedded)
            return fail(place, error, "holds a zero byte: not a text file");
        if (strchr(line, '\n') == NULL && !feof(in))
            return fail(place, error, "line longer than 254 characters");
        if (read_line(line, threads, demand, &capacity, place, error) != 0)
            return -1;
    }
    if (ferror(in))
        return qa_error_set(error, "cannot read %s: %s", place->name, strerror(errno));
    if (demand->count == 0)
        return qa_error_set(error, "%s holds no interval", place->name);
    return 0;
}

int qa_demand_read(FILE *in, const char *name, uint32_t threads, struct qa_demand *demand,
                   struct qa_error *error)
{
    struct place place = {name, 0};

    memset(demand, 0, sizeof *demand);
    if (read_lines(in, &place, threads, demand, error) == 0)
        return 0;
    qa_demand_destroy(demand);
    return -1;
}

void qa_demand_destroy(struct qa_demand *demand)
{
    free(demand->intervals);
    memset(demand, 0, sizeof *demand);
}

uint64_t qa_demand_share_ns(const struct qa_demand *demand, int64_t interval, uint32_t thread)
{
    int64_t count = (int64_t)demand->count;
    const struct qa_demand_interval *at = &demand->intervals[(interval % count + count) % count];

    return thread < at->threads ? at->work_ns / at->threads : 0;
}

uint64_t qa_demand_length_ns(const struct qa_demand *demand)
{
    return demand->interval_ns * demand->count;
}
