#include "error.h"

#include <stdarg.h>
#include <stdio.h>

int qa_error_set(struct qa_error *error, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    return -1;
}
