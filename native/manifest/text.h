/* Bytes that every reader takes for the same text. */
#ifndef QM_TEXT_H
#define QM_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/**
 * Whether bytes are UTF-8 without what readers disagree about: control characters other than tabs
 * and line ends (LF or CR LF), byte order marks, the line ends of Unicode, surrogates.
 *
 * @param data   the file
 * @param start  offset of the first byte
 * @param end    offset behind the last byte
 * @return true when they are
 */
bool qm_is_plain_text(const char *data, size_t start, size_t end);

/**
 * What an escape stands for, in YAML and JSON alike.
 *
 * @param letter  what follows the backslash
 * @return the character, or 0 for an escape that is left to other readers
 */
static inline char qm_unescaped(char letter)
{
    switch (letter) {
    case 'n':
        return '\n';
    case 't':
        return '\t';
    case '"':
    case '\\':
    case '/':
        return letter;
    default:
        return 0;
    }
}

#endif
