#include "tests/unit/cli/child.h"

#include "base/doc.h"
#include "cli/policy_out.h"
#include "proto/pool_doc.h"
#include "tests/unit/models.h"

static struct policy_doc *decode(const char *text)
{
        struct policy_doc *policy = NULL;
        struct err err = {0};
        struct doc *doc;

        if (doc_read_yaml("p.yaml", text, strlen(text), &doc, &err) < 0 ||
            policy_doc_decode(doc_root(doc, 0), models, NULL, &policy, &err) < 0)
                fail_msg("%s", err.text);
        doc_free(doc);
        return policy;
}

static char *printed(const struct policy_doc *policy, size_t width)
{
        char *text = NULL;
        size_t size = 0;
        struct err err = {0};
        FILE *file = open_memstream(&text, &size);

        assert_non_null(file);
        if (policy_print(policy, models, NULL, width, file, &err) < 0)
                fail_msg("%s", err.text);
        fclose(file);
        return text;
}

static void the_table_shows_what_comes_out(void **state)
{
        (void)state;
        struct policy_doc *policy = decode(
                "kind: Policy\npreset: equal\nclasses: {training: {notice: 7m}, urgent: {rank: 0, "
                "stop: never}}\n"
                "tenants:\n  research: {protect: {T4: 2.5}, limit: {T4: 16, jobs: 200}, weight: 2, "
                "lend: none, trust: internal, tenants: {nlp: {limit: {T4: 8}}}}\n"
                "  web: {budget: {device_hours: 5, per: day, on_empty: demote}, lend: {T4: 0}}\n");
        char *text = printed(policy, 200);

        check_has(text, "tenant               T4       jobs  weight  lend");
        check_has(text, "research       2.5 / 16        200       2  none");
        check_has(text, "  nlp             - / 8        200       1  none");
        check_has(text, "web       - / unlimited  unlimited       1  all, 0 devices of T4  5 "
                        "device-hours a day, then demote");
        check_has(text, "internal");
        check_has(text,
                  "  training (rank 2)\n    whole, slice; stopped only for somebody's protect, "
                  "with 7m notice, not in its first 20m, at most 3 times a day;");
        check_has(text, "  urgent (rank 0)\n    whole, slice; never stopped for capacity;");
        check_has(text, "warning: p.yaml:6: field 'tenants.web.lend': has no effect");
        check_has(text, "\nok: 3 tenants, 2 classes, 1 warning\n");
        free(text);
        policy_doc_free(policy);
}

static void all_models_together_have_the_documents_word_in_tables(void **state)
{
        (void)state;
        struct policy_doc *policy = decode("kind: Policy\npreset: equal\n"
                                           "tenants:\n  web: {limit: {any: 4, T4: 2}}\n");
        char *text = printed(policy, 200);
        json_t *value = policy_json(policy, models);
        char *json = json_dumps(value, JSON_COMPACT);

        check_has(text, "tenant     T4    any  weight");
        check_has(json, "\"limit\":{\"T4\":\"2\",\"any\":\"4\"}");
        json_decref(value);
        free(json);
        free(text);
        policy_doc_free(policy);
}

static void no_line_of_words_is_wider_than_asked(void **state)
{
        (void)state;
        struct policy_doc *policy = decode("kind: Policy\npreset: equal\ntenants: {a: {}}\n");
        char *text = printed(policy, 60), *classes = strstr(text, "\nclasses\n");

        assert_non_null(classes);
        for (char *line = strtok(classes, "\n"); line; line = strtok(NULL, "\n"))
                assert_true(strlen(line) <= 60);
        free(text);
        policy_doc_free(policy);
}

static void many_tenants_are_all_printed(void **state)
{
        (void)state;
        char *text = mem_new(100000, 1), *out, *at;
        size_t length = (size_t)sprintf(text, "kind: Policy\npreset: equal\ntenants:\n");
        unsigned count = 0;

        for (unsigned i = 0; i < 1000; i++)
                length += (size_t)sprintf(text + length, "  tenant-%u: {weight: 3}\n", i);
        struct policy_doc *policy = decode(text);
        at = out = printed(policy, 80);
        while ((at = strstr(at, "\ntenant-")) != NULL) {
                at++;
                count++;
        }
        assert_int_equal(count, 1000);
        check_has(out, "ok: 1000 tenants");
        free(out);
        mem_free(text);
        policy_doc_free(policy);
}

static void each_change_is_a_sentence(void **state)
{
        (void)state;
        static const struct {
                const char *before, *after, *sentence;
        } rows[] = {
                {"tenants: {a: {protect: {T4: 8}}}", "tenants: {a: {protect: {T4: 4}}}",
                 "a: protect of T4 falls from 8 to 4 devices; running work keeps its places"},
                {"tenants: {a: {protect: {T4: 4}}}", "tenants: {a: {protect: {T4: 8}}}",
                 "a: protect of T4 rises from 4 to 8 devices"},
                {"tenants: {a: {}}", "tenants: {a: {protect: {T4: 1}}}",
                 "a: is promised 1 device of T4, and had no promise of its own"},
                {"tenants: {a: {protect: {T4: 2}}}", "tenants: {a: {}}",
                 "a: its protect of T4 (2 devices) ends; running work keeps its places"},
                {"tenants: {a: {limit: {T4: 8}}}", "tenants: {a: {limit: {T4: 4}}}",
                 "a: limit on T4 falls from 8 to 4 devices; running work above it goes on, as "
                 "spare where its class can be"},
                {"tenants: {a: {limit: {jobs: 8}}}", "tenants: {a: {limit: {jobs: 9}}}",
                 "a: limit on jobs rises from 8 to 9"},
                {"tenants: {a: {}}", "tenants: {a: {limit: {any: 4}}}",
                 "a: gets a limit of 4 devices on any model"},
                {"tenants: {a: {limit: {any: 4}}}", "tenants: {a: {}}",
                 "a: the limit of 4 on any model goes"},
                {"tenants: {a: {}}", "tenants: {a: {limit: {T4: none}}}",
                 "a: may no longer use T4; running work goes on to its end"},
                {"tenants: {a: {}}", "tenants: {a: {limit: none}}",
                 "a: may no longer use any model; running work goes on to its end"},
                {"tenants: {a: {tenants: {b: {}}}}",
                 "tenants: {a: {tenants: {b: {protect: {any: none}}}}}",
                 "a/b: no longer draws on the promise of any model above it"},
                {"tenants: {a: {}}", "tenants: {a: {protect: none}}",
                 "nothing changes for anybody"},
                {"tenants: {a: {protect: {T4: 2}, tenants: {b: {protect: {T4: 2}}}}}",
                 "tenants: {a: {protect: {T4: 2}, tenants: {b: {}}}}",
                 "a/b: its protect of T4 (2 devices) ends; it draws on what the tenants above"},
                {"tenants: {a: {limit: {slices: {1g.5gb: 4, 1g.10gb: 3}}}}",
                 "tenants: {a: {limit: {slices: {1g.10gb: 3, 1g.5gb: 2}}}}",
                 "a: limit on slices of 1g.5gb falls from 4 to 2"},
                {"tenants: {a: {}}", "tenants: {a: {weight: 2}}",
                 "a: weight for any model rises from 1 to 2"},
                {"tenants: {a: {protect: {T4: 1}}}", "tenants: {a: {protect: {T4: 1}, lend: none}}",
                 "a: lends none of its unused protect of any model, all before"},
                {"tenants: {a: {}}", "tenants: {a: {budget: {device_hours: 5}}}",
                 "a: gets a budget for any model: 5 device-hours a month, then warn"},
                {"tenants: {a: {budget: {device_hours: 5}}}",
                 "tenants: {a: {budget: {device_hours: 6.5}}}",
                 "a: budget for any model becomes 6.500 device-hours a month"},
                {"tenants: {a: {}}", "tenants: {a: {classes: [batch]}}",
                 "a: may use classes batch; it was all"},
                {"tenants: {a: {}}", "tenants: {a: {trust: x}}",
                 "a: its trust domain becomes x; it was its own"},
                {"tenants: {a: {}}", "tenants: {a: {tenants: {b: {}}}}",
                 "a/b: is new; it has no promise of its own"},
                {"tenants: {a: {}, b: {}}", "tenants: {a: {}}",
                 "b: is gone; its running work goes on"},
                {"tenants: {a: {}}\nclasses: {batch: {}}",
                 "tenants: {a: {}}\nclasses: {batch: {rank: 9}}",
                 "class batch: its rank rises from 3 to 9, it goes later"},
                {"tenants: {a: {}}\nclasses: {batch: {}}",
                 "tenants: {a: {}}\nclasses: {batch: {stop: never}}",
                 "class batch: now never stopped for capacity; "},
                {"tenants: {a: {}}\nclasses: {batch: {}}",
                 "tenants: {a: {}}\nclasses: {batch: {typical: {memory: 2Gi}}}",
                 "class batch: what is typical of it becomes memory 2 GiB, compute unknown, "},
                {"tenants: {a: {}}\nclasses: {batch: {}}",
                 "tenants: {a: {}}\nclasses: {training: {}, batch: {}}", "class training: is new"},
                {"tenants: {a: {}}", "tenants: {a: {}}\nrules: {over_jobs: refuse}",
                 "everybody: work above a limit on jobs is refused; it waited before"},
                {"tenants: {a: {}}",
                 "tenants: {a: {}}\nprincipals: [{name: x, tenants: {a: viewer}}]",
                 "principal x: is new: viewer of a"},
                {"tenants: {a: {}}\nprincipals: [{name: x, tenants: {a: submitter}}]",
                 "tenants: {a: {}}\nprincipals: [{name: x, uid: 7, limit: {jobs: 50}, tenants: {a: "
                 "{role: submitter, jobs: 1}}}]",
                 "principal x: becomes submitter of a (at most 1 job), uid 7, all its tenants together "
                 "(at most 50 jobs); it was submitter of a\n"},
                {"tenants: {a: {}}", "tenants: {a: {limit_each: {jobs: 5}}}",
                 "a: each person may have 5 jobs at most; what they have above it stays"},
                {"tenants: {a: {limit_each: {jobs: 5}}}", "tenants: {a: {limit_each: {jobs: 3}}}",
                 "a: the limit of each person falls from 5 to 3 jobs; what they have above it "
                 "stays"},
                {"tenants: {a: {limit_each: {jobs: 5}}}", "tenants: {a: {limit_each: {jobs: 6}}}",
                 "a: the limit of each person rises from 5 to 6 jobs\n"},
                {"tenants: {a: {limit_each: {jobs: 5}}}", "tenants: {a: {}}",
                 "a: the limit of 5 jobs of each person goes"},
                {"tenants: {a: {}}",
                 "tenants: {a: {}}\nreservations: [{name: x, tenant: a, devices: "
                 "{T4: 1}, from: 2027-01-01T00:00Z, until: 2027-01-02T00:00Z, every: 7d}]",
                 "reservation x: is new: 1 device of T4 for a from 2027-01-01T00:00Z to "
                 "2027-01-02T00:00Z, every 7d, unused: lend"},
                {"tenants: {a: {}}\ndata: {x: {apart: node}}", "tenants: {a: {}}\ndata: {x: {}}",
                 "data x: becomes: methods all, planes all, apart: none, trust all (before: "},
                {"trust: {x: {}, y: {}}\ntenants: {a: {}}",
                 "trust: {y: {}, x: {with: [y]}}\ntenants: {a: {}}",
                 "trust: work of y and x may now share a device"},
                {"tenants: {a: {}}\nretention: {ended: 90d}",
                 "tenants: {a: {}}\nretention: {ended: 30d}",
                 "retention: ended becomes 30d; it was 90d; what is older goes within a day, and "
                 "no rollback brings it back\n"},
                {"tenants: {a: {}}\nretention: {ended: 30d}",
                 "tenants: {a: {}}\nretention: {ended: 90d}",
                 "retention: ended becomes 90d; it was 30d\n"},
                {"tenants: {a: {}}\nretention: {review: unlimited}",
                 "tenants: {a: {}}\nretention: {review: 2y}",
                 "retention: review becomes 24mo; it was unlimited; what is older"},
                {"tenants: {a: {}}\nretention: {records: 10d}", "tenants: {a: {}}",
                 "retention: records becomes what berthd was started with; it was 10d; what is "
                 "older"},
                {"tenants: {a: {}}\nretention: {ended: unlimited}", "tenants: {a: {}}",
                 "retention: ended becomes what berthd was started with; it was unlimited; what is "
                 "older goes within a day"},
                {"tenants: {a: {}}", "tenants: {a: {}}\nretention: {ended: unlimited}",
                 "retention: ended becomes unlimited; it was what berthd was started with\n"},
                {"tenants: {a: {}}\nretention: {review: 2y}", "tenants: {a: {}}",
                 "retention: review becomes 13mo; it was 24mo; what is older"},
                {"tenants: {a: {}}\nretention: {review: 13mo}", "tenants: {a: {}}",
                 "nothing changes for anybody"},
                {"trust: {y: {}}\ntenants: {a: {}}", "trust: {y: {}}\ntenants: {a: {}}",
                 "nothing changes for anybody"},
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                char text[1024];
                snprintf(text, sizeof text, "kind: Policy\npreset: equal\n%s\n", rows[i].before);
                struct policy_doc *before = decode(text);
                snprintf(text, sizeof text, "kind: Policy\npreset: equal\n%s\n", rows[i].after);
                struct policy_doc *after = decode(text);
                char *out = NULL;
                size_t size = 0;
                FILE *file = open_memstream(&out, &size);
                assert_non_null(file);
                unsigned lines = policy_print_diff(before, after, models, file);
                fclose(file);
                check_has(out, rows[i].sentence);
                if (lines > 1)
                        fail_msg("row %zu says more than one thing: %s", i, out);
                free(out);
                policy_doc_free(before);
                policy_doc_free(after);
        }
}

/* Bits, lists and maps in another order are the same policy. */
static void another_order_is_no_change(void **state)
{
        (void)state;
        struct policy_doc *before = decode(
                "kind: Policy\npreset: equal\ntrust: {i: {}, j: {}}\n"
                "classes: {x: {rank: 1, planes: [p, q], apart_from: {node: [y, z]}}, y: {rank: 2}, "
                "z: {rank: 2}}\n"
                "data: {d: {trust: [i, j], nodes: {m: a, n: b}}}\n"
                "tenants: {a: {classes: [x, y], planes: [p, q]}, b: {}}\n"
                "reservations: [{name: r, tenant: a, devices: {T4: 1, any: 2}, "
                "from: 2027-01-01T00:00Z, until: 2027-01-02T00:00Z}]\n"
                "principals: [{name: u, tenants: {a: viewer, b: tenant-admin}}]\n");
        struct policy_doc *after = decode(
                "kind: Policy\npreset: equal\ntrust: {j: {}, i: {}}\n"
                "classes: {z: {rank: 2}, y: {rank: 2}, x: {rank: 1, planes: [q, p], apart_from: "
                "{node: [z, y]}}}\n"
                "data: {d: {trust: [j, i], nodes: {n: b, m: a}}}\n"
                "tenants: {b: {}, a: {planes: [q, p], classes: [y, x]}}\n"
                "reservations: [{name: r, tenant: a, devices: {any: 2, T4: 1}, "
                "from: 2027-01-01T00:00Z, until: 2027-01-02T00:00Z}]\n"
                "principals: [{name: u, tenants: {b: tenant-admin, a: viewer}}]\n");
        char *text = NULL;
        size_t size = 0;
        FILE *file = open_memstream(&text, &size);

        assert_non_null(file);
        policy_print_diff(before, after, models, file);
        fclose(file);
        assert_string_equal(text, "nothing changes for anybody\n");
        free(text);
        policy_doc_free(before);
        policy_doc_free(after);
}

/* A policy whose tenant and class may use `count` planes with long names. */
static struct policy_doc *decode_planes(unsigned count)
{
        char text[8192], planes[3000];
        size_t length = 0;

        for (unsigned i = 0; i < count; i++)
                length += (size_t)snprintf(planes + length, sizeof planes - length,
                                           "%splane-with-quite-a-long-name-%02u", i ? ", " : "", i);
        snprintf(text, sizeof text,
                 "kind: Policy\npreset: equal\ntenants: {a: {planes: [%s]}}\n"
                 "classes: {x: {rank: 1, planes: [%s]}}\n",
                 planes, planes);
        return decode(text);
}

static void the_last_of_many_names_counts(void **state)
{
        (void)state;
        struct policy_doc *before = decode_planes(59), *after = decode_planes(60);
        char *text = NULL;
        size_t size = 0;
        FILE *file = open_memstream(&text, &size);

        assert_non_null(file);
        assert_int_equal(policy_print_diff(before, after, models, file), 2);
        fclose(file);
        check_has(text, "long-name-59; it was ");
        check_has(text, "class x: now in plane ");
        free(text);
        policy_doc_free(before);
        policy_doc_free(after);
}

static void another_preset_is_said_in_few_lines(void **state)
{
        (void)state;
        struct policy_doc *equal = decode("kind: Policy\npreset: equal\ntenants: {a: {}}\n");
        struct policy_doc *strict = decode("kind: Policy\npreset: strict\n"
                                           "tenants: {a: {protect: {T4: 1}}}\n");
        char *text = NULL;
        size_t size = 0;
        FILE *file = open_memstream(&text, &size);

        assert_non_null(file);
        assert_true(policy_print_diff(equal, strict, models, file) < 10);
        assert_true(policy_print_diff(strict, equal, models, file) < 10);
        fclose(file);
        check_has(text, "a: gets a limit of 1 device on T4");
        check_has(text, "a: may no longer hold models that it is not promised");
        check_has(text, "a: may now hold models that it is not promised");
        check_has(text, "class batch: now whole, slice; ");
        free(text);
        policy_doc_free(equal);
        policy_doc_free(strict);
}

/* ---- the command ---- */

static void the_command_checks_and_compares(void **state)
{
        (void)state;
        const char *source = getenv("BERTH_SOURCE") ? getenv("BERTH_SOURCE") : ".";
        static const struct child_row rows[] = {
                {"policy check @policy.yaml", 0, "ok: 2 tenants, 3 classes, 0 warnings\n", ""},
                {"policy check @policy-full.yaml --pool @pool.yaml", 0,
                 "pool: 5 nodes, 36 healthy devices (4 A100-40, 32 H100-80)", ""},
                {"policy diff @policy.yaml @policy-full.yaml", 0, "research: weight for any model",
                 ""},
                {"policy diff @policy.yaml @policy.yaml", 0, "nothing changes for anybody\n", ""},
                {"policy check --json @policy.yaml", 0, "\"warnings\": []", ""},
                {"policy check @policy.yaml", 0, "\nretention\n  records  30d  ", ""},
                {"policy check @policy-full.yaml", 0, "\n  review   24mo  ", ""},
                {"policy check @policy.yaml --json", 0, "\"review\": \"13mo\"", ""},
                {"policy diff @policy.yaml @policy-full.yaml --json", 0,
                 "\"research: weight for any model", ""},
                {"policy diff @policy.yaml @policy.yaml --json", 0, "\"changes\": []", ""},
                {"policy check @policy.yaml --json=x", 2, "", "goes to standard output only"},
                {"policy check @pool.yaml", 2, "",
                 "is of kind Pool; write a document of kind Policy"},
                {"policy check @policy.yaml --pool @policy.yaml", 2, "", "is of kind Policy"},
                {"policy check @none.yaml", 2, "", "none.yaml: No such file"},
                {"policy check @policy.yaml @policy.yaml", 2, "", "is one argument too many\n"
                 "usage: berth policy check FILE"},
                {"policy diff @policy.yaml", 2, "", "name what to work on: berth "
                 "policy diff A B"},
                {"policy diff @policy.yaml @policy.yaml --pool @pool.yaml", 2, "", "check only"},
                {"policy chek @policy.yaml", 2, "", "there is no 'chek'; did you mean 'check'"},
                {"policy check @policy.yaml --models @pool.yaml", 2, "", "pool.yaml:"},
                {"help policy", 0, "       berth policy diff A B [--models FILE] [--json", ""},
                {"policy", 2, "", "say what to do; known: 'check', 'diff', 'try'"},
                {"policy check @policy.yaml --quiet", 2, "", "--quiet goes with try only"},
                {"policy rollback x", 2, "", "`berth policy revisions` lists them"},
        };
        char examples[1000];

        snprintf(examples, sizeof examples, "%s/examples/", source);
        check_rows(rows, ARRAY_LEN(rows), examples);
}

static int open_all(void **state)
{
        models_load(state);
        return open_child_folder();
}

static int close_all(void **state)
{
        static const char *const names[] = {"out", "err"};

        models_drop(state);
        return close_child_folder(names, ARRAY_LEN(names));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_table_shows_what_comes_out),
                cmocka_unit_test(all_models_together_have_the_documents_word_in_tables),
                cmocka_unit_test(no_line_of_words_is_wider_than_asked),
                cmocka_unit_test(many_tenants_are_all_printed),
                cmocka_unit_test(each_change_is_a_sentence),
                cmocka_unit_test(another_order_is_no_change),
                cmocka_unit_test(the_last_of_many_names_counts),
                cmocka_unit_test(another_preset_is_said_in_few_lines),
                cmocka_unit_test(the_command_checks_and_compares),
        };
        return cmocka_run_group_tests(tests, open_all, close_all);
}
