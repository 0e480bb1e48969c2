#include "demand.h"

#include <stdlib.h>

#include "harness.h"

static struct qa_demand demand;
static struct qa_error error;

static int read_bytes(const char *bytes, size_t length, uint32_t threads)
{
    FILE *in = tmpfile();
    int status;

    if (in == NULL || fwrite(bytes, 1, length, in) != length)
        abort();
    rewind(in);
    error.text[0] = '\0';
    status = qa_demand_read(in, "demand", threads, &demand, &error);
    fclose(in);
    return status;
}

static int read_text(const char *text)
{
    return read_bytes(text, strlen(text), 4);
}

static void refused(const char *text, const char *reason)
{
    CHECK(read_text(text) == -1);
    CHECK_TEXT(error.text, reason);
    CHECK(demand.intervals == NULL);
}

static void comments_blanks_and_line_ends_are_tolerated(void)
{
    CHECK(read_text(
              "# a recording\r\n\r\n\tinterval_usec\t10000 # ten ms\r\n 20000\n0\n\n300 3\n7") ==
          0);
    CHECK_U64(demand.interval_ns, 10000000);
    CHECK_U64(demand.count, 4);
    CHECK_U64(qa_demand_length_ns(&demand), 40000000);
    CHECK_U64(demand.intervals[3].work_ns, 7000);
    qa_demand_destroy(&demand);
    qa_demand_destroy(&demand);
}

static void work_is_shared_by_the_threads(void)
{
    CHECK(read_text("interval_usec 10000\n20000\n0\n300 3\n") == 0);
    CHECK_U64(qa_demand_share_ns(&demand, 0, 0), 5000000);
    CHECK_U64(qa_demand_share_ns(&demand, 0, 3), 5000000);
    CHECK_U64(qa_demand_share_ns(&demand, 1, 0), 0);
    CHECK_U64(qa_demand_share_ns(&demand, 2, 2), 100000);
    CHECK_U64(qa_demand_share_ns(&demand, 2, 3), 0);
    qa_demand_destroy(&demand);
}

static void it_repeats_in_both_directions(void)
{
    CHECK(read_text("interval_usec 10000\n4\n8\n12\n") == 0);
    CHECK_U64(qa_demand_share_ns(&demand, 3, 0), 1000);
    CHECK_U64(qa_demand_share_ns(&demand, 3000001, 0), 2000);
    CHECK_U64(qa_demand_share_ns(&demand, -1, 0), 3000);
    CHECK_U64(qa_demand_share_ns(&demand, -3, 0), 1000);
    CHECK_U64(qa_demand_share_ns(&demand, -4, 0), 3000);
    qa_demand_destroy(&demand);
}

static void bad_headers_are_refused(void)
{
    refused("", "demand holds no interval");
    refused("# nothing\n", "demand holds no interval");
    refused("interval_usec 10000\n", "demand holds no interval");
    refused("20000\n", "demand:1: expected 'interval_usec NUMBER' before the first interval");
    refused("\ninterval_usec\n",
            "demand:2: expected 'interval_usec NUMBER' before the first interval");
    refused("interval_usec 99\n1\n",
            "demand:1: interval_usec must be a whole number from 100 to 60000000");
    refused("interval_usec 60000001\n1\n",
            "demand:1: interval_usec must be a whole number from 100 to 60000000");
    refused("interval_usec 1e4\n1\n",
            "demand:1: interval_usec must be a whole number from 100 to 60000000");
}

static void bad_lines_are_refused(void)
{
    const char *work = "demand:2: work must be a whole number of microseconds up to 1000000000";
    const char *over = "demand:2: threads must be a whole number from 1 to the value of --threads";

    refused("interval_usec 10000\n-1\n", work);
    refused("interval_usec 10000\n1.5\n", work);
    refused("interval_usec 10000\n1000000001\n", work);
    refused("interval_usec 10000\nabc\n", work);
    refused("interval_usec 10000\ninterval_usec 10000\n", work);
    refused("interval_usec 10000\n1 0\n", over);
    refused("interval_usec 10000\n1 5\n", over);
    refused("interval_usec 10000\n1 x\n", over);
    refused("interval_usec 10000\n1 2 3\n", "demand:2: more than two words");
    refused("interval_usec 10000\n1\n2\n\n3 x\n",
            "demand:5: threads must be a whole number from 1 to the value of --threads");
}

static void binary_and_endless_lines_are_refused(void)
{
    static char line[5000];

    CHECK(read_bytes("interval_usec 10000\n1\0002\n", 24, 4) == -1);
    CHECK_TEXT(error.text, "demand:2: holds a zero byte: not a text file");
    CHECK(read_bytes("\0", 1, 4) == -1);
    CHECK_TEXT(error.text, "demand:1: holds a zero byte: not a text file");
    memset(line, '1', sizeof line - 1);
    refused(line, "demand:1: line longer than 254 characters");
    memset(line, '\n', sizeof line - 1);
    refused(line, "demand holds no interval");
}

static void the_longest_lines_are_read(void)
{
    char text[400];

    snprintf(text, sizeof text, "interval_usec 10000\n%*d\n5\n", 254, 7);
    CHECK(read_text(text) == 0);
    CHECK_U64(demand.count, 2);
    qa_demand_destroy(&demand);
    snprintf(text, sizeof text, "interval_usec 10000\n%*d\n5\n", 255, 7);
    refused(text, "demand:2: line longer than 254 characters");
}

/* Whatever comes in, the answer is a demand or an error, never a crash. */
static void noise_is_survived(void)
{
    static const char LETTERS[] = "0123456789 \n\t#interval_usec-+.x";
    char text[200] = "interval_usec 10000\n";

    for (int round = 0; round < 3000; round++) {
        size_t length = 20 + harness_random() % 150;

        for (size_t i = round % 2 == 0 ? 20 : 0; i < length; i++)
            text[i] = harness_random() % 40 == 0 ? (char)harness_random()
                                                 : LETTERS[harness_random() % (sizeof LETTERS - 1)];
        if (read_bytes(text, length, 4) == 0) {
            CHECK(demand.count > 0 && demand.interval_ns > 0);
            qa_demand_destroy(&demand);
        } else {
            CHECK(error.text[0] != '\0');
        }
        memcpy(text, "interval_usec 10000\n", 20);
    }
}

static void unreadable_files_are_reported(void)
{
    FILE *in = fopen("/", "r"); /* opens, but cannot be read */

    if (in == NULL)
        return;
    CHECK(qa_demand_read(in, "a directory", 4, &demand, &error) == -1);
    CHECK_TEXT(error.text, "cannot read a directory: Is a directory");
    fclose(in);
}

static void long_files_grow(void)
{
    FILE *in = tmpfile();

    if (in == NULL)
        abort();
    fputs("interval_usec 1000\n", in);
    for (int i = 0; i < 5000; i++)
        fprintf(in, "%d\n", i * 4);
    rewind(in);
    CHECK(qa_demand_read(in, "demand", 4, &demand, &error) == 0);
    fclose(in);
    CHECK_U64(demand.count, 5000);
    CHECK_U64(qa_demand_share_ns(&demand, 4999, 1), 4999000);
    qa_demand_destroy(&demand);
}

int main(void)
{
    RUN(comments_blanks_and_line_ends_are_tolerated);
    RUN(work_is_shared_by_the_threads);
    RUN(it_repeats_in_both_directions);
    RUN(bad_headers_are_refused);
    RUN(bad_lines_are_refused);
    RUN(binary_and_endless_lines_are_refused);
    RUN(the_longest_lines_are_read);
    RUN(noise_is_survived);
    RUN(unreadable_files_are_reported);
    RUN(long_files_grow);
    return REPORT();
}
