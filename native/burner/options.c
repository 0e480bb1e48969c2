#include "options.h"

#include <inttypes.h>
#include <string.h>

#include "clock.h"
#include "number.h"

static void *field_of(const struct qa_option *option, void *target)
{
    return (char *)target + option->offset;
}

static double ns_per_unit(const struct qa_option *option)
{
    return strcmp(option->unit, "s") == 0 ? (double)QA_NS_PER_SEC : (double)QA_NS_PER_MS;
}

static int refuse_range(const struct qa_option *option, const char *text, struct qa_error *error)
{
    return qa_error_set(error, "--%s %s is out of range: %.15g to %.15g%s%s", option->name, text,
                        option->min, option->max, option->unit != NULL ? " " : "",
                        option->unit != NULL ? option->unit : "");
}

static int set_count(const struct qa_option *option, const char *text, void *field,
                     struct qa_error *error)
{
    uint64_t value;

    if (!qa_number_u64(text, &value))
        return qa_error_set(error, "--%s needs a whole number, not '%s'", option->name, text);
    if (value < (uint64_t)option->min || value > (uint64_t)option->max)
        return refuse_range(option, text, error);
    *(uint64_t *)field = value;
    return 0;
}

static int set_duration(const struct qa_option *option, const char *text, void *field,
                        struct qa_error *error)
{
    double value;

    if (!qa_number_real(text, &value))
        return qa_error_set(error, "--%s needs a number (unit: %s), not '%s'", option->name,
                            option->unit, text);
    if (value < option->min || value > option->max)
        return refuse_range(option, text, error);
    *(uint64_t *)field = (uint64_t)(value * ns_per_unit(option) + 0.5);
    return 0;
}

static int set_text(const struct qa_option *option, const char *text, void *field,
                    struct qa_error *error)
{
    if (*text == '\0')
        return qa_error_set(error, "--%s needs a %s, not an empty text", option->name,
                            option->argument);
    *(const char **)field = text;
    return 0;
}

static int add_text(const struct qa_option *option, const char *text, void *field,
                    struct qa_error *error)
{
    struct qa_text_list *list = field;

    if (list->count == QA_TEXT_LIST_MAX)
        return qa_error_set(error, "--%s given more than %d times", option->name, QA_TEXT_LIST_MAX);
    if (set_text(option, text, &list->items[list->count], error) != 0)
        return -1;
    list->count++;
    return 0;
}

static int set_value(const struct qa_option *option, const char *text, void *target,
                     struct qa_error *error)
{
    void *field = field_of(option, target);

    switch (option->kind) {
    case QA_OPTION_FLAG:
        *(bool *)field = true;
        return 0;
    case QA_OPTION_COUNT:
        return set_count(option, text, field, error);
    case QA_OPTION_DURATION:
        return set_duration(option, text, field, error);
    case QA_OPTION_TEXT:
        return set_text(option, text, field, error);
    case QA_OPTION_TEXT_LIST:
        return add_text(option, text, field, error);
    }
    return qa_error_set(error, "--%s has no kind", option->name);
}

/* The option called like the first `length` characters of name, or NULL. */
static const struct qa_option *find(const struct qa_option *table, size_t size, const char *name,
                                    size_t length)
{
    for (size_t i = 0; i < size; i++)
        if (strlen(table[i].name) == length && strncmp(table[i].name, name, length) == 0)
            return &table[i];
    return NULL;
}

/* Reads one option at argv[0]. Returns how many arguments it took, or -1. */
static int parse_one(const struct qa_option *option, size_t length, int argc, char *const *argv,
                     void *target, struct qa_error *error)
{
    const char *after = argv[0] + 2 + length;
    bool has_value = *after == '=';

    if (option->kind == QA_OPTION_FLAG) {
        if (has_value)
            return qa_error_set(error, "--%s takes no value", option->name);
        return set_value(option, NULL, target, error) == 0 ? 1 : -1;
    }
    if (has_value)
        return set_value(option, after + 1, target, error) == 0 ? 1 : -1;
    if (argc < 2)
        return qa_error_set(error, "--%s needs a value: %s", option->name, option->argument);
    return set_value(option, argv[1], target, error) == 0 ? 2 : -1;
}

int qa_options_parse(const struct qa_option *table, size_t size, unsigned group, int argc,
                     char *const *argv, void *target, uint64_t *given, struct qa_error *error)
{
    *given = 0;
    for (int at = 0; at < argc;) {
        const char *text = argv[at];
        size_t length = strncmp(text, "--", 2) == 0 ? strcspn(text + 2, "=") : 0;
        const struct qa_option *option;
        int taken;

        if (length == 0)
            return qa_error_set(error, "unexpected argument '%s'", text);
        option = find(table, size, text + 2, length);
        if (option == NULL)
            return qa_error_set(error, "unknown option --%.*s", (int)length, text + 2);
        if ((option->groups & group) == 0)
            return qa_error_set(error, "--%s does not apply here", option->name);
        taken = parse_one(option, length, argc - at, argv + at, target, error);
        if (taken < 0)
            return -1;
        *given |= UINT64_C(1) << (option - table);
        at += taken;
    }
    return 0;
}

static void print_range(FILE *out, const struct qa_option *option, const void *defaults)
{
    const void *field = (const char *)defaults + option->offset;

    if (option->kind == QA_OPTION_COUNT)
        fprintf(out, " (%.15g to %.15g", option->min, option->max);
    else if (option->kind == QA_OPTION_DURATION)
        fprintf(out, " (%.15g to %.15g %s", option->min, option->max, option->unit);
    else
        return;
    if (option->kind == QA_OPTION_COUNT && *(const uint64_t *)field != 0)
        fprintf(out, ", default %" PRIu64, *(const uint64_t *)field);
    if (option->kind == QA_OPTION_DURATION)
        fprintf(out, ", default %.15g", (double)*(const uint64_t *)field / ns_per_unit(option));
    fputc(')', out);
}

void qa_options_help(FILE *out, const struct qa_option *table, size_t size, unsigned groups,
                     const void *defaults)
{
    for (size_t i = 0; i < size; i++) {
        const struct qa_option *option = &table[i];

        if (option->groups != groups)
            continue;
        fprintf(out, "  --%s%s%s\n      %s", option->name, option->argument != NULL ? " " : "",
                option->argument != NULL ? option->argument : "", option->help);
        print_range(out, option, defaults);
        fputc('\n', out);
    }
}
