#include <string.h>

#include "window.h"

/* No freeze is longer than the longest period. */
static const uint64_t MAX_FREEZE_USEC = 1000000;

/* A freeze and the CPUs that worked around it: it ends in the window behind its last one. */
struct freeze {
    uint64_t begin;
    uint64_t end;
    uint32_t cpus;
};

static struct freeze freeze_before(const struct quota_sim_trace *trace, uint64_t held)
{
    struct freeze freeze = {.begin = held, .end = held, .cpus = qs_cpus_of(trace, held)};
    uint64_t length_usec = 0;

    while (freeze.begin > 0 && qs_asleep(trace, freeze.begin - 1) &&
           length_usec + trace->elapsed_usec[freeze.begin - 1] <= MAX_FREEZE_USEC) {
        freeze.begin--;
        length_usec += trace->elapsed_usec[freeze.begin];
    }
    /* The window in which it began ran for a part only: it counts as a part of the freeze. */
    if (freeze.begin > 0) {
        uint32_t before;

        freeze.begin--;
        before = qs_cpus_of(trace, freeze.begin);
        if (before > freeze.cpus)
            freeze.cpus = before;
    }
    return freeze;
}

static uint32_t room_in(const struct quota_sim_trace *trace, const uint32_t *used, uint64_t window,
                        uint32_t cpus)
{
    uint64_t room = (uint64_t)trace->elapsed_usec[window] * cpus;

    return room > used[window] ? (uint32_t)(room - used[window]) : 0;
}

/* Moves what ran right after a freeze into it, earliest first. */
static void move_back(const struct quota_sim_trace *trace, const struct freeze *freeze,
                      uint32_t *least)
{
    uint64_t from = freeze->end;

    for (uint64_t to = freeze->begin; to < freeze->end; to++) {
        uint32_t room = room_in(trace, least, to, freeze->cpus);

        while (room > 0 && from < trace->count && !qs_asleep(trace, from)) {
            uint32_t part = least[from] < room ? least[from] : room;

            least[from] -= part;
            least[to] += part;
            room -= part;
            if (room > 0)
                from++;
        }
    }
}

void quota_sim_uncensor(const struct quota_sim_trace *trace, const uint8_t *held, uint32_t *least,
                        uint32_t *most)
{
    memcpy(least, trace->used_usec, trace->count * sizeof *least);
    memcpy(most, trace->used_usec, trace->count * sizeof *most);
    for (uint64_t i = 0; i < trace->count; i++) {
        struct freeze freeze;

        if (!held[i])
            continue;
        freeze = freeze_before(trace, i);
        move_back(trace, &freeze, least);
        for (uint64_t window = freeze.begin; window < freeze.end; window++)
            most[window] += room_in(trace, most, window, freeze.cpus);
    }
}
