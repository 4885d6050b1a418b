/* worker_forecast_run.h - the process that makes a forecast: `berthd forecast`, a child of berthd.
 *
 * Not pure; one thread. It reads a question from its input to the end, opens the store for reading,
 * answers with one line (forecast_line.h), and ends; or it goes with its parent. It knows nothing
 * and may nothing but what whoever starts it does.
 */
#pragma once

/* From the command line: --store FILE --parent PID. The process's exit status: 0, an answer was
 * written. */
int worker_forecast_main(int argc, char **argv);
