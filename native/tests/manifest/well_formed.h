/* A strict look at the reader's answers: JSON in UTF-8, as Python decodes it. */
#ifndef QA_WELL_FORMED_H
#define QA_WELL_FORMED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* What is left to look at. */
struct well_formed {
    const char *at;
    const char *end;
};

static inline bool well_formed_take(struct well_formed *text, char byte)
{
    if (text->at == text->end || *text->at != byte)
        return false;
    text->at++;
    return true;
}

/* One character of a string, escaped or not. */
static inline bool well_formed_character(struct well_formed *text)
{
    unsigned char first = (unsigned char)*text->at;
    size_t size = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    uint32_t code = first & (0xffu >> (size + 1));

    if (first == '\\') {
        text->at++;
        if (text->at == text->end || strchr("\"\\nt", *text->at) == NULL)
            return false;
        text->at++;
        return true;
    }
    if (first < 0x20 || (first >= 0x80 && first < 0xc2) || first > 0xf4)
        return false;
    if ((size_t)(text->end - text->at) < size)
        return false;
    for (size_t i = 1; i < size; i++) {
        if (((unsigned char)text->at[i] & 0xc0) != 0x80)
            return false;
        code = code << 6 | ((unsigned char)text->at[i] & 0x3fu);
    }
    text->at += size;
    return size == 1 ||
           (code >= least[size] && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff));
}

static inline bool well_formed_string(struct well_formed *text)
{
    if (!well_formed_take(text, '"'))
        return false;
    while (text->at < text->end && *text->at != '"')
        if (!well_formed_character(text))
            return false;
    return well_formed_take(text, '"');
}

static inline bool well_formed_word(struct well_formed *text, const char *word)
{
    size_t size = strlen(word);

    if ((size_t)(text->end - text->at) < size || memcmp(text->at, word, size) != 0)
        return false;
    text->at += size;
    return true;
}

static inline bool well_formed_number(struct well_formed *text)
{
    const char *start = text->at;

    while (text->at < text->end && *text->at >= '0' && *text->at <= '9')
        text->at++;
    return text->at > start && (*start != '0' || text->at == start + 1);
}

/* Recursion ends because the reader refuses what is deep, which is what the level checks. */
static inline bool well_formed_value(struct well_formed *text, int level)
{
    bool mapping;
    char close;

    if (text->at == text->end || level > 300)
        return false;
    if (*text->at == '"')
        return well_formed_string(text);
    if (*text->at != '[' && *text->at != '{')
        return well_formed_word(text, "null") || well_formed_word(text, "true") ||
               well_formed_word(text, "false") || well_formed_number(text);
    mapping = *text->at++ == '{';
    close = mapping ? '}' : ']';
    if (well_formed_take(text, close))
        return true;
    do
        if (mapping && (!well_formed_string(text) || !well_formed_take(text, ':')))
            return false;
        else if (!well_formed_value(text, level + 1))
            return false;
    while (well_formed_take(text, ','));
    return well_formed_take(text, close);
}

/**
 * Whether an answer is one JSON list and nothing else.
 *
 * @param text  its first byte
 * @param size  its bytes
 * @return true when it is
 */
static inline bool is_well_formed(const char *text, size_t size)
{
    struct well_formed rest = {text, text + size};

    return size > 0 && *text == '[' && well_formed_value(&rest, 0) && rest.at == rest.end;
}

#endif
