#include "json.h"

#include <math.h>
#include <stdlib.h>

#include "harness.h"

static char written[4096];

static FILE *open_memory(struct qa_json *json)
{
    FILE *out = fmemopen(written, sizeof written, "w");

    if (out == NULL)
        abort();
    qa_json_init(json, out);
    return out;
}

static void nests_with_commas(void)
{
    struct qa_json json;
    FILE *out = open_memory(&json);

    qa_json_begin_object(&json, NULL);
    qa_json_u64(&json, "a", UINT64_MAX);
    qa_json_begin_array(&json, "b");
    qa_json_bool(&json, NULL, true);
    qa_json_null(&json, NULL);
    qa_json_begin_object(&json, NULL);
    qa_json_end_object(&json);
    qa_json_end_array(&json);
    qa_json_begin_array(&json, "c");
    qa_json_end_array(&json);
    qa_json_bool(&json, "d", false);
    qa_json_end_object(&json);
    fclose(out);
    CHECK_TEXT(written,
               "{\"a\": 18446744073709551615, \"b\": [true, null, {}], \"c\": [], \"d\": false}");
}

static void numbers_that_json_lacks_are_null(void)
{
    struct qa_json json;
    FILE *out = open_memory(&json);

    qa_json_begin_array(&json, NULL);
    qa_json_real(&json, NULL, 1.0 / 3.0, 3);
    qa_json_real(&json, NULL, -2.0, 0);
    qa_json_real(&json, NULL, (double)NAN, 3);
    qa_json_real(&json, NULL, (double)INFINITY, 3);
    qa_json_end_array(&json);
    fclose(out);
    CHECK_TEXT(written, "[0.333, -2, null, null]");
}

static const char *quoted(const char *text)
{
    struct qa_json json;
    FILE *out = open_memory(&json);

    qa_json_string(&json, NULL, text);
    fclose(out);
    return written;
}

static void strings_are_escaped(void)
{
    CHECK_TEXT(quoted(""), "\"\"");
    CHECK_TEXT(quoted("a\"b\\c/d"), "\"a\\\"b\\\\c/d\"");
    CHECK_TEXT(quoted("\n\t\x01\x7f"), "\"\\u000a\\u0009\\u0001\\u007f\"");
    CHECK_TEXT(quoted("\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"),
               "\"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\"");
}

static void malformed_utf8_is_replaced(void)
{
    CHECK_TEXT(quoted("\xff"
                      "a"),
               "\"\\ufffda\"");
    CHECK_TEXT(quoted("\xc3"), "\"\\ufffd\"");
    CHECK_TEXT(quoted("\xe2\x82"), "\"\\ufffd\\ufffd\"");
    CHECK_TEXT(quoted("\xf0\x9f\x98"), "\"\\ufffd\\ufffd\\ufffd\"");
    CHECK_TEXT(quoted("\xc0\xaf"), "\"\\ufffd\\ufffd\"");
    CHECK_TEXT(quoted("\xed\xa0\x80"), "\"\\ufffd\\ufffd\\ufffd\"");
    CHECK_TEXT(quoted("\xe0\x80\x80"), "\"\\ufffd\\ufffd\\ufffd\"");
    CHECK_TEXT(quoted("\xf4\x90\x80\x80"), "\"\\ufffd\\ufffd\\ufffd\\ufffd\"");
}

int main(void)
{
    RUN(nests_with_commas);
    RUN(numbers_that_json_lacks_are_null);
    RUN(strings_are_escaped);
    RUN(malformed_utf8_is_replaced);
    return REPORT();
}
