/* Joining a cgroup. */
#ifndef QA_CGROUP_H
#define QA_CGROUP_H

#include "error.h"

/**
 * Move the calling process into a cgroup. Call it before starting threads: threads started later
 * are born inside, while a v1 `tasks` file would leave existing ones outside.
 *
 * @param path   a cgroup.procs file (v1 or v2), or a v1 tasks file; other names are refused, so
 * that a slip of the pen cannot write into a limit
 * @param error  receives the reason of a failure
 * @return 0, or -1 when the path has another name or the kernel refuses
 */
int qa_cgroup_join(const char *path, struct qa_error *error);

#endif
