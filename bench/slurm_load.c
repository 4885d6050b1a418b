/* What bench/slurm.py submits to a slurmctld: jobs of one CPU, one a request, allocated and not
 * launched, from so many threads. Prints the seconds from the first request to the last answer, how
 * many were allocated in their answer, and how many were refused. Built by that script, where
 * Slurm's headers are. */
#include <pthread.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static atomic_int left, allocated, refused;

static void *submit(void *arg)
{
        (void)arg;
        while (atomic_fetch_sub(&left, 1) > 0) {
                job_desc_msg_t job;
                resource_allocation_response_msg_t *answer = NULL;
                slurm_init_job_desc_msg(&job);
                job.name = "job";
                job.min_cpus = job.max_cpus = 1;
                job.num_tasks = 1;
                job.min_nodes = job.max_nodes = 1;
                job.user_id = getuid();
                job.group_id = getgid();
                job.work_dir = "/tmp";
                job.time_limit = 600;
                if (slurm_allocate_resources(&job, &answer) != SLURM_SUCCESS) {
                        if (refused++ == 0)
                                slurm_perror("slurm_load: refused");
                        continue;
                }
                allocated += answer->node_cnt > 0;
                slurm_free_resource_allocation_response_msg(answer);
        }
        return NULL;
}

int main(int argc, char **argv)
{
        unsigned threads = argc > 2 ? (unsigned)atoi(argv[2]) : 1;
        pthread_t *all = calloc(threads, sizeof *all);
        struct timespec start, end;

        if (argc != 3 || !all)
                return 2;
        left = atoi(argv[1]);
        slurm_init(NULL);
        (void)clock_gettime(CLOCK_MONOTONIC, &start);
        for (unsigned t = 0; t < threads; t++)
                if (pthread_create(&all[t], NULL, submit, NULL) != 0)
                        return 1;
        for (unsigned t = 0; t < threads; t++)
                (void)pthread_join(all[t], NULL);
        (void)clock_gettime(CLOCK_MONOTONIC, &end);
        printf("%.3f %d %d\n",
               (double)(end.tv_sec - start.tv_sec) + (double)(end.tv_nsec - start.tv_nsec) / 1e9,
               (int)allocated, (int)refused);
        free(all);
        return 0;
}
