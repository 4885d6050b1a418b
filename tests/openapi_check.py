#!/usr/bin/env python3
"""Holds controller/openapi.yaml to the controller, and the controller to it.

    openapi_check.py ROOT                the description is sound, and has the routes' table
    openapi_check.py ROOT --run BERTHD   and what a real controller answers is as described
    openapi_check.py ROOT --self-test    checks the checker: each of its rules finds what is wrong

Answers are validated whole: status, type and body, where a field that the description does not
have is a finding. What is asked stands in openapi_calls.py. A finding is a line; exit 1 if there
is any. Needs python3-yaml and python3-jsonschema.
"""
import copy
import json
import os
import re
import sys

sys.dont_write_bytecode = True          # the sources stay as they are

try:
    import jsonschema
    import yaml
except ImportError as missing:
    sys.exit(f"openapi_check: {missing}: install python3-yaml and python3-jsonschema")

# Lists that the program writes once: schema, header, macro, and what else the schema has (+) or
# has not (-).
LISTS = (
    ("Verdict", "engine/explain.h", "VERDICTS", ()),
    ("Gate", "engine/fact.h", "GATES", ()),
    ("ReleaseCause", "engine/fact.h", "RELEASE_CAUSES", ()),
    ("NoticeCause", "engine/fact.h", "NOTICE_CAUSES", ()),
    ("PlanCause", "engine/fact.h", "PLAN_CAUSES", ()),
    ("Event", "engine/fact.h", "FACTS", ("+events_forgotten", "+alert_raised",
                                           "+alert_acknowledged", "+alert_resolved",
                                           "+attached", "+detached")),
    ("AlertKind", "engine/alert_rules.h", "ALERT_KINDS", ()),
    ("UnblockKind", "engine/explain.h", "UNBLOCKS", ()),
    ("Phase", "controller/works.h", "PHASES", ()),
    ("WorkloadState", "controller/view.h", "VIEW_STATES", ()),
    ("NodeState", "controller/view_pool.c", "NODE_WORDS", ()),
    ("Role", "controller/tokens.h", "TOKEN_ROLES", ("-gateway",)),
)
METHODS = ("get", "put", "post", "delete", "patch", "head", "options")
ROUTE = re.compile(r'\{HTTP_([A-Z]+),\s*"([^"]+)",\s*"(\w+)",\s*\w+,\s*(?:"([^"]*)"|NULL)\}')
OWN_HEADER = re.compile(r"berth-|etag$", re.IGNORECASE)


class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
    """A key that stands twice would silently hide the first one."""

    def construct_mapping(self, node, deep=False):
        keys = [key.value for key, _ in node.value]
        for key in keys:
            if keys.count(key) > 1:
                raise yaml.constructor.ConstructorError(
                    None, None, f"key '{key}' stands twice", node.start_mark)
        return super().construct_mapping(node, deep)


class Description:
    """The document, and the operations in it by name."""

    def __init__(self, document):
        self.document = document
        self.operations = {}
        self.validators = {}
        for path, item in document["paths"].items():
            for method in METHODS:
                if method in item:
                    operation = item[method]
                    self.operations[operation["operationId"]] = {
                        "method": method.upper(), "path": path, "responses": operation["responses"],
                        "body": operation.get("requestBody"),
                        "parameters": [self.resolve(p) for p in item.get("parameters", []) +
                                       operation.get("parameters", [])]}

    def resolve(self, node):
        while isinstance(node, dict) and "$ref" in node:
            target = self.document
            for key in node["$ref"].removeprefix("#/").split("/"):
                target = target[key]
            node = target
        return node

    def errors(self, schema, value):
        """What the value breaks, as sentences."""
        key = json.dumps(schema, sort_keys=True)
        if key not in self.validators:
            # References are looked up from the root of the schema: what they name is put there.
            self.validators[key] = jsonschema.Draft202012Validator(
                {**schema, "components": self.document["components"]})
        for error in self.validators[key].iter_errors(value):
            for cause in error.context or [error]:
                place = "/".join(str(part) for part in cause.absolute_path)
                yield f"at '{place}': {cause.message[:300]}"


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


# ---- the description itself ----

def check_routes(routes_text, description):
    """The same operations as the controller's table, under the same names."""
    routes = [found.groups() for found in ROUTE.finditer(routes_text)]
    table = {row[:3] for row in routes}
    told = {(it["method"], it["path"], name) for name, it in description.operations.items()}
    if not table:
        yield "api_routes.c: no route was recognised"
    for row in sorted(table - told):
        yield "openapi.yaml lacks {0} {1} ({2}), which the controller serves".format(*row)
    for row in sorted(told - table):
        yield "openapi.yaml has {0} {1} ({2}), which the controller does not serve".format(*row)
    for _, _, name, queries in routes:
        if queries is None or name not in description.operations:
            continue                    # any are let in: what agents ask, what monitors ask
        described = {it["name"] for it in description.operations[name]["parameters"]
                     if it["in"] == "query"}
        for query in sorted(described.symmetric_difference(queries.split())):
            yield f"{name}: query '{query}' is not in both of openapi.yaml and api_routes.c"


def walk(node, place=""):
    yield place, node
    children = (node.items() if isinstance(node, dict)
                else enumerate(node) if isinstance(node, list) else ())
    for key, child in children:
        yield from walk(child, f"{place}/{key}")


def check_references(description):
    for place, node in walk(description.document):
        if isinstance(node, dict) and isinstance(node.get("$ref"), str):
            try:
                description.resolve(node)
            except KeyError:
                yield f"{place}: there is no {node['$ref']}"


def is_closed(node):
    return (node.get("unevaluatedProperties") is False or
            node.get("additionalProperties") not in (None, True, {}))


def check_closed(description, schema, place, seen, part=False):
    """No object of an answer may have fields that are not described. `part`: of one that is
    closed around it."""
    if not isinstance(schema, dict):
        return
    if "$ref" in schema:
        if (schema["$ref"], part) not in seen:
            seen.add((schema["$ref"], part))
            yield from check_closed(description, description.resolve(schema), schema["$ref"], seen,
                                    part)
        return
    if (schema.get("type") == "object" or "allOf" in schema) and not part and not is_closed(schema):
        yield f"{place}: an object that may have any field"
    for key in ("oneOf", "anyOf", "allOf"):
        for number, child in enumerate(schema.get(key, [])):
            yield from check_closed(description, child, f"{place}/{key}/{number}", seen,
                                    key == "allOf")
    for name, child in schema.get("properties", {}).items():
        yield from check_closed(description, child, f"{place}/{name}", seen)
    for key in ("items", "additionalProperties"):
        yield from check_closed(description, schema.get(key), f"{place}/{key}", seen)


def check_operation(description, name, operation, seen):
    in_path = set(re.findall(r"\{(\w+)\}", operation["path"]))
    declared = {it["name"] for it in operation["parameters"] if it["in"] == "path"}
    if in_path != declared:
        yield f"{name}: the path has {sorted(in_path)}, its parameters {sorted(declared)}"
    if "default" not in operation["responses"]:
        yield f"{name}: no default answer: what does it say when it refuses?"
    for status, response in operation["responses"].items():
        for kind, content in description.resolve(response).get("content", {}).items():
            if kind.endswith("json"):
                yield from check_closed(description, content["schema"], f"{name} {status}", seen)


def check_document(description):
    findings = list(check_references(description))
    if findings:
        return findings                 # the rest would stumble over them
    seen = set()
    if not str(description.document.get("openapi", "")).startswith("3.1."):
        findings.append("openapi.yaml: is no OpenAPI 3.1")
    for name, schema in description.document["components"]["schemas"].items():
        try:
            jsonschema.Draft202012Validator.check_schema(schema)
        except jsonschema.SchemaError as error:
            findings.append(f"schema {name}: {error.message}")
    for name, operation in description.operations.items():
        findings += check_operation(description, name, operation, seen)
    event = {"$ref": "#/components/schemas/Event"}
    return findings + list(check_closed(description, event, "Event", seen))


def words_of(header, macro):
    """The wire words of an X-macro."""
    found = re.search(rf"#define {macro}\(X\)((?:.*\\\n)*.*)", header)
    return set(re.findall(r'X\(\w+,\s*"([^"]+)"', found.group(1))) if found else set()


def check_lists(description, headers):
    """`headers`: the text of each by its path. The same words as the program's."""
    for name, path, macro, apart in LISTS:
        schema = description.document["components"]["schemas"][name]
        told = set(schema.get("enum") or schema["properties"])
        wanted = words_of(headers[path], macro)
        if not wanted:
            yield f"{path}: no word of {macro} was recognised"
        wanted |= {word[1:] for word in apart if word[0] == "+"}
        wanted -= {word[1:] for word in apart if word[0] == "-"}
        if told != wanted:
            yield f"schema {name}: not as {macro} of {path}: {sorted(told ^ wanted)}"


# ---- one request, one answer ----

def value_of(text, schema):
    """A parameter's text as the value that its schema means."""
    if schema.get("type") == "integer" and re.fullmatch(r"-?\d+", text):
        return int(text)
    if schema.get("type") == "boolean" and text in ("true", "false"):
        return text == "true"
    return text


def check_parameters(description, name, given, where, good):
    """`good`: the request is as it should be, so that each value must be one that is described."""
    known = {it["name"].lower(): it for it in description.operations[name]["parameters"]
             if it["in"] == where}
    for key, text in given.items():
        if key.lower() not in known:
            yield f"{name}: {where} parameter '{key}' is not described"
        elif good:
            schema = description.resolve(known[key.lower()]["schema"])
            for error in description.errors(schema, value_of(text, schema)):
                yield f"{name}: {where} parameter '{key}': {error}"


def check_request_body(description, name, body):
    wanted = description.resolve(description.operations[name]["body"])
    if not wanted:
        yield f"{name}: takes no body, says the description"
        return
    for kind, content in wanted["content"].items():
        if kind == "application/json":
            for error in description.errors(content["schema"], yaml.safe_load(body)):
                yield f"{name}: the request, {error}"


def check_body(description, name, kind, schema, status, body):
    if not kind.endswith("json"):
        return
    try:
        value = json.loads(body)
    except ValueError as error:
        yield f"{name} {status}: no JSON: {error}"
        return
    for error in description.errors(schema, value):
        yield f"{name} {status}: {error}"
    if status >= 400 and kind == "application/problem+json" and value.get("status") != status:
        yield f"{name} {status}: says status {value.get('status')}"
    # The schema itself must be one that notices.
    if isinstance(value, dict) and not any(
            description.errors(schema, {**value, "a_new_field": 1})):
        yield f"{name} {status}: one more field in the answer would not be noticed"


def check_answer(description, name, status, headers, body):
    responses = description.operations[name]["responses"]
    response = responses.get(str(status), responses.get("default") if status >= 400 else None)
    if response is None:
        yield f"{name}: status {status} is not described"
        return
    response = description.resolve(response)
    described = {key.lower() for key in response.get("headers", {})}
    for key in headers:
        if OWN_HEADER.match(key) and key.lower() not in described:
            yield f"{name} {status}: header '{key}' is not described"
    content = response.get("content", {})
    kind = headers.get("Content-Type", "").split(";")[0]
    if not content:
        if body:
            yield f"{name} {status}: a body, where none is described"
    elif kind not in content:
        yield f"{name} {status}: type '{kind}' is not described"
    else:
        yield from check_body(description, name, kind, content[kind].get("schema", {}), status,
                              body)


def check_event(description, name, data):
    for error in description.errors({"$ref": "#/components/schemas/Event"}, {name: data}):
        yield f"event {name}: {error}"


# ---- whether it can fail ----

POOL = {"name": "p", "nodes": 1, "nodes_described": 1, "nodes_up": 1, "nodes_down": 0,
        "devices": 8, "models": [{"model": "H100-80", "devices": 8, "allocated": "0.25",
                                  "free": "7.75", "unhealthy": 0, "draining": 0}],
        "waiting": 0, "running": 1, "frozen": False, "frozen_planes": ["lab"], "plan": None,
        "classes": ["training"], "policy_revision": 1, "pool_revision": 1,
        "retention": {"records": "30d", "ended": "90d", "review": "13mo", "by_policy": ["records"]}}
PROBLEM = {"type": "/problems/not_found", "title": "not found", "status": 404, "detail": "no"}
EVENT = {"at": "2027-01-04T08:00:00.186Z", "workload": 3, "name": "a", "tenant": "b", "user": "c",
         "cause": "exited", "lost_ms": 0}


def without(value, key):
    return {name: it for name, it in value.items() if name != key}


def answers():
    """Whether it is wrong, operation, status, type, body."""
    as_json, as_problem = "application/json", "application/problem+json"
    rows = POOL["models"][0]
    yield False, "getPool", 200, as_json, POOL
    yield False, "getPool", 404, as_problem, PROBLEM
    yield True, "getPool", 200, as_json, {**POOL, "colour": "red"}
    yield True, "getPool", 200, as_json, {**POOL, "models": [{**rows, "colour": "red"}]}
    yield True, "getPool", 200, as_json, {**POOL, "models": [{**rows, "free": "7.7500"}]}
    yield True, "getPool", 200, as_json, {**POOL, "nodes": "1"}
    yield True, "getPool", 200, as_json, without(POOL, "frozen")
    yield True, "getPool", 201, as_json, POOL
    yield True, "getPool", 200, "text/html", POOL
    yield True, "getPool", 404, as_json, PROBLEM
    yield True, "getPool", 403, as_problem, PROBLEM
    yield True, "getPool", 404, as_problem, {**PROBLEM, "colour": "red"}
    yield True, "postAnswer", 204, as_json, POOL


def broken_documents(document):
    """What is broken, and the document with that."""
    def changed(change):
        it = copy.deepcopy(document)
        change(it)
        return Description(it)

    yield "an operation less", changed(lambda it: it["paths"].pop("/v1/pool"))
    yield "an operation more", changed(
        lambda it: it["paths"].update({"/v1/moon": {"get": {"operationId": "getMoon",
                                                            "responses": {"default": {}}}}}))
    yield "another name", changed(
        lambda it: it["paths"]["/v1/pool"]["get"].update(operationId="getPond"))
    yield "an open object", changed(
        lambda it: it["components"]["schemas"]["Device"].pop("additionalProperties"))
    yield "an open event", changed(
        lambda it: it["components"]["schemas"]["BareEventOfPool"].pop("unevaluatedProperties"))
    yield "a reference to nothing", changed(
        lambda it: it["components"]["schemas"].pop("Holder"))
    yield "a parameter less", changed(
        lambda it: it["paths"]["/v1/nodes/{node}/undrain"]["post"]["parameters"].pop(0))
    yield "a schema that is none", changed(
        lambda it: it["components"]["schemas"]["Id"].update(type="number of it"))
    yield "no default", changed(
        lambda it: it["paths"]["/v1/pool"]["get"]["responses"].pop("default"))


def self_test(description, routes_text, headers):
    def expect(wrong, what, findings):
        if bool(list(findings)) != wrong:
            yield f"self-test: {what}: {'not noticed' if wrong else 'is no mistake'}"

    for wrong, name, status, kind, value in answers():
        yield from expect(wrong, f"{name} {status} {value}", check_answer(
            description, name, status, {"Content-Type": kind}, json.dumps(value)))
    for what, broken in broken_documents(description.document):
        yield from expect(True, what, [*check_document(broken),
                                       *check_routes(routes_text, broken)])
    try:
        yaml.load("a: 1\nb: 2\na: 3\n", Loader)
        yield "self-test: a key that stands twice: not noticed"
    except yaml.YAMLError:
        pass
    for name, path, macro, _ in LISTS:
        less = {**headers, path: re.sub(rf'({macro}\(X\)[^"]*)"', r'\1"not_', headers[path])}
        yield from expect(True, f"{macro} with another word", check_lists(description, less))
        yield from expect(True, f"no {macro}", check_lists(description, {**headers, path: ""}))
    yield from expect(True, "a table without routes", check_routes("", description))
    yield from expect(True, "a table without a query", check_routes(
        routes_text.replace('get_queue, "tenant limit', 'get_queue, "tenant'), description))
    yield from expect(False, "an event", check_event(description, "released", EVENT))
    yield from expect(True, "an event's field", check_event(description, "released",
                                                            {**EVENT, "gate": "FIT"}))
    yield from expect(True, "an event's name", check_event(description, "relaxed", EVENT))
    yield from expect(True, "a header", check_answer(
        description, "getPool", 200, {"Content-Type": "application/json", "Berth-Size": "1"},
        json.dumps(POOL)))
    yield from expect(True, "a query", check_parameters(description, "getPool", {"all": "1"},
                                                        "query", True))
    yield from expect(True, "a query's value", check_parameters(description, "getNodes",
                                                                {"limit": "0"}, "query", True))


def main(root, *rest):
    description = Description(yaml.load(read(f"{root}/controller/openapi.yaml"), Loader))
    routes_text = read(f"{root}/controller/api_routes.c")
    headers = {path: read(f"{root}/{path}") for _, path, _, _ in LISTS}
    findings = [*check_document(description), *check_routes(routes_text, description)]
    if not findings:
        findings = list(check_lists(description, headers))
    if not findings and rest[:1] == ("--self-test",):
        findings = list(self_test(description, routes_text, headers))
    elif not findings and rest[:1] == ("--run",):
        import openapi_calls
        findings = openapi_calls.run(description, root, os.path.abspath(rest[1]))
    for finding in findings:
        print(finding)
    return 1 if findings else 0


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[2:3] not in ([], ["--self-test"], ["--run"]):
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
