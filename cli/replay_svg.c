/* The curve as one SVG file that needs nothing else: no script, no font, no style from outside. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "cli/replay_out.h"
#include "proto/scenario.h"
#include "sim/replay.h"

#define WIDTH  860
#define LEFT   64 /* of the plot */
#define RIGHT  610
#define TOP    64
#define HEIGHT 340 /* of the plot */
#define BOTTOM (TOP + HEIGHT)
#define ROW    22 /* of the legend */

/* Eight hues that stay apart for most eyes; from the ninth line on, the same with dashes. */
static const struct {
        const char *light, *dark;
} colours[] = {
        {"#0b62c4", "#6db3ff"}, {"#c2410c", "#ff9a5c"}, {"#15803d", "#5fd38a"},
        {"#9333ea", "#cf9bff"}, {"#7a8500", "#d3dd5a"}, {"#0e7490", "#5ad1e6"},
        {"#be185d", "#ff86b8"}, {"#4b5563", "#b6bec9"},
};

struct canvas {
        FILE *file;
        const struct replay_result *result;
        double x_min, x_max, y_max, y_step, x_step;
};

static double to_x(const struct canvas *canvas, double arrived)
{
        return LEFT + (RIGHT - LEFT) * (arrived - canvas->x_min) / (canvas->x_max - canvas->x_min);
}

static double to_y(const struct canvas *canvas, double unallocated)
{
        return BOTTOM - HEIGHT * unallocated / canvas->y_max;
}

/* The step of 1, 2 or 5 times a power of ten that gives about `wanted` lines. */
static double nice_step(double range, double wanted)
{
        double step = pow(10, floor(log10(range / wanted)));

        if (range / step > 5 * wanted)
                return step * 10;
        if (range / step > 2.5 * wanted)
                return step * 5;
        return range / step > wanted ? step * 2 : step;
}

static void find_scales(struct canvas *canvas)
{
        double high = 0, first = INFINITY, last = 0;

        for (uint32_t r = 0; r < canvas->result->runs_count; r++) {
                const struct replay_run *run = &canvas->result->runs[r];
                for (uint32_t p = 0; p < run->points_count; p++) {
                        const struct replay_point *point = &run->points[p];
                        double top = point->unallocated_pct.mean + point->unallocated_pct.sd;
                        high = fmax(high, isfinite(top) ? top : 0);
                        first = fmin(first, point->arrived_pct);
                        last = fmax(last, point->arrived_pct);
                }
        }
        canvas->x_min = isfinite(first) ? first : 0;
        canvas->x_max = last > canvas->x_min ? last : canvas->x_min + 1;
        canvas->x_step = fmax(1, nice_step(canvas->x_max - canvas->x_min, 8));
        canvas->y_step = nice_step(high > 0 ? high : 1, 6);
        canvas->y_max = canvas->y_step * ceil((high > 0 ? high : 1) / canvas->y_step);
}

/* ---- pieces ---- */

static void put_text(FILE *file, const char *text)
{
        for (; *text; text++)
                switch (*text) {
                case '&':
                        fputs("&amp;", file);
                        break;
                case '<':
                        fputs("&lt;", file);
                        break;
                case '>':
                        fputs("&gt;", file);
                        break;
                case '"':
                        fputs("&quot;", file);
                        break;
                default:
                        fputc(*text, file);
                }
}

static void put_styles(FILE *file)
{
        size_t count = sizeof colours / sizeof colours[0];

        fputs("<style>\n"
              "text { font: 13px system-ui, sans-serif; fill: #1f2933; }\n"
              ".title { font-size: 16px; font-weight: 600; }\n"
              ".soft { fill: #52606d; }\n"
              ".back { fill: #ffffff; }\n"
              ".grid { stroke: #e0e5ea; fill: none; }\n"
              ".axis { stroke: #7b8794; fill: none; }\n"
              ".least { stroke: #7b8794; stroke-dasharray: 2 4; fill: none; }\n"
              ".line { fill: none; stroke-width: 2; stroke-linejoin: round; }\n"
              ".again { stroke-dasharray: 7 4; }\n",
              file);
        for (size_t c = 0; c < count; c++)
                fprintf(file, ".s%zu { stroke: %s; } .f%zu { fill: %s; }\n", c, colours[c].light, c,
                        colours[c].light);
        fputs("@media (prefers-color-scheme: dark) {\n"
              "text { fill: #e4e7eb; }\n"
              ".soft { fill: #a3adb8; }\n"
              ".back { fill: #161b22; }\n"
              ".grid { stroke: #2d3640; }\n"
              ".axis, .least { stroke: #7b8794; }\n",
              file);
        for (size_t c = 0; c < count; c++)
                fprintf(file, ".s%zu { stroke: %s; } .f%zu { fill: %s; }\n", c, colours[c].dark, c,
                        colours[c].dark);
        fputs("}\n</style>\n", file);
}

static void put_axes(const struct canvas *canvas)
{
        FILE *file = canvas->file;
        double first = ceil(canvas->x_min / canvas->x_step - 1e-9) * canvas->x_step;

        for (double y = 0; y <= canvas->y_max + canvas->y_step / 2; y += canvas->y_step)
                fprintf(file,
                        "<path class=\"%s\" d=\"M%d %.1fH%d\"/>"
                        "<text class=\"soft\" x=\"%d\" y=\"%.1f\" text-anchor=\"end\">"
                        "%.6g</text>\n",
                        y > 0 ? "grid" : "axis", LEFT, to_y(canvas, y), RIGHT, LEFT - 8,
                        to_y(canvas, y) + 4.5, y);
        for (double x = first; x <= canvas->x_max + 1e-6; x += canvas->x_step)
                fprintf(file,
                        "<path class=\"grid\" d=\"M%.1f %dV%d\"/>"
                        "<text class=\"soft\" x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">"
                        "%.6g</text>\n",
                        to_x(canvas, x), TOP, BOTTOM, to_x(canvas, x), BOTTOM + 20, x);
        fprintf(file,
                "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">devices asked for so far, %% of "
                "the pool</text>\n",
                (LEFT + RIGHT) / 2, BOTTOM + 42);
        fprintf(file, "<text x=\"%d\" y=\"%d\">unallocated devices, %% of the pool</text>\n",
                LEFT - 40, TOP - 12);
}

/* What nobody has asked for yet cannot be allocated by any placement. */
static void put_least(const struct canvas *canvas)
{
        double from = canvas->x_min;
        double until = fmin(100, canvas->x_max);

        if (from >= 100)
                return;
        if (100 - from > canvas->y_max)
                from = 100 - canvas->y_max;
        if (until <= from)
                return;
        fprintf(canvas->file, "<path class=\"least\" d=\"M%.1f %.1fL%.1f %.1f\"/>\n",
                to_x(canvas, from), to_y(canvas, 100 - from), to_x(canvas, until),
                to_y(canvas, 100 - until));
}

/* "auto", "auto, slice", or the baseline. */
static void put_name(const struct canvas *canvas, const struct replay_run *run)
{
        char text[PLACEMENT_TEXT_MAX];

        put_text(canvas->file,
                 run->is_baseline ? "whole devices" : placement_text(&run->placement, text));
        if (run->has_method && !run->is_baseline)
                fprintf(canvas->file, ", %s", task_method_name(run->method));
}

static void put_line(const struct canvas *canvas, const struct replay_run *run, size_t colour,
                     bool again)
{
        FILE *file = canvas->file;

        fprintf(file, "<path class=\"line s%zu%s\" d=\"", colour, again ? " again" : "");
        for (uint32_t p = 0; p < run->points_count; p++)
                fprintf(file, "%c%.1f %.1f", p ? 'L' : 'M',
                        to_x(canvas, run->points[p].arrived_pct),
                        to_y(canvas, run->points[p].unallocated_pct.mean));
        fputs("\"/>\n", file);
        for (uint32_t p = 0; p < run->points_count; p++) {
                const struct replay_point *point = &run->points[p];
                double x = to_x(canvas, point->arrived_pct);
                const struct replay_stat *stat = &point->unallocated_pct;
                if (stat->sd > 0)
                        fprintf(file, "<path class=\"s%zu\" d=\"M%.1f %.1fV%.1f\"/>", colour, x,
                                to_y(canvas, fmax(0, stat->mean - stat->sd)),
                                to_y(canvas, stat->mean + stat->sd));
                fprintf(file, "<circle class=\"f%zu\" cx=\"%.1f\" cy=\"%.1f\" r=\"3.2\"><title>",
                        colour, x, to_y(canvas, stat->mean));
                put_name(canvas, run);
                fprintf(file, ": %.2f %% (sd %.2f) at %u %%</title></circle>\n", stat->mean,
                        stat->sd, point->arrived_pct);
        }
}

/* ---- legend ---- */

/* The last point up to 100 % arrived: where placements are compared; else the first. */
static const struct replay_point *mark_of(const struct replay_run *run)
{
        const struct replay_point *mark = &run->points[0];

        for (uint32_t p = 0; p < run->points_count && run->points[p].arrived_pct <= 100; p++)
                mark = &run->points[p];
        return mark;
}

static int compare_marks(const void *a, const void *b)
{
        const struct replay_run *const *x = a, *const *y = b;
        double p = mark_of(*x)->unallocated_pct.mean, q = mark_of(*y)->unallocated_pct.mean;

        return p < q ? -1 : p > q ? 1 : *x < *y ? -1 : 1;
}

static void put_legend(const struct canvas *canvas, const struct replay_run *const *runs,
                       size_t count)
{
        const struct replay_run *first = canvas->result->runs;
        size_t colours_count = sizeof colours / sizeof colours[0];
        FILE *file = canvas->file;

        if (count == 0)
                return;
        fprintf(file, "<text class=\"soft\" x=\"%d\" y=\"%d\">unallocated at %u %%</text>\n",
                RIGHT + 28, TOP + 4, mark_of(runs[0])->arrived_pct);
        for (size_t i = 0; i < count; i++) {
                size_t number = (size_t)(runs[i] - first);
                int y = TOP + ROW * ((int)i + 1);
                fprintf(file,
                        "<path class=\"line s%zu%s\" d=\"M%d %dh24\"/><text x=\"%d\" y=\"%d\">",
                        number % colours_count, number >= colours_count ? " again" : "", RIGHT + 28,
                        y, RIGHT + 60, y + 4);
                put_name(canvas, runs[i]);
                fprintf(file, "</text><text x=\"%d\" y=\"%d\" text-anchor=\"end\">%.2f %%</text>\n",
                        WIDTH - 12, y + 4, mark_of(runs[i])->unallocated_pct.mean);
        }
        int y = TOP + ROW * ((int)count + 1) + 6;
        fprintf(file,
                "<path class=\"least\" d=\"M%d %dh24\"/><text class=\"soft\" x=\"%d\" y=\"%d\">not "
                "asked for yet</text>\n",
                RIGHT + 28, y, RIGHT + 60, y + 4);
}

/* ---- all of it ---- */

static void draw(FILE *file, const struct scenario *scenario, const struct replay_result *result,
                 bool is_whole)
{
        const struct replay_run *runs[SCENARIO_PLACEMENTS_MAX * SCENARIO_METHODS_MAX];
        struct canvas canvas = {.file = file, .result = result};
        size_t count = 0, colours_count = sizeof colours / sizeof colours[0];

        for (uint32_t r = 0; r < result->runs_count; r++)
                if (result->runs[r].points_count > 0)
                        runs[count++] = &result->runs[r];
        int legend = TOP + ROW * ((int)count + 2) + 16;
        int height = legend > BOTTOM + 60 ? legend : BOTTOM + 60;
        find_scales(&canvas);
        fprintf(file,
                "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
                "height=\"%d\" role=\"img\">\n<title>",
                WIDTH, height, WIDTH, height);
        put_text(file, scenario->name);
        fputs("</title>\n", file);
        put_styles(file);
        fprintf(file,
                "<rect class=\"back\" width=\"%d\" height=\"%d\"/>\n<text class=\"title\" "
                "x=\"%d\" y=\"26\">",
                WIDTH, height, LEFT - 40);
        put_text(file, scenario->name);
        fputs(is_whole ? "</text>\n" : " (stopped before its end)</text>\n", file);
        put_axes(&canvas);
        put_least(&canvas);
        for (size_t i = 0; i < count; i++) {
                size_t number = (size_t)(runs[i] - result->runs);
                put_line(&canvas, runs[i], number % colours_count, number >= colours_count);
        }
        qsort(runs, count, sizeof runs[0], compare_marks);
        put_legend(&canvas, runs, count);
        fputs("</svg>\n", file);
}

int replay_svg(const struct scenario *scenario, const struct replay_result *result, bool is_whole,
               char **ret_text, size_t *ret_size, struct err *err)
{
        char *bytes = NULL, *copy = NULL;
        size_t size = 0;
        FILE *file = open_memstream(&bytes, &size);

        if (file)
                draw(file, scenario, result, is_whole);
        bool is_made = file && !ferror(file);
        if (file && fclose(file) != 0)
                is_made = false;
        /* The caller frees with mem_free(), and this came from elsewhere. */
        if (is_made)
                copy = mem_new(size + 1, 1);
        if (copy) {
                memcpy(copy, bytes, size);
                *ret_text = copy;
                *ret_size = size;
        }
        free(bytes);
        return copy ? 0 : err_set(err, ERR_NOMEM, "out of memory while drawing");
}
