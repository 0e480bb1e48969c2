/* Feeds the reader of manifests with whatever comes, by the calls that Python makes, and looks at
 * the answers: what is no JSON in UTF-8 would end lint. */
#include "manifest/reading.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void look_at_answer(const struct quota_manifest *reader, long size)
{
    if (size >= 0 && !is_well_formed(quota_manifest_text(reader), (size_t)size)) {
        fprintf(stderr, "not well formed: %.*s\n", (int)size, quota_manifest_text(reader));
        abort();
    }
}

/* Where the second line begins, or 0. */
static size_t second_line(const char *data, size_t size)
{
    const char *found = size > 0 ? memchr(data, '\n', size) : NULL;

    return found != NULL ? (size_t)(found + 1 - data) : 0;
}

static void read_all_ways(struct quota_manifest *reader, const char *data, size_t size)
{
    look_at_answer(reader, quota_manifest_read(reader, data, 0, size, 1));
    look_at_answer(reader, quota_manifest_read_json(reader, data, 0, size, 1));
    look_at_answer(reader, quota_manifest_read(reader, data, second_line(data, size), size, 2));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static struct quota_manifest *every, *some;

    if (every == NULL) {
        every = reading_new();
        some = reading_new_with_words();
    }
    read_all_ways(every, (const char *)bytes, size);
    read_all_ways(some, (const char *)bytes, size);
    return 0;
}
