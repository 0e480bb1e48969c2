#include "cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

static bool is_process_list(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;

    return strcmp(name, "cgroup.procs") == 0 || strcmp(name, "tasks") == 0;
}

/* What the kernel means by the error codes that are not self-explanatory here. */
static const char *hint(int code)
{
    switch (code) {
    case EBUSY:
        return " (its controllers are enabled for children, so it cannot hold processes itself)";
    case EOPNOTSUPP:
        return " (the cgroup is threaded or its parent is in an invalid state)";
    case ENOSPC:
        return " (a cpuset without CPUs or memory nodes)";
    case ENODEV:
        return " (the cgroup was removed)";
    default:
        return "";
    }
}

int qa_cgroup_join(const char *path, struct qa_error *error)
{
    int file, code;
    ssize_t written;

    if (!is_process_list(path))
        return qa_error_set(error, "cannot join '%s': not a cgroup.procs or tasks file", path);
    file = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (file < 0)
        return qa_error_set(error, "cannot join '%s': %s", path, strerror(errno));
    /* 0 is "the writer", and stays right inside a PID namespace. */
    written = write(file, "0", 1);
    code = errno;
    close(file);
    if (written != 1)
        return qa_error_set(error, "cannot join '%s': %s%s", path, strerror(code), hint(code));
    return 0;
}
