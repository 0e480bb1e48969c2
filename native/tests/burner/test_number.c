#include "number.h"

#include "harness.h"

static void whole_numbers(void)
{
    static const char *const BAD[] = {"",
                                      " 1",
                                      "1 ",
                                      "+1",
                                      "-1",
                                      "0x10",
                                      "1.0",
                                      "1e3",
                                      "1k",
                                      "one",
                                      "1\n",
                                      "--1",
                                      "nan",
                                      "9223372036854775808",
                                      "99999999999999999999999"};
    uint64_t value = 7;

    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++)
        CHECK(!qa_number_u64(BAD[i], &value));
    CHECK_U64(value, 7);
    CHECK(qa_number_u64("0", &value));
    CHECK_U64(value, 0);
    CHECK(qa_number_u64("010", &value)); /* ten, not eight */
    CHECK_U64(value, 10);
    CHECK(qa_number_u64("9223372036854775807", &value));
    CHECK_U64(value, INT64_MAX);
}

static void decimal_numbers(void)
{
    static const char *const BAD[] = {"",   " 1", "1 ",  "+1",  "-1",    "0x1p3", "inf", "nan",
                                      ".5", "1e", "1..", "1-1", "1e999", "1s",    "1,5", "1e-999"};
    double value = 7;

    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++)
        CHECK(!qa_number_real(BAD[i], &value));
    CHECK(value > 6.9 && value < 7.1);
    CHECK(qa_number_real("0.25", &value) && value > 0.2499 && value < 0.2501);
    CHECK(qa_number_real("1e3", &value) && value > 999.9 && value < 1000.1);
    CHECK(qa_number_real("2E-1", &value) && value > 0.1999 && value < 0.2001);
    CHECK(qa_number_real("5.", &value) && value > 4.9 && value < 5.1);
}

int main(void)
{
    RUN(whole_numbers);
    RUN(decimal_numbers);
    return REPORT();
}
