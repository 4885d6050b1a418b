#include "controller/worker_child.h"

#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#define NICE 10

bool worker_be_child(const char *name, pid_t parent)
{
        static const char most[] = "500";

        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
                return false;
        (void)prctl(PR_SET_NAME, name);
        (void)setpriority(PRIO_PROCESS, 0, NICE);
        FILE *file = fopen("/proc/self/oom_score_adj", "we");
        if (file) {
                (void)fputs(most, file);
                (void)fclose(file);
        }
        (void)signal(SIGPIPE, SIG_IGN);
        (void)signal(SIGINT, SIG_IGN);          /* of a terminal: berthd ends it */
        return true;
}
