#include "number.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* strtoll and strtod skip blanks and take signs, hexadecimal and names of numbers. None of these is
 * meant when someone types a duration, so the characters are looked at first. */
static bool made_of(const char *text, const char *allowed)
{
    return is_digit(text[0]) && text[strspn(text, allowed)] == '\0';
}

bool qa_number_u64(const char *text, uint64_t *value)
{
    char *end;
    long long number;

    if (!made_of(text, "0123456789"))
        return false;
    errno = 0;
    number = strtoll(text, &end, 10);
    if (errno != 0 || *end != '\0')
        return false;
    *value = (uint64_t)number;
    return true;
}

bool qa_number_real(const char *text, double *value)
{
    char *end;
    double number;

    if (!made_of(text, "0123456789.eE+-"))
        return false;
    errno = 0;
    number = strtod(text, &end);
    if (errno != 0 || *end != '\0' || !isfinite(number))
        return false;
    *value = number;
    return true;
}
