/* JSON values: what is read of them, and what is left to a complete reader. */
#include "reading.h"

static struct quota_manifest *reader;

static const char *tree_of(const char *text)
{
    return reading_tree(reader, quota_manifest_read_json, text, strlen(text));
}

static bool is_left(const char *text)
{
    return strcmp(tree_of(text), "-1") == 0;
}

/* The text of {"cpu":"..."} with something between the quotes, as it is written in the answer. */
static const char *string_of(const char *inside)
{
    static const char before[] = "{\"\":[1,1,1,2],\"cpu\":[";
    static const char after[] = ",false,1,8]}";
    static char text[256];
    const char *tree;
    size_t size;

    snprintf(text, sizeof text, "{\"cpu\":\"%s\"}", inside);
    tree = tree_of(text);
    if (strcmp(tree, "-1") == 0)
        return "left";
    size = strlen(tree) - strlen(before) - strlen(after);
    CHECK(strncmp(tree, before, strlen(before)) == 0);
    CHECK_TEXT(tree + strlen(before) + size, after);
    snprintf(text, sizeof text, "%.*s", (int)size, tree + strlen(before));
    return text;
}

static const char DUMP[] = "{\n"
                           "  \"kind\": \"Pod\",\n"
                           "  \"status\": {\"x\": [1, {\"y\": null}], \"z\": \"a\\u00e9\"},\n"
                           "  \"spec\": {\"containers\": [\n"
                           "    {\"name\": \"\xc3\xa9\\n\", \"a\\\"b\": 1, \"cpu\": -1.5e+3},\n"
                           "    [], {}, true, false, null, 0\n"
                           "  ]},\n"
                           "  \"labels\": {\"p\": \"\\u20ac\", \"q\": {\"r\": \"s\"}}\n"
                           "}\n";

static void every_notation_is_read(void)
{
    CHECK_TEXT(tree_of(DUMP), "{\"\":[1,1,2,3,4,3,8,3],"
                              "\"kind\":[\"Pod\",false,2,11],"
                              "\"spec\":{\"\":[4,11,4,12],\"containers\":[4,26,"
                              "{\"\":[5,5,5,6,5,32],\"name\":[\"\xc3\xa9\\n\",false,5,14],"
                              "\"cpu\":[\"-1.5e+3\",true,5,39]},"
                              "[6,5],{\"\":[6,9]},[\"true\",true,6,13],[\"false\",true,6,19],"
                              "[\"null\",true,6,26],[\"0\",true,6,32]]},"
                              "\"labels\":{\"\":[8,13,8,14],\"p\":[\"\xe2\x82\xac\",false,8,19]}}");
}

static void every_escape_is_read_or_left(void)
{
    CHECK_TEXT(string_of("\\\""), "\"\\\"\"");
    CHECK_TEXT(string_of("\\\\"), "\"\\\\\"");
    CHECK_TEXT(string_of("\\/"), "\"/\"");
    CHECK_TEXT(string_of("\\n"), "\"\\n\"");
    CHECK_TEXT(string_of("\\t"), "\"\\t\"");
    CHECK_TEXT(string_of("a\\u000ab\\u0009"), "\"a\\nb\\t\"");
    CHECK_TEXT(string_of("\\u0022\\u005C\\u0020"), "\"\\\"\\\\ \"");
    CHECK_TEXT(string_of("\\u007f\\u0080\\u07FF"), "\"\x7f\xc2\x80\xdf\xbf\"");
    CHECK_TEXT(string_of("\\u0800\\uD7ff\\uE000\\uffff"),
               "\"\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf\"");
    for (int byte = 1; byte < 0x7f; byte++) {
        const char inside[] = {'\\', (char)byte, '0', '0', '6', '1', '\0'};
        bool read = strchr("\"\\/ntu", byte) != NULL;

        if (byte == '"') /* the string ends there */
            continue;
        CHECK((strcmp(string_of(inside), "left") != 0) == read);
    }
    for (unsigned code = 0; code < 0x20; code++) {
        char inside[8];

        snprintf(inside, sizeof inside, "\\u%04x", code);
        CHECK((strcmp(string_of(inside), "left") != 0) == (code == '\n' || code == '\t'));
    }
}

static void malformed_escapes_are_left(void)
{
    static const char *const insides[] = {
        "\\u",     "\\u0",    "\\u00",   "\\u006",        "\\u006g",        "\\ug061",
        "\\u 061", "\\u-061", "\\ud800", "\\udfff",       "\\ud83d\\ude00", "\\x41",
        "\\",      "\\\\\\",  "\\U0061", "\\u00\xc3\xa9",
    };

    for (size_t i = 0; i < sizeof insides / sizeof insides[0]; i++)
        CHECK_TEXT(string_of(insides[i]), "left");
}

static void keys_with_escapes_are_read_where_nobody_asks_for_them(void)
{
    CHECK_TEXT(tree_of("{\"a\\\"b\": 1, \"c\\\\\": 2, \"cpu\": 3}"),
               "{\"\":[1,1,1,23],\"cpu\":[\"3\",true,1,30]}");
    CHECK(is_left("{\"\\u0063pu\": 1}"));
    CHECK(is_left("{\"a\\/b\": 1}"));
    CHECK(is_left("{\"a\\nb\": 1}"));
    CHECK(is_left("{\"a\\\"b\": {\"cpu\": 1}}"));
    CHECK(is_left("{\"labels\": {\"a\\\"b\": \"c\"}}"));
}

static void only_numbers_and_words_of_json_are_read(void)
{
    static const char *const literals[] = {"0",    "-0",   "10",      "1.5",  "0.0",   "1e5",
                                           "1E+5", "1e-5", "-1.5e10", "true", "false", "null"};
    static const char *const others[] = {
        "",   "-",   "01",    "-01",  "1.",  ".5",        "1e",  "1e+", "+1",        "0x1",
        "1a", "nul", "nulls", "True", "NaN", "truefalse", "1_0", "1-",  "null\"a\"", "1{}"};
    char text[64];

    for (size_t i = 0; i < sizeof literals / sizeof literals[0]; i++) {
        char expected[64];

        snprintf(text, sizeof text, "{\"cpu\":%s}", literals[i]);
        snprintf(expected, sizeof expected, "{\"\":[1,1,1,2],\"cpu\":[\"%s\",true,1,8]}",
                 literals[i]);
        CHECK_TEXT(tree_of(text), expected);
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        snprintf(text, sizeof text, "{\"cpu\":%s}", others[i]);
        CHECK(is_left(text));
        CHECK(is_left(others[i]));
    }
}

static void what_is_not_json_is_left(void)
{
    static const char *const texts[] = {
        "",
        " ",
        "\n",
        "{",
        "[",
        "}",
        "]",
        "[1,]",
        "[,1]",
        "[1 2]",
        "{\"a\"}",
        "{\"a\" 1}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{a: 1}",
        "{'a': 1}",
        "{\"a\": 1}}",
        "[1]]",
        "[1}",
        "{]",
        "{\"a\": \"b",
        "{\"a\": \"b\n\"}",
        "{\"a\": \"b\t\"}",
        "# c\n{}",
        "{} // c",
        "\xef\xbb\xbf{}",
        "{},{}",
    };

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        CHECK_TEXT(is_left(texts[i]) ? texts[i] : "read", texts[i]);
    CHECK_TEXT(reading_tree(reader, quota_manifest_read_json, "{\"a\": \"\0\"}", 10), "-1");
    CHECK_TEXT(reading_tree(reader, quota_manifest_read_json, "[1]\0", 4), "-1");
}

static void keys_that_stand_twice_are_left(void)
{
    char text[4096] = "{";
    char *at = text + 1;

    CHECK(is_left("{\"a\": 1, \"a\": 2}"));
    CHECK(is_left("{\"\": 1, \"\": 2}"));
    CHECK(!is_left("{\"a\": {\"a\": 1}, \"b\": {\"a\": 1}}"));
    for (int i = 0; i < 200; i++)
        at += sprintf(at, "\"k%d\": 1, ", i);
    strcpy(at, "\"k200\": 1}");
    CHECK(!is_left(text));
    strcpy(at, "\"k100\": 1}");
    CHECK(is_left(text));
}

static void values_may_follow_each_other(void)
{
    static const char text[] = "{\"cpu\": 1}\n {\"cpu\": 2}[\"\xc3\xa9\"][{}]";

    CHECK_TEXT(reading_of(reader, quota_manifest_read_json, text, strlen(text)),
               "[[0,32,1,{\"\":[1,1,1,2],\"cpu\":[\"1\",true,1,9]}],"
               "[12,32,2,{\"\":[2,2,2,3],\"cpu\":[\"2\",true,2,10]}],"
               "[22,32,2,[2,12,[\"\xc3\xa9\",false,2,13]]],"
               "[28,32,2,[2,17,{\"\":[2,18]}]]]");
}

static void line_ends_of_windows_change_nothing(void)
{
    CHECK_TEXT(tree_of("{\r\n \"cpu\":\r\n 1\r\n}\r\n"),
               "{\"\":[1,1,2,2],\"cpu\":[\"1\",true,3,2]}");
    CHECK(is_left("{\r\"cpu\": 1}"));
}

static void deep_nesting_is_left(void)
{
    static const char *const pieces[] = {"[", "{\"a\":", "[{\"a\":"};
    char text[600];

    memset(text, '[', 256);
    memset(text + 256, ']', 256);
    text[512] = '\0';
    CHECK(!is_left(text));
    memset(text, '[', 257);
    memset(text + 257, ']', 257);
    text[514] = '\0';
    CHECK(is_left(text));
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
        size_t size;
        char *deep = reading_repeat("", pieces[i], 100000, "", &size);

        CHECK_TEXT(reading_tree(reader, quota_manifest_read_json, deep, size), "-1");
        free(deep);
    }
}

static void huge_scalars_are_read(void)
{
    static const char *const pieces[] = {"some ", "\\u20ac\\n", "1"};

    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
        const char *quote = i < 2 ? "\"" : "";
        char before[16], after[16];
        size_t size;
        char *text;

        snprintf(before, sizeof before, "{\"cpu\":%s", quote);
        snprintf(after, sizeof after, "%s}", quote);
        text = reading_repeat(before, pieces[i], 400000, after, &size);
        CHECK(strlen(reading_tree(reader, quota_manifest_read_json, text, size)) > 400000);
        free(text);
    }
}

static void what_is_not_kept_takes_no_room(void)
{
    size_t size;
    char *text = reading_repeat("[", "{\"x\": [1, 2, \"\\n\"]},", 10, "{}]", &size);

    CHECK(strstr(reading_tree(reader, quota_manifest_read_json, text, size), "\"x\"") == NULL);
    free(text);
    text = reading_repeat("{\"s\": [", "{\"x\": [1, 2, \"\\n\"]},", 1 << 19, "{}], \"cpu\": 1}",
                          &size);
    CHECK(strlen(reading_tree(reader, quota_manifest_read_json, text, size)) < 100);
    free(text);
}

/* The sanitizers look at each of these reads, and reading_of at their answers. */
static void any_beginning_is_left(void)
{
    for (size_t size = 0; size < sizeof DUMP - 2; size++)
        CHECK_TEXT(reading_tree(reader, quota_manifest_read_json, DUMP, size), "-1");
    CHECK(!is_left(DUMP));
}

static void any_change_of_bytes_is_read_or_left(void)
{
    static const char bytes[] = "\0\n\r\t \"\\[]{},:-.0eEu\xc3\xff";
    size_t read = 0;

    for (size_t at = 0; at < sizeof DUMP - 1; at++)
        for (size_t i = 0; i < sizeof bytes - 1; i++) {
            char changed[sizeof DUMP];

            memcpy(changed, DUMP, sizeof DUMP);
            changed[at] = bytes[i];
            read +=
                strcmp(reading_tree(reader, quota_manifest_read_json, changed, sizeof changed - 1),
                       "-1") != 0;
        }
    CHECK(read > 500);
}

int main(void)
{
    reader = reading_new();
    RUN(every_notation_is_read);
    RUN(every_escape_is_read_or_left);
    RUN(malformed_escapes_are_left);
    RUN(keys_with_escapes_are_read_where_nobody_asks_for_them);
    RUN(only_numbers_and_words_of_json_are_read);
    RUN(what_is_not_json_is_left);
    RUN(keys_that_stand_twice_are_left);
    RUN(values_may_follow_each_other);
    RUN(line_ends_of_windows_change_nothing);
    RUN(deep_nesting_is_left);
    RUN(huge_scalars_are_read);
    RUN(what_is_not_kept_takes_no_room);
    RUN(any_beginning_is_left);
    RUN(any_change_of_bytes_is_read_or_left);
    quota_manifest_free(reader);
    return REPORT();
}
