#include "json.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void qa_json_init(struct qa_json *json, FILE *out)
{
    memset(json, 0, sizeof *json);
    json->out = out;
}

static bool is_continuation(unsigned char byte)
{
    return (byte & 0xC0) == 0x80;
}

/* Length of the UTF-8 sequence at the start of the text, 0 when it is malformed. A terminating NUL
 * is no continuation byte, so this never reads past it. */
static int utf8_length(const unsigned char *text)
{
    if (text[0] < 0x80)
        return 1;
    if (text[0] >= 0xC2 && text[0] <= 0xDF)
        return is_continuation(text[1]) ? 2 : 0;
    if (text[0] >= 0xE0 && text[0] <= 0xEF) {
        bool overlong = text[0] == 0xE0 && text[1] < 0xA0;
        bool surrogate = text[0] == 0xED && text[1] > 0x9F;
        return is_continuation(text[1]) && is_continuation(text[2]) && !overlong && !surrogate ? 3
                                                                                               : 0;
    }
    if (text[0] >= 0xF0 && text[0] <= 0xF4) {
        bool overlong = text[0] == 0xF0 && text[1] < 0x90;
        bool beyond = text[0] == 0xF4 && text[1] > 0x8F;
        return is_continuation(text[1]) && is_continuation(text[2]) && is_continuation(text[3]) &&
                       !overlong && !beyond
                   ? 4
                   : 0;
    }
    return 0;
}

static void write_quoted(FILE *out, const char *text)
{
    const unsigned char *at = (const unsigned char *)text;

    fputc('"', out);
    while (*at != '\0') {
        int length = utf8_length(at);

        if (length == 0)
            fputs("\\ufffd", out);
        else if (*at == '"' || *at == '\\')
            fprintf(out, "\\%c", *at);
        else if (*at < 0x20 || *at == 0x7F)
            fprintf(out, "\\u%04x", *at);
        else
            fwrite(at, 1, (size_t)length, out);
        at += length > 0 ? length : 1;
    }
    fputc('"', out);
}

/* What comes before every value: a comma if needed, and the name if there is one. */
static void begin_value(struct qa_json *json, const char *key)
{
    if (json->filled[json->depth])
        fputs(", ", json->out);
    json->filled[json->depth] = true;
    if (key != NULL) {
        write_quoted(json->out, key);
        fputs(": ", json->out);
    }
}

static void open_level(struct qa_json *json, const char *key, int bracket)
{
    if (json->depth == QA_JSON_MAX_DEPTH)
        abort();
    begin_value(json, key);
    fputc(bracket, json->out);
    json->depth++;
    json->filled[json->depth] = false;
}

static void close_level(struct qa_json *json, int bracket)
{
    if (json->depth == 0)
        abort();
    json->depth--;
    fputc(bracket, json->out);
}

void qa_json_begin_object(struct qa_json *json, const char *key)
{
    open_level(json, key, '{');
}

void qa_json_end_object(struct qa_json *json)
{
    close_level(json, '}');
}

void qa_json_begin_array(struct qa_json *json, const char *key)
{
    open_level(json, key, '[');
}

void qa_json_end_array(struct qa_json *json)
{
    close_level(json, ']');
}

void qa_json_string(struct qa_json *json, const char *key, const char *value)
{
    begin_value(json, key);
    write_quoted(json->out, value);
}

void qa_json_u64(struct qa_json *json, const char *key, uint64_t value)
{
    begin_value(json, key);
    fprintf(json->out, "%" PRIu64, value);
}

void qa_json_real(struct qa_json *json, const char *key, double value, int decimals)
{
    if (!isfinite(value)) {
        qa_json_null(json, key);
        return;
    }
    begin_value(json, key);
    fprintf(json->out, "%.*f", decimals, value);
}

void qa_json_bool(struct qa_json *json, const char *key, bool value)
{
    begin_value(json, key);
    fputs(value ? "true" : "false", json->out);
}

void qa_json_null(struct qa_json *json, const char *key)
{
    begin_value(json, key);
    fputs("null", json->out);
}
