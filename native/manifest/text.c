#include "text.h"

#include <stdint.h>

/* Returns the length of a character outside of ASCII that YAML allows, or 0. */
static size_t wide_character(const unsigned char *bytes, size_t left)
{
    unsigned char first = bytes[0];
    size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;

    if (first < 0xc2 || first > 0xf4 || left < size)
        return 0;
    uint32_t code = first & (0xffU >> (size + 1));
    for (size_t i = 1; i < size; i++) {
        if ((bytes[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (bytes[i] & 0x3fU);
    }
    static const uint32_t least[] = {0, 0, 0xa0, 0x800, 0x10000};
    if (code < least[size] || code > 0x10ffff)
        return 0;
    if ((code >= 0xd800 && code <= 0xdfff) || code == 0xfeff || code == 0xfffe || code == 0xffff)
        return 0;
    /* Line and paragraph separators end lines in YAML 1.1. */
    return code == 0x2028 || code == 0x2029 ? 0 : size;
}

/* Whether the bytes are printable ASCII and line feeds: a loop that compilers make fast. */
static bool is_ascii(const char *data, size_t start, size_t end)
{
    unsigned bad = 0;

    for (size_t at = start; at < end; at++) {
        unsigned char byte = (unsigned char)data[at];

        bad |= (unsigned)((unsigned char)(byte - 0x20) > 0x7e - 0x20) & (unsigned)(byte != '\n');
    }
    return !bad;
}

static bool is_text(const char *data, size_t start, size_t end)
{
    for (size_t at = start; at < end; at++) {
        unsigned char byte = (unsigned char)data[at];

        if ((byte >= 0x20 && byte < 0x7f) || byte == '\n' || byte == '\t')
            continue;
        if (byte == '\r' && at + 1 < end && data[at + 1] == '\n')
            continue;
        size_t size = byte >= 0x80 ? wide_character((const unsigned char *)data + at, end - at) : 0;
        if (size == 0)
            return false;
        at += size - 1;
    }
    return true;
}

bool qm_is_plain_text(const char *data, size_t start, size_t end)
{
    return is_ascii(data, start, end) || is_text(data, start, end);
}
