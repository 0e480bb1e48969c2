/* Hands files to a fuzz target, one after the other, where there is no fuzzer that does. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static int fail(const char *path)
{
    perror(path);
    return 1;
}

/* The bytes are copied to where nothing stands behind them, as the fuzzer does. */
static int replay(const char *path)
{
    FILE *file = fopen(path, "rb");
    long size;
    uint8_t *bytes;
    size_t got;

    if (file == NULL || fseek(file, 0, SEEK_END) != 0 || (size = ftell(file)) < 0)
        return fail(path);
    rewind(file);
    bytes = malloc(size > 0 ? (size_t)size : 1);
    if (bytes == NULL)
        return fail(path);
    got = fread(bytes, 1, (size_t)size, file);
    fclose(file);
    if (got != (size_t)size)
        return fail(path);
    LLVMFuzzerTestOneInput(bytes, got);
    free(bytes);
    return 0;
}

int main(int count, char **paths)
{
    if (count < 2) {
        fprintf(stderr, "usage: %s FILE...\n", paths[0]);
        return 2;
    }
    for (int i = 1; i < count; i++)
        if (replay(paths[i]) != 0)
            return 1;
    printf("%d files\n", count - 1);
    return 0;
}
