#include "options.h"

#include <stdlib.h>

#include "harness.h"

struct target {
    bool loud;
    uint64_t count;
    uint64_t time_ns;
    uint64_t pause_ns;
    const char *text;
    struct qa_text_list list;
};

#define FIELD(name) offsetof(struct target, name)

static const struct qa_option TABLE[] = {
    {"loud", QA_OPTION_FLAG, NULL, NULL, 0, 0, 3, FIELD(loud), "be loud"},
    {"count", QA_OPTION_COUNT, "N", NULL, 1, 10, 1, FIELD(count), "how many"},
    {"time", QA_OPTION_DURATION, "SECONDS", "s", 0.5, 20, 1, FIELD(time_ns), "how long"},
    {"pause", QA_OPTION_DURATION, "MS", "ms", 0, 20, 1, FIELD(pause_ns), "how long between"},
    {"text", QA_OPTION_TEXT, "TEXT", NULL, 0, 0, 1, FIELD(text), "what"},
    {"list", QA_OPTION_TEXT_LIST, "TEXT", NULL, 0, 0, 2, FIELD(list), "what else"},
};

enum { SIZE = sizeof TABLE / sizeof TABLE[0], MAX_WORDS = 64 };

static struct target target;
static uint64_t given;
static struct qa_error error;

/* Parses words that are separated by one blank each. */
static int parse(unsigned group, const char *line)
{
    static char copy[1024];
    char *words[MAX_WORDS];
    int count = 0;

    memset(&target, 0, sizeof target);
    target.count = 3;
    error.text[0] = '\0';
    snprintf(copy, sizeof copy, "%s", line);
    for (char *at = copy; *line != '\0' && at != NULL && count < MAX_WORDS;) {
        words[count++] = at;
        at = strchr(at, ' ');
        if (at != NULL)
            *at++ = '\0';
    }
    return qa_options_parse(TABLE, SIZE, group, count, words, &target, &given, &error);
}

static void refused(unsigned group, const char *line, const char *reason)
{
    CHECK(parse(group, line) == -1);
    CHECK_TEXT(error.text, reason);
}

static void both_spellings_are_read(void)
{
    CHECK(parse(1, "--loud --count 7 --time=1.5 --pause 2 --text=a=b") == 0);
    CHECK(target.loud);
    CHECK_U64(target.count, 7);
    CHECK_U64(target.time_ns, 1500000000);
    CHECK_U64(target.pause_ns, 2000000);
    CHECK_TEXT(target.text, "a=b");
    CHECK_U64(given, 0x1F);
}

static void defaults_stay(void)
{
    CHECK(parse(1, "") == 0);
    CHECK_U64(target.count, 3);
    CHECK_U64(given, 0);
}

static void the_last_value_counts(void)
{
    CHECK(parse(1, "--count 7 --count 8") == 0);
    CHECK_U64(target.count, 8);
}

static void a_value_may_look_like_an_option(void)
{
    CHECK(parse(1, "--text --loud") == 0);
    CHECK_TEXT(target.text, "--loud");
    CHECK(!target.loud);
}

static void lists_collect(void)
{
    char line[512] = "--list a --list=b";

    CHECK(parse(2, line) == 0);
    CHECK_U64(target.list.count, 2);
    CHECK_TEXT(target.list.items[1], "b");
    line[0] = '\0';
    for (int i = 0; i <= QA_TEXT_LIST_MAX; i++)
        strcat(line, i == 0 ? "--list=x" : " --list=x");
    refused(2, line, "--list given more than 16 times");
}

static void ranges_are_inclusive(void)
{
    CHECK(parse(1, "--count 1 --time 0.5 --pause 0") == 0);
    CHECK(parse(1, "--count 10 --time 20 --pause 20") == 0);
    refused(1, "--count 0", "--count 0 is out of range: 1 to 10");
    refused(1, "--count 11", "--count 11 is out of range: 1 to 10");
    refused(1, "--time 0.499", "--time 0.499 is out of range: 0.5 to 20 s");
    refused(1, "--time=20.001", "--time 20.001 is out of range: 0.5 to 20 s");
    refused(1, "--pause 20.1", "--pause 20.1 is out of range: 0 to 20 ms");
}

static void malformed_values_are_refused(void)
{
    refused(1, "--count x", "--count needs a whole number, not 'x'");
    refused(1, "--count -1", "--count needs a whole number, not '-1'");
    refused(1, "--count 1.5", "--count needs a whole number, not '1.5'");
    refused(1, "--count 99999999999999999999",
            "--count needs a whole number, not '99999999999999999999'");
    refused(1, "--time 5s", "--time needs a number (unit: s), not '5s'");
    refused(1, "--time nan", "--time needs a number (unit: s), not 'nan'");
    refused(1, "--time=", "--time needs a number (unit: s), not ''");
    refused(1, "--text=", "--text needs a TEXT, not an empty text");
    refused(1, "--loud=1", "--loud takes no value");
    refused(1, "--count", "--count needs a value: N");
}

static void what_is_not_in_the_table_is_refused(void)
{
    refused(1, "--cou 3", "unknown option --cou");
    refused(1, "--counts=3", "unknown option --counts");
    refused(1, "-c", "unexpected argument '-c'");
    refused(1, "word", "unexpected argument 'word'");
    refused(1, "--", "unexpected argument '--'");
    refused(1, "--=3", "unexpected argument '--=3'");
    refused(1, "--list x", "--list does not apply here");
    refused(2, "--loud --count 3", "--count does not apply here");
}

static void long_values_do_not_overrun(void)
{
    static char value[2000];
    char *words[] = {(char *)"--count", value};

    memset(value, 'x', sizeof value - 1);
    CHECK(qa_options_parse(TABLE, SIZE, 1, 2, words, &target, &given, &error) == -1);
    CHECK_U64(strlen(error.text), QA_ERROR_SIZE - 1);
}

static void help_names_range_unit_and_default(void)
{
    char text[1024];
    FILE *out = fmemopen(text, sizeof text, "w");
    struct target defaults = {.count = 3, .time_ns = 2500000000};

    if (out == NULL)
        abort();
    qa_options_help(out, TABLE, SIZE, 1, &defaults);
    fclose(out);
    CHECK_TEXT(text, "  --count N\n      how many (1 to 10, default 3)\n"
                     "  --time SECONDS\n      how long (0.5 to 20 s, default 2.5)\n"
                     "  --pause MS\n      how long between (0 to 20 ms, default 0)\n"
                     "  --text TEXT\n      what\n");
}

int main(void)
{
    RUN(both_spellings_are_read);
    RUN(defaults_stay);
    RUN(the_last_value_counts);
    RUN(a_value_may_look_like_an_option);
    RUN(lists_collect);
    RUN(ranges_are_inclusive);
    RUN(malformed_values_are_refused);
    RUN(what_is_not_in_the_table_is_refused);
    RUN(long_values_do_not_overrun);
    RUN(help_names_range_unit_and_default);
    return REPORT();
}
