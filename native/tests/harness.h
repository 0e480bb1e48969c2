/* The smallest test harness that says what failed and where. One program a module. */
#ifndef QA_HARNESS_H
#define QA_HARNESS_H

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static int harness_failures;

#define CHECK(condition)                                           \
    do {                                                           \
        if (!(condition)) {                                        \
            harness_failures++;                                    \
            printf("%s:%d: %s\n", __FILE__, __LINE__, #condition); \
        }                                                          \
    } while (0)

#define CHECK_U64(actual, expected)                                                        \
    do {                                                                                   \
        uint64_t actual_value = (actual);                                                  \
        uint64_t expected_value = (expected);                                              \
        if (actual_value != expected_value) {                                              \
            harness_failures++;                                                            \
            printf("%s:%d: %s is %" PRIu64 ", expected %" PRIu64 "\n", __FILE__, __LINE__, \
                   #actual, actual_value, expected_value);                                 \
        }                                                                                  \
    } while (0)

#define CHECK_TEXT(actual, expected)                                                         \
    do {                                                                                     \
        const char *actual_text = (actual);                                                  \
        const char *expected_text = (expected);                                              \
        if (strcmp(actual_text, expected_text) != 0) {                                       \
            harness_failures++;                                                              \
            printf("%s:%d: %s\n  is       %s\n  expected %s\n", __FILE__, __LINE__, #actual, \
                   actual_text, expected_text);                                              \
        }                                                                                    \
    } while (0)

/* Runs one test function and names it. */
#define RUN(test)                                                               \
    do {                                                                        \
        int before = harness_failures;                                          \
        test();                                                                 \
        printf("%s %s\n", harness_failures == before ? "ok  " : "FAIL", #test); \
    } while (0)

#define REPORT() (harness_failures == 0 ? 0 : 1)

/* Numbers for property tests: xorshift64, always the same ones. */
static inline uint64_t harness_random(void)
{
    static uint64_t state = 88172645463325252u;

    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

#endif
