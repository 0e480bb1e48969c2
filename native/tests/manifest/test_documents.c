/* A whole file: how it is cut, and which of its documents are read. */
#include "reading.h"

static const char *read_with(struct quota_manifest *reader, const char *text)
{
    return reading_of(reader, quota_manifest_read, text, strlen(text));
}

static void documents_are_cut_at_marks(void)
{
    struct quota_manifest *reader = reading_new();

    CHECK_TEXT(read_with(reader, ""), "[]");
    CHECK_TEXT(read_with(reader, "---"), "[]");
    CHECK_TEXT(read_with(reader, "---\n--- # c\n---\r\n# c\n\n---\n"), "[]");
    CHECK_TEXT(read_with(reader, "cpu: 1\n---\ncpu: 2\n"),
               "[[0,7,1,{\"\":[1,1],\"cpu\":[\"1\",true,1,6]}],"
               "[11,18,3,{\"\":[3,1],\"cpu\":[\"2\",true,3,6]}]]");
    CHECK_TEXT(read_with(reader, "--- # c\n# d\n---\ncpu: 1"),
               "[[16,22,4,{\"\":[4,1],\"cpu\":[\"1\",true,4,6]}]]");
    CHECK_TEXT(read_with(reader, "cpu: |\n a\n ---\n"),
               "[[0,15,1,{\"\":[1,1],\"cpu\":[\"a\\n---\\n\",false,1,6]}]]");
    CHECK_TEXT(read_with(reader, "----: 1\n---x: 2\n"), "[[0,16,1,null]]");
    CHECK_TEXT(read_with(reader, "cpu: 1\n--- 2\n"),
               "[[0,7,1,{\"\":[1,1],\"cpu\":[\"1\",true,1,6]}],[7,13,2,null]]");
    quota_manifest_free(reader);
}

static void parts_of_a_file_are_read_in_place(void)
{
    static const char data[] = "cpu: 0\n---\ncpu: 1\n---\ncpu: 2\n";
    struct quota_manifest *reader = reading_new();
    long size = quota_manifest_read(reader, data, 7, 22, 2);

    CHECK_U64((uint64_t)size, strlen("[[11,18,3,{\"\":[3,1],\"cpu\":[\"1\",true,3,6]}]]"));
    CHECK(memcmp(quota_manifest_text(reader), "[[11,18,3,{\"\":[3,1],\"cpu\":[\"1\",true,3,6]}]]",
                 (size_t)size) == 0);
    size = quota_manifest_read(reader, data, 7, 7, 2);
    CHECK_U64((uint64_t)size, 2);
    quota_manifest_free(reader);
}

/* What becomes of a document by its words: "read", "left" or "passed over". */
static const char *use_of(struct quota_manifest *reader, const char *text)
{
    const char *tree = reading_tree(reader, quota_manifest_read, text, strlen(text));

    return strcmp(tree, "none") == 0 ? "passed over" : strcmp(tree, "null") == 0 ? "left" : "read";
}

static void words_say_what_becomes_of_a_document(void)
{
    struct quota_manifest *reader = reading_new_with_words();

    CHECK_TEXT(use_of(reader, "a: b\n"), "passed over");
    CHECK_TEXT(use_of(reader, "a: b # {{ x }}\n"), "left");
    CHECK_TEXT(use_of(reader, "containers: '{{ x }}'\n"), "read");
    CHECK_TEXT(use_of(reader, "containers: []\nservices: []\n"), "left");
    CHECK_TEXT(use_of(reader, "a: cpu\n"), "passed over");
    CHECK_TEXT(use_of(reader, "cpus: 1\n"), "read");
    CHECK_TEXT(use_of(reader, "'cpu' : 1\n"), "left");
    CHECK_TEXT(use_of(reader, "cpu is busy when: 1\n"), "passed over");
    quota_manifest_free(reader);
}

static void a_known_kind_counts_before_words(void)
{
    struct quota_manifest *reader = reading_new_with_words();

    CHECK_TEXT(use_of(reader, "kind: ConfigMap\ncontainers: []\n"), "passed over");
    CHECK_TEXT(use_of(reader, "kind: Pod\nservices: []\n"), "read");
    CHECK_TEXT(use_of(reader, "a: b\nkind: Pod # c\n"), "read");
    CHECK_TEXT(use_of(reader, "kind: Pod"), "read");
    CHECK_TEXT(use_of(reader, "kind: Pods\n"), "passed over");
    CHECK_TEXT(use_of(reader, "kind: ConfigMap x\ncontainers: []\n"), "read");
    CHECK_TEXT(use_of(reader, "kind: ConfigMap\nkind: Pod\ncontainers: []\n"), "left");
    CHECK_TEXT(use_of(reader, "a:\n  kind: ConfigMap\ncontainers: []\n"), "read");
    quota_manifest_free(reader);
}

static void words_decide_about_json_as_a_whole(void)
{
    static const char read[] = "{\"cpu\": 1} {}";
    static const char passed[] = "{\"a\": 1}";
    static const char left[] = "{\"cpu\": 1} {\"services\": 1}";
    struct quota_manifest *reader = reading_new_with_words();

    CHECK(quota_manifest_read_json(reader, read, 0, strlen(read), 1) > 0);
    CHECK(quota_manifest_read_json(reader, passed, 0, strlen(passed), 1) == -1);
    CHECK(quota_manifest_read_json(reader, left, 0, strlen(left), 1) == -1);
    quota_manifest_free(reader);
}

static void a_reader_can_be_used_again(void)
{
    struct quota_manifest *reader = reading_new();
    char *first = strdup(read_with(reader, "cpu: \"a\\n\"\n---\n- name: |\n   b\n"));

    CHECK_TEXT(read_with(reader, "cpu: [\n"), "[[0,7,1,null]]");
    CHECK_TEXT(read_with(reader, "cpu: \"a\\n\"\n---\n- name: |\n   b\n"), first);
    free(first);
    quota_manifest_free(reader);
    quota_manifest_free(NULL);
}

/* Its buffers are empty: there is nothing to add nothing to. */
static void a_new_reader_reads_any_text_first(void)
{
    static const char *const texts[] = {"cpu: |\n\n a\n", "cpu: \"\\n\"\n", "cpu: ''\n", "cpu:\n",
                                        "x: |\n\n a\n",   "- \n",           "{}",        "[]"};

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct quota_manifest *reader = reading_new();

        read_with(reader, texts[i]);
        reading_of(reader, quota_manifest_read_json, texts[i], strlen(texts[i]));
        quota_manifest_free(reader);
    }
}

static void keys_and_words_have_limits(void)
{
    static const char longest[] = "123456789012345678901234567890123456789012345678901234567890123";
    struct quota_manifest *reader = quota_manifest_new();
    char text[sizeof longest + 8];

    if (reader == NULL)
        abort();
    CHECK_U64(strlen(longest), 63);
    snprintf(text, sizeof text, "%s4", longest);
    CHECK(quota_manifest_key(reader, text, QUOTA_MANIFEST_WEAK) == -1);
    CHECK(quota_manifest_word(reader, text, QUOTA_MANIFEST_READ) == -1);
    for (int i = 0; i < 128; i++) {
        snprintf(text, sizeof text, "%d", i);
        CHECK(quota_manifest_key(reader, i == 0 ? longest : text, QUOTA_MANIFEST_WEAK) == 0);
        CHECK((quota_manifest_word(reader, text, QUOTA_MANIFEST_READ) == 0) == (i < 64));
    }
    CHECK(quota_manifest_key(reader, "x", QUOTA_MANIFEST_WEAK) == -1);
    snprintf(text, sizeof text, "%s: 1", longest);
    CHECK(strstr(read_with(reader, text), longest) != NULL);
    CHECK_U64((uint64_t)quota_manifest_version(), QUOTA_MANIFEST_VERSION);
    quota_manifest_free(reader);
}

static void too_large_a_file_is_refused(void)
{
    struct quota_manifest *reader = reading_new();

    CHECK(quota_manifest_read(reader, "", 0, (size_t)INT32_MAX + 1, 1) == -1);
    CHECK(quota_manifest_read_json(reader, "", 0, (size_t)INT32_MAX + 1, 1) == -1);
    quota_manifest_free(reader);
}

int main(void)
{
    RUN(documents_are_cut_at_marks);
    RUN(parts_of_a_file_are_read_in_place);
    RUN(words_say_what_becomes_of_a_document);
    RUN(a_known_kind_counts_before_words);
    RUN(words_decide_about_json_as_a_whole);
    RUN(a_reader_can_be_used_again);
    RUN(a_new_reader_reads_any_text_first);
    RUN(keys_and_words_have_limits);
    RUN(too_large_a_file_is_refused);
    return REPORT();
}
