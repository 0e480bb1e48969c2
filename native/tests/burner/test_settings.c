#include "settings.h"

#include "harness.h"

enum { MAX_WORDS = 16 };

static struct qa_settings settings;
static struct qa_error error;

static int read_line(const char *line)
{
    static char copy[512];
    char *words[MAX_WORDS];
    int count = 0;
    char *rest = NULL;

    snprintf(copy, sizeof copy, "quota-burner %s", line);
    for (char *word = strtok_r(copy, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest))
        words[count++] = word;
    return qa_settings_read(count, words, &settings, &error);
}

static void refused(const char *line, const char *reason)
{
    CHECK(read_line(line) == -1);
    CHECK_TEXT(error.text, reason);
}

static void defaults_are_those_of_the_experiment(void)
{
    CHECK(read_line("saturate") == 0);
    CHECK(settings.mode == QA_MODE_SATURATE);
    CHECK_U64(settings.threads, 2);
    CHECK_U64(settings.iterations, 200000);
    CHECK_U64(settings.duration_ns, UINT64_C(10000000000));
    CHECK_U64(settings.discard_ns, 100000000);
    CHECK(!settings.duration_given);
}

static void a_given_duration_is_remembered(void)
{
    CHECK(read_line("trace --trace x --duration 10") == 0);
    CHECK(settings.duration_given);
}

static void modes_are_checked(void)
{
    refused("", "no mode given: saturate, burst, trace or overhead");
    refused("none", "unknown mode 'none': saturate, burst, trace or overhead");
    refused("Burst", "unknown mode 'Burst': saturate, burst, trace or overhead");
    refused("saturate burst", "unexpected argument 'burst'");
    refused("--threads 2", "--threads does not apply here");
}

static void options_of_other_modes_are_refused(void)
{
    refused("saturate --work 5", "--work does not apply here");
    refused("saturate --drain 5", "--drain does not apply here");
    refused("burst --iterations 5", "--iterations does not apply here");
    refused("trace --interval 5", "--interval does not apply here");
    refused("overhead --threads 5", "--threads does not apply here");
}

static void contradictions_are_refused(void)
{
    refused("trace", "mode trace needs --trace FILE");
    refused("saturate --no-json", "--no-json without --key-values leaves nothing to print");
    refused("burst --interval 10 --jitter 5.1",
            "--jitter is more than half of the interval of 10 ms");
    CHECK(read_line("burst --interval 10 --jitter 5") == 0);
    CHECK(read_line("saturate --no-json --key-values") == 0);
}

static void zero_makes_no_sense_for_these(void)
{
    refused("saturate --duration 0", "--duration 0 is out of range: 0.001 to 86400 s");
    refused("saturate --threads 0", "--threads 0 is out of range: 1 to 1024");
    refused("saturate --iterations 0", "--iterations 0 is out of range: 1 to 1000000000000");
    refused("burst --interval 0", "--interval 0 is out of range: 0.1 to 60000 ms");
    refused("burst --work 0", "--work 0 is out of range: 0.001 to 60000 ms");
    CHECK(read_line("burst --warmup 0 --discard 0 --drain 0 --jitter 0") == 0);
}

static void help_and_version_need_no_mode(void)
{
    CHECK(read_line("--help") == 0 && settings.help);
    CHECK(read_line("--version") == 0 && settings.version);
    CHECK(read_line("trace --help") == 0 && settings.help);
}

static void no_program_name_is_survived(void)
{
    CHECK(qa_settings_read(0, NULL, &settings, &error) == -1);
}

int main(void)
{
    RUN(defaults_are_those_of_the_experiment);
    RUN(a_given_duration_is_remembered);
    RUN(modes_are_checked);
    RUN(options_of_other_modes_are_refused);
    RUN(contradictions_are_refused);
    RUN(zero_makes_no_sense_for_these);
    RUN(help_and_version_need_no_mode);
    RUN(no_program_name_is_survived);
    return REPORT();
}
