#include "cgroup.h"

#include <stdlib.h>
#include <unistd.h>

#include "harness.h"

static struct qa_error error;

static void other_files_are_left_alone(void)
{
    CHECK(qa_cgroup_join("/nowhere/cpu.max", &error) == -1);
    CHECK_TEXT(error.text, "cannot join '/nowhere/cpu.max': not a cgroup.procs or tasks file");
    CHECK(qa_cgroup_join("/nowhere/", &error) == -1);
    CHECK(qa_cgroup_join("/nowhere/xtasks", &error) == -1);
}

static void a_missing_group_is_reported(void)
{
    CHECK(qa_cgroup_join("/nowhere/cgroup.procs", &error) == -1);
    CHECK_TEXT(error.text, "cannot join '/nowhere/cgroup.procs': No such file or directory");
}

/* A plain file stands in for the kernel's: what counts is what is written. */
static void writes_zero_for_the_caller(void)
{
    char directory[] = "/tmp/quota-burner-test-XXXXXX";
    char path[64];
    char content[8] = "";
    FILE *file;

    if (mkdtemp(directory) == NULL)
        abort();
    snprintf(path, sizeof path, "%s/tasks", directory);
    file = fopen(path, "w");
    if (file == NULL)
        abort();
    fclose(file);
    CHECK(qa_cgroup_join(path, &error) == 0);
    file = fopen(path, "r");
    if (file == NULL)
        abort();
    CHECK(fgets(content, sizeof content, file) != NULL);
    CHECK_TEXT(content, "0");
    fclose(file);
    unlink(path);
    rmdir(directory);
}

int main(void)
{
    RUN(other_files_are_left_alone);
    RUN(a_missing_group_is_reported);
    RUN(writes_zero_for_the_caller);
    return REPORT();
}
