/* One error text, passed back to the caller instead of being printed. */
#ifndef QA_ERROR_H
#define QA_ERROR_H

enum { QA_ERROR_SIZE = 512 };

struct qa_error {
    char text[QA_ERROR_SIZE]; /* empty until an error is set; cut, never overrun, when too long */
};

/**
 * Set the text of an error.
 *
 * @param error   where to put it; the old text is lost
 * @param format  as for printf
 * @return always -1, so that a function can end with `return qa_error_set(...)`
 */
int qa_error_set(struct qa_error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
