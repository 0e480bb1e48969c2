/* Reads numbers strictly: the whole text must be one decimal number. */
#ifndef QA_NUMBER_H
#define QA_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

/**
 * Read a whole number that is not negative. Blanks, signs, hexadecimal and trailing text are
 * refused.
 *
 * @param text   what to read
 * @param value  set when the answer is true
 * @return true, or false when the text is no such number or exceeds INT64_MAX
 */
bool qa_number_u64(const char *text, uint64_t *value);

/**
 * Read a decimal number that is not negative, such as 12, 0.5 or 1e3. Blanks, signs in front,
 * hexadecimal, "inf", "nan" and trailing text are refused.
 *
 * @param text   what to read
 * @param value  set when the answer is true
 * @return true, or false when the text is no such number or does not fit
 */
bool qa_number_real(const char *text, double *value);

#endif
