/* One document of YAML: what is read of it, and what is left to a complete reader. */
#include "reading.h"

static struct quota_manifest *reader;

static const char *tree_of(const char *text)
{
    return reading_tree(reader, quota_manifest_read, text, strlen(text));
}

static bool is_left(const char *text)
{
    return strcmp(tree_of(text), "null") == 0;
}

/* Every notation that is read. */
static const char FEATURES[] = "# comment\n"
                               "kind: \"Pod\"\n"
                               "metadata: {name: 'x', \"c d\": {labels: {a: b}}}\n"
                               "description: >-\n"
                               "    folded\n"
                               "     x\n"
                               "containers:\n"
                               "- cpu: &one 1 \xc3\xa9 # comment\n"
                               "  name: |+\n"
                               "    text \"q\" \\ and\ta tab\n"
                               "\n"
                               "      more\n"
                               "\n"
                               "- - -x\n"
                               "  - \"a\\\"\\\\\\/\\t\\n\"\n"
                               "- [a b, -c, {cpu: 1}, [], {}, 'd']\n"
                               "- cpu:\n"
                               "  labels: &two\n"
                               "    p: |-\n"
                               "     strip\n"
                               "- *one\n"
                               "- *two\n"
                               "-\n";

static void every_notation_is_read(void)
{
    CHECK_TEXT(
        tree_of(FEATURES),
        "{\"\":[2,1],"
        "\"kind\":[\"Pod\",false,2,7],"
        "\"metadata\":{\"\":[3,11],\"name\":[\"x\",false,3,18],"
        "\"c d\":{\"\":[3,30],\"labels\":{\"\":[3,39],\"a\":[\"b\",true,3,43]}}},"
        "\"containers\":[8,1,"
        "{\"\":[8,3],\"cpu\":[\"1 \xc3\xa9\",true,8,13],"
        "\"name\":[\"text \\\"q\\\" \\\\ and\\ta tab\\n\\n  more\\n\\n\",false,9,9]},"
        "[14,3,[\"-x\",true,14,5],[\"a\\\"\\\\/\\t\\n\",false,15,5]],"
        "[16,3,[\"a b\",true,16,4],[\"-c\",true,16,9],{\"\":[16,13],\"cpu\":[\"1\",true,16,19]},"
        "[16,23],{\"\":[16,27]},[\"d\",false,16,31]],"
        "{\"\":[17,3],\"cpu\":[\"\",true,17,7],"
        "\"labels\":{\"\":[19,5],\"p\":[\"strip\",false,19,8]}},"
        "[\"1 \xc3\xa9\",true,8,13],"
        "{\"\":[19,5],\"p\":[\"strip\",false,19,8]},"
        "[\"\",true,23,2]]}");
}

static void columns_count_characters(void)
{
    CHECK_TEXT(tree_of("cpu: [\"\xc3\xa9\", x]\n"),
               "{\"\":[1,1],\"cpu\":[1,6,[\"\xc3\xa9\",false,1,7],[\"x\",true,1,12]]}");
}

static void pairs_that_nobody_asks_for_are_left_out(void)
{
    CHECK_TEXT(tree_of("a: 1\nname: x\nb: {c: [cpu]}\nd:\n- e: {cpu: 2, name: y, f: z}\n"),
               "{\"\":[1,1],\"name\":[\"x\",true,2,7],"
               "\"d\":[5,1,{\"\":[5,3],\"e\":{\"\":[5,6],\"cpu\":[\"2\",true,5,12],"
               "\"name\":[\"y\",true,5,21]}}]}");
    CHECK_TEXT(tree_of("labels: {a: b, c: {d: e}, f: [g], cpu: 1}\n"),
               "{\"\":[1,1],\"labels\":{\"\":[1,9],\"a\":[\"b\",true,1,13],"
               "\"cpu\":[\"1\",true,1,40]}}");
}

static void what_readers_could_take_otherwise_is_left(void)
{
    static const char *const texts[] = {
        "cpu: b\ncpu: c\n",
        "cpu: [b,\n c]\n",
        "cpu: 'b\n c'\n",
        "cpu: \"b\n c\"\n",
        "cpu: b\n c\n",
        "cpu:\tb\n",
        "cpu: b\tc\n",
        "\tcpu: b\n",
        "cpu: !x b\n",
        "<<: {cpu: b}\n",
        "cpu: {{ b }}\n",
        "? cpu\n: b\n",
        "cpu: b: c\n",
        "cpu: 'it''s'\n",
        "cpu: >\n  folded\n",
        "cpu: |2\n    b\n",
        "cpu: |\n",
        "cpu\n",
        "cpu: b\n...\n",
        "--- cpu\n",
        "cpu: %b\n",
        "cpu: @b\n",
        "cpu: `b`\n",
        "cpu: [a: b]\n",
        "cpu: {a}\n",
        "- a\nb: c\n",
        "cpu:\n- a\n b: c\n",
        "  cpu: a\n name: b\n",
        "cpu: *b\n",
        "cpu: &b\n",
        "cpu: &b *b\n",
        "cpu: &b\n  name: *b\n",
        "cpu: &a {b: c}\nname: &d\n  e: *a\nkind: *d\n",
        "cpu: \"\\x41\"\n",
        "cpu: \"\\u0041\"\n",
        "cpu: \"\\\n",
        "cpu: \"b\" c\n",
        "cpu: [b] c\n",
        "cpu: \"b\"#c\n",
    };

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        CHECK_TEXT(is_left(texts[i]) ? texts[i] : "read", texts[i]);
}

static void bytes_that_are_not_plain_text_are_left(void)
{
    static const char *const bytes[] = {
        "\x01",
        "\x07",
        "\x1b",
        "\x7f",
        "\r",
        "\x80",
        "\xc0\xaf",
        "\xc2\x80",
        "\xc2\x85",
        "\xc3",
        "\xe2\x82",
        "\xe2\x80\xa8",
        "\xe2\x80\xa9",
        "\xed\xa0\x80",
        "\xef\xbb\xbf",
        "\xef\xbf\xbe",
        "\xef\xbf\xbf",
        "\xf0\x9f\x98",
        "\xf0\x80\x80\x80",
        "\xf4\x90\x80\x80",
        "\xf8\x88\x80\x80\x80",
        "\xff",
    };

    for (size_t i = 0; i < sizeof bytes / sizeof bytes[0]; i++) {
        char text[32];

        snprintf(text, sizeof text, "cpu: a%sb\n", bytes[i]);
        CHECK(is_left(text));
        snprintf(text, sizeof text, "cpu: a%s", bytes[i]);
        CHECK(is_left(text));
    }
    CHECK_TEXT(reading_tree(reader, quota_manifest_read, "cpu: a\0b\n", 9), "null");
    CHECK_TEXT(tree_of("cpu: \"\xc2\xa0\xe0\xa0\x80\xee\x80\x80\xf4\x8f\xbf\xbf\"\n"),
               "{\"\":[1,1],\"cpu\":[\"\xc2\xa0\xe0\xa0\x80\xee\x80\x80\xf4\x8f\xbf\xbf\","
               "false,1,6]}");
}

static void line_ends_of_windows_change_nothing(void)
{
    char windows[2 * sizeof FEATURES];
    char *at = windows;
    char *expected = strdup(tree_of(FEATURES));

    for (const char *from = FEATURES; *from != '\0'; from++) {
        if (*from == '\n')
            *at++ = '\r';
        *at++ = *from;
    }
    *at = '\0';
    CHECK_TEXT(tree_of(windows), expected);
    free(expected);
    CHECK(is_left("cpu: a\r\nname: b\r"));
    CHECK(is_left("cpu: a\rname: b\n"));
}

/* Literal scalars, by how they end. */
static void ends_of_literals_are_kept_as_asked_for(void)
{
    CHECK_TEXT(tree_of("cpu: |\n a\n\n"), "{\"\":[1,1],\"cpu\":[\"a\\n\",false,1,6]}");
    CHECK_TEXT(tree_of("cpu: |-\n a\n\n"), "{\"\":[1,1],\"cpu\":[\"a\",false,1,6]}");
    CHECK_TEXT(tree_of("cpu: |+\n a\n\n"), "{\"\":[1,1],\"cpu\":[\"a\\n\\n\",false,1,6]}");
    CHECK_TEXT(tree_of("cpu: |\n a"), "{\"\":[1,1],\"cpu\":[\"a\",false,1,6]}");
    CHECK_TEXT(tree_of("cpu: |\n\n\n a\n"), "{\"\":[1,1],\"cpu\":[\"\\n\\na\\n\",false,1,6]}");
    CHECK_TEXT(tree_of("x: |\n\n a\ncpu: 1\n"), "{\"\":[1,1],\"cpu\":[\"1\",true,4,6]}");
}

static void deep_nesting_is_left(void)
{
    char lines[80 * 80];
    char *at = lines;

    for (int depth = 0; depth < 65; depth++) {
        if (depth == 63) {
            sprintf(at, "%*scpu: 1\n", depth, "");
            CHECK(!is_left(lines));
        }
        if (depth == 64) {
            sprintf(at, "%*scpu: 1\n", depth, "");
            CHECK(is_left(lines));
        }
        at += sprintf(at, "%*sa:\n", depth, "");
    }
    CHECK(!is_left("cpu: [[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]\n"));
    CHECK(is_left("cpu: [[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]\n"));
}

static void very_deep_nesting_needs_no_stack(void)
{
    static const char *const pieces[] = {"[", "{a: ", "- ", "[{a: ", "- - - a: "};

    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
        size_t size;
        char *text = reading_repeat("cpu: ", pieces[i], 100000, "\n", &size);

        CHECK_TEXT(reading_tree(reader, quota_manifest_read, text, size), "null");
        CHECK_TEXT(reading_tree(reader, quota_manifest_read, text + 5, size - 5), "null");
        free(text);
    }
}

static void huge_scalars_are_read(void)
{
    static const char *const frames[][2] = {
        {"cpu: ", "\n"},     {"cpu: \"\\n", "\"\n"}, {"cpu: '", "'\n"},
        {"cpu: |\n ", "\n"}, {"cpu: [", "]\n"},
    };

    for (size_t i = 0; i < sizeof frames / sizeof frames[0]; i++) {
        size_t size;
        char *text = reading_repeat(frames[i][0], "some ", 400000, frames[i][1], &size);

        CHECK(strlen(reading_tree(reader, quota_manifest_read, text, size)) > 1999990);
        free(text);
    }
}

static void too_many_nodes_are_left(void)
{
    size_t size;
    char *text = reading_repeat("cpu: [", "a,", (1 << 20) - 10, "a]\n", &size);

    CHECK(strlen(reading_tree(reader, quota_manifest_read, text, size)) > 1 << 20);
    free(text);
    text = reading_repeat("cpu: [", "a,", 1 << 20, "a]\n", &size);
    CHECK_TEXT(reading_tree(reader, quota_manifest_read, text, size), "null");
    free(text);
}

/* Appends aliases to a document that has an anchor, and says whether they are read. */
static bool reads_aliases(const char *document, size_t count)
{
    size_t size;
    char *text = reading_repeat(document, "- *a\n", count, "", &size);
    bool read = strcmp(reading_tree(reader, quota_manifest_read, text, size), "null") != 0;

    free(text);
    return read;
}

/* Of a list of 100000 values, and of a text of 2 MB. */
static void aliases_do_not_multiply(void)
{
    static const char *const frames[][3] = {
        {"cpu: &a [", "x,", "x]\ncontainers:\n"},
        {"cpu: &a \"", "some thing and more ", "\"\ncontainers:\n"},
    };

    for (size_t i = 0; i < sizeof frames / sizeof frames[0]; i++) {
        size_t size;
        char *document = reading_repeat(frames[i][0], frames[i][1], 100000, frames[i][2], &size);

        CHECK(reads_aliases(document, 1));
        CHECK(!reads_aliases(document, 60));
        free(document);
    }
}

static void long_mappings_and_keys_are_left(void)
{
    char text[4096];
    char *at = text;
    size_t size;
    char *key;

    for (int i = 0; i < 129; i++)
        at += sprintf(at, "k%d: 1\n", i);
    CHECK(is_left(text));
    text[at - text - (ptrdiff_t)strlen("k128: 1\n")] = '\0';
    CHECK(!is_left(text));
    key = reading_repeat("", "k", 512, ": 1\n", &size);
    CHECK(!is_left(key));
    free(key);
    key = reading_repeat("", "k", 513, ": 1\n", &size);
    CHECK(is_left(key));
    free(key);
}

/* The sanitizers look at each of these reads, and reading_of at their answers. */
static void any_beginning_is_read_or_left(void)
{
    size_t read = 0;

    for (size_t size = 0; size < sizeof FEATURES; size++)
        read += strcmp(reading_tree(reader, quota_manifest_read, FEATURES, size), "null") != 0;
    CHECK(read > 20 && read < sizeof FEATURES);
}

static void any_change_of_bytes_is_read_or_left(void)
{
    static const char bytes[] = "\0\n\r\t #-:&*|>'\"\\[]{},a\xc3\xff";
    size_t read = 0;

    for (size_t at = 0; at < sizeof FEATURES - 1; at++)
        for (size_t i = 0; i < sizeof bytes - 1; i++) {
            char changed[sizeof FEATURES];

            memcpy(changed, FEATURES, sizeof FEATURES);
            changed[at] = bytes[i];
            read += strcmp(reading_tree(reader, quota_manifest_read, changed, sizeof changed - 1),
                           "null") != 0;
        }
    CHECK(read > 500);
}

int main(void)
{
    reader = reading_new();
    RUN(every_notation_is_read);
    RUN(columns_count_characters);
    RUN(pairs_that_nobody_asks_for_are_left_out);
    RUN(what_readers_could_take_otherwise_is_left);
    RUN(bytes_that_are_not_plain_text_are_left);
    RUN(line_ends_of_windows_change_nothing);
    RUN(ends_of_literals_are_kept_as_asked_for);
    RUN(deep_nesting_is_left);
    RUN(very_deep_nesting_needs_no_stack);
    RUN(huge_scalars_are_read);
    RUN(too_many_nodes_are_left);
    RUN(aliases_do_not_multiply);
    RUN(long_mappings_and_keys_are_left);
    RUN(any_beginning_is_read_or_left);
    RUN(any_change_of_bytes_is_read_or_left);
    quota_manifest_free(reader);
    return REPORT();
}
