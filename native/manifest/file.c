/* A whole file: cut into documents, and those read that can hold what is looked for. */
#define _GNU_SOURCE /* memmem */
#include <string.h>

#include "json.h"
#include "manifest.h"
#include "reader.h"
#include "text.h"
#include "yaml.h"

enum { MAX_KEY_REST = 8 };

struct text {
    const char *data;
    size_t end;
};

static const char *find(const struct text *text, size_t at, const char *word, size_t size)
{
    return at < text->end ? memmem(text->data + at, text->end - at, word, size) : NULL;
}

/* ---- documents */

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r';
}

static bool is_mark(const struct text *text, size_t at)
{
    return text->end - at >= 3 && memcmp(text->data + at, "---", 3) == 0 &&
           (text->end - at == 3 || is_blank(text->data[at + 3]) || text->data[at + 3] == '\n');
}

/* Returns where the next document begins, or the end. Content beside a mark belongs to it. */
static size_t next_mark(const struct text *text, size_t at)
{
    const char *found = find(text, at, "\n---", 4);

    while (found != NULL && !is_mark(text, (size_t)(found + 1 - text->data)))
        found = find(text, (size_t)(found + 1 - text->data), "\n---", 4);
    return found != NULL ? (size_t)(found + 1 - text->data) : text->end;
}

/* Returns where the line of a mark without content ends, or 0 where there is none. */
static size_t blank_mark_end(const struct text *text, size_t at)
{
    if (!is_mark(text, at))
        return 0;
    at += 3;
    while (at < text->end && (text->data[at] == ' ' || text->data[at] == '\t'))
        at++;
    const char *line_end = at < text->end ? memchr(text->data + at, '\n', text->end - at) : NULL;
    size_t after = line_end != NULL ? (size_t)(line_end + 1 - text->data) : text->end;
    bool comment = at < text->end && text->data[at] == '#';
    bool nothing = at == text->end || text->data[at] == '\n' ||
                   (line_end != NULL && text->data[at] == '\r' && text->data + at + 1 == line_end);
    return comment || nothing ? after : 0;
}

static unsigned lines_between(const char *data, size_t start, size_t end)
{
    unsigned lines = 0;

    for (size_t at = start; at < end; at++)
        lines += data[at] == '\n';
    return lines;
}

/* ---- what a document can hold */

static bool is_letter(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
}

static const char *margin_kind(const struct text *text, size_t start)
{
    static const char key[] = "kind:";

    if (text->end - start >= 5 && memcmp(text->data + start, key, 5) == 0)
        return text->data + start + 5;
    const char *found = find(text, start, "\nkind:", 6);
    return found != NULL ? found + 6 : NULL;
}

/* Returns the value of the only "kind" at the margin of a document; nothing where it is unclear. */
static struct qm_span kind_of(const struct text *text, size_t start)
{
    struct qm_span none = {0, 0};
    const char *value = margin_kind(text, start);

    if (value == NULL || find(text, (size_t)(value - text->data), "\nkind:", 6) != NULL)
        return none;
    size_t at = (size_t)(value - text->data);
    while (at < text->end && text->data[at] == ' ')
        at++;
    size_t first = at;
    while (at < text->end && is_letter(text->data[at]))
        at++;
    size_t after = at;
    while (after < text->end && is_blank(text->data[after]))
        after++;
    bool ends = after == text->end || text->data[after] == '#' || text->data[after] == '\n';
    return ends ? qm_span_of(first, at) : none;
}

/* Whether there is a key that begins with a word, ends soon after it, and is quoted or not. */
static bool has_key_with(const struct text *text, size_t at, const struct qm_word *word)
{
    for (const char *found; (found = find(text, at, word->text, word->size)) != NULL;) {
        at = (size_t)(found - text->data) + word->size;
        size_t after = at;
        while (after < text->end && after < at + MAX_KEY_REST &&
               (is_letter(text->data[after]) || is_blank(text->data[after]) ||
                text->data[after] == '"' || text->data[after] == '\''))
            after++;
        if (after < text->end && text->data[after] == ':')
            return true;
    }
    return false;
}

static bool has_word(const struct text *text, size_t start, const struct qm_word *word)
{
    if (word->use == QUOTA_MANIFEST_READ_KEY)
        return has_key_with(text, start, word);
    return find(text, start, word->text, word->size) != NULL;
}

/* Returns what to do with a document. */
static int use_of(const struct quota_manifest *reader, const struct text *text, size_t start)
{
    struct qm_span kind = kind_of(text, start);
    int use = QUOTA_MANIFEST_SKIP;

    for (size_t i = 0; i < reader->word_count; i++) {
        const struct qm_word *word = &reader->words[i];

        if (word->use == QUOTA_MANIFEST_KIND_SKIP || word->use == QUOTA_MANIFEST_KIND_READ) {
            if (kind.size > 0 && word->size == kind.size &&
                memcmp(word->text, text->data + kind.start, kind.size) == 0)
                return word->use == QUOTA_MANIFEST_KIND_READ ? QUOTA_MANIFEST_READ
                                                             : QUOTA_MANIFEST_SKIP;
        } else if (use < word->use && has_word(text, start, word)) {
            use = word->use == QUOTA_MANIFEST_READ_KEY ? QUOTA_MANIFEST_READ : word->use;
            if (use == QUOTA_MANIFEST_LEAVE)
                return use;
        }
    }
    return use;
}

/* ---- the answer */

static bool put_entry(struct quota_manifest *reader, const size_t *numbers)
{
    struct qm_buffer *json = &reader->json;

    if (!qm_buffer_add(json, json->size == 1 ? "[" : ",[", json->size == 1 ? 1 : 2))
        return false;
    for (size_t i = 0; i < 3; i++) {
        if (!qm_buffer_reserve(json, QM_MAX_DIGITS + 1))
            return false;
        qm_buffer_put_number(json, (uint32_t)numbers[i]);
        qm_buffer_put(json, ',');
    }
    return true;
}

/* Adds a document to the answer: with its tree, or with null where the caller has to read it. */
static bool put_document(struct quota_manifest *reader, const struct text *text, size_t start,
                         unsigned line, int use)
{
    size_t before = reader->json.size;
    const size_t numbers[] = {start, text->end, line};

    if (!put_entry(reader, numbers))
        return false;
    size_t value = reader->json.size;
    if (use == QUOTA_MANIFEST_READ && qm_yaml_read(reader, text->data, start, text->end, line)) {
        if (reader->node_count == 0) { /* comments and blanks */
            reader->json.size = before;
            return true;
        }
        return qm_buffer_add(&reader->json, "]", 1);
    }
    reader->json.size = value;
    return qm_buffer_add(&reader->json, "null]", 5);
}

long quota_manifest_read_json(struct quota_manifest *reader, const char *data, size_t start,
                              size_t end, unsigned line)
{
    uint32_t at_line = line;
    uint32_t column = 0;
    struct text file = {.data = data, .end = end};

    reader->json.size = 0;
    if (end > INT32_MAX || use_of(reader, &file, start) != QUOTA_MANIFEST_READ ||
        !qm_is_plain_text(data, start, end) || !qm_buffer_add(&reader->json, "[", 1))
        return -1;
    while (start < end) {
        size_t numbers[] = {start, end, at_line};

        if (!put_entry(reader, numbers) ||
            !qm_json_read(reader, data, &start, end, &at_line, &column) ||
            !qm_buffer_add(&reader->json, "]", 1))
            return -1;
    }
    return qm_buffer_add(&reader->json, "]", 1) ? (long)reader->json.size : -1;
}

long quota_manifest_read(struct quota_manifest *reader, const char *data, size_t start, size_t end,
                         unsigned line)
{
    struct text file = {.data = data, .end = end};

    reader->json.size = 0;
    /* Places, and those in the pool, which is never larger, are kept in 32 bits. */
    if (end > INT32_MAX || !qm_buffer_add(&reader->json, "[", 1))
        return -1;
    for (size_t after; (after = blank_mark_end(&file, start)) != 0; start = after, line++)
        ;
    while (start < end) {
        struct text document = {.data = data, .end = next_mark(&file, start)};
        int use = use_of(reader, &document, start);

        if (use != QUOTA_MANIFEST_SKIP && !put_document(reader, &document, start, line, use))
            return -1;
        line += lines_between(data, start, document.end);
        start = document.end;
        for (size_t after; (after = blank_mark_end(&file, start)) != 0; start = after, line++)
            ;
    }
    return qm_buffer_add(&reader->json, "]", 1) ? (long)reader->json.size : -1;
}
