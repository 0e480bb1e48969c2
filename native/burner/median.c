#include "median.h"

#include <stdlib.h>

static int ascending(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

uint64_t qa_median(uint64_t *values, size_t count)
{
    qsort(values, count, sizeof *values, ascending);
    return values[(count - 1) / 2];
}
