#!/usr/bin/env python3
"""Checks a bill of `berth replay --focus` against FOCUS 1.2 and against its ledger.

    focus_check.py BILL LEDGER        the files of --focus and --ledger of one run
    focus_check.py --self-test        checks the checker: each of its rules finds a broken bill

It knows the columns, types, allowed values and nulls of FOCUS 1.2 and docs/ledger.md; it shares
nothing with the program that writes the bill. A finding is a line; exit 1 if there is any.
"""
import csv
import datetime
import json
import os
import re
import sys
import tempfile
from collections import defaultdict
from decimal import Decimal

DEVICE_HOUR = 126000 * 3600000                  # unit-ms
NANO = Decimal("0.000000001")                   # costs and hours are rounded down to it

# column: (may it be null, type). All that the specification demands, and what we fill besides.
MANDATORY = {
    "BilledCost": (False, "decimal"),
    "BillingAccountId": (False, "text"),
    "BillingAccountName": (True, "text"),
    "BillingCurrency": (False, "currency"),
    "BillingPeriodEnd": (False, "time"),
    "BillingPeriodStart": (False, "time"),
    "ChargeCategory": (False, {"Usage", "Purchase", "Tax", "Credit", "Adjustment"}),
    "ChargeClass": (True, {"Correction"}),
    "ChargeDescription": (True, "text"),
    "ChargePeriodEnd": (False, "time"),
    "ChargePeriodStart": (False, "time"),
    "ContractedCost": (False, "decimal"),
    "EffectiveCost": (False, "decimal"),
    "InvoiceIssuerName": (False, "text"),
    "ListCost": (False, "decimal"),
    "PricingQuantity": (True, "decimal"),
    "PricingUnit": (True, "text"),
    "ProviderName": (False, "text"),
    "PublisherName": (False, "text"),
    "ServiceCategory": (False, {
        "AI and Machine Learning", "Analytics", "Business Applications", "Compute", "Databases",
        "Developer Tools", "Multicloud", "Identity", "Integration", "Internet of Things",
        "Management and Governance", "Media", "Migration", "Mobile", "Networking", "Security",
        "Storage", "Web", "Other"}),
    "ServiceName": (False, "text"),
}
CONDITIONAL = {
    "CapacityReservationId": (True, "text"),
    "CapacityReservationStatus": (True, {"Used", "Unused"}),
    "ChargeFrequency": (False, {"One-Time", "Recurring", "Usage-Based"}),
    "ConsumedQuantity": (True, "decimal"),
    "ConsumedUnit": (True, "text"),
    "ListUnitPrice": (True, "decimal"),
    "PricingCategory": (True, {"Standard", "Dynamic", "Committed", "Other"}),
    "ResourceId": (True, "text"),
    "ResourceType": (True, "text"),
    "SkuId": (True, "text"),
    "SubAccountId": (True, "text"),
    "SubAccountName": (True, "text"),
    "Tags": (True, "tags"),
}
OWN = {"x_LedgerBucket": (False, "text"), "x_UnitMs": (False, "whole")}
COLUMNS = {**MANDATORY, **CONDITIONAL, **OWN}
PAIRS = (("ConsumedQuantity", "ConsumedUnit"), ("PricingQuantity", "PricingUnit"),
         ("SubAccountId", "SubAccountName"),
         ("CapacityReservationId", "CapacityReservationStatus"))


def time_of(text):
    return datetime.datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ")


def is_time(text):
    try:
        return time_of(text) is not None and len(text) == 20
    except ValueError:
        return False


def is_tags(text):
    try:
        tags = json.loads(text)
    except ValueError:
        return False
    return isinstance(tags, dict) and all(
        isinstance(v, (str, int, float, bool)) for v in tags.values())


IS = {
    "text": lambda text: text == text.strip() and text.isprintable() and text.lower() != "null",
    "decimal": lambda text: re.fullmatch(r"-?(0|[1-9]\d*)(\.\d+)?", text) is not None,
    "whole": lambda text: re.fullmatch(r"-?(0|[1-9]\d*)", text) is not None,
    "currency": lambda text: re.fullmatch(r"[A-Z]{3}", text) is not None,
    "time": is_time,
    "tags": is_tags,
}


def check_columns(names):
    for name in MANDATORY:
        if name not in names:
            yield f"column {name} is missing"
    for name in names:
        if names.count(name) > 1:
            yield f"column {name} stands twice"
        if name not in COLUMNS and not re.fullmatch(r"x_[A-Z][A-Za-z]*", name):
            yield f"column {name} is not of FOCUS 1.2, and does not begin with x_"


def check_fields(row):
    for name, text in row.items():
        if name not in COLUMNS:
            continue
        nullable, kind = COLUMNS[name]
        if text == "" or text is None:
            if not nullable:
                yield f"{name} is null"
        elif isinstance(kind, set):
            if text not in kind:
                yield f"{name} is '{text}', which is not allowed"
        elif not IS[kind](text):
            yield f"{name} is '{text}', which is no {kind}"


def check_times(row):
    start, end = time_of(row["ChargePeriodStart"]), time_of(row["ChargePeriodEnd"])
    month, after = time_of(row["BillingPeriodStart"]), time_of(row["BillingPeriodEnd"])
    if not start < end:
        yield "the charge period has no length"
    if not (month <= start and end <= after):
        yield "the charge period is not inside the billing period"
    if start.date() != (end - datetime.timedelta(seconds=1)).date():
        yield "the charge period is longer than a day"
    if month.day != 1 or after.day != 1 or not 28 <= (after - month).days <= 31 or \
            month.time() != datetime.time() or after.time() != datetime.time():
        yield "the billing period is no month"


def check_money(row):
    costs = [Decimal(row[c]) for c in ("BilledCost", "ContractedCost", "EffectiveCost", "ListCost")]
    amount = int(row["x_UnitMs"])
    if len(set(costs)) != 1:
        yield "the costs differ, and there are no discounts here"
    if row["ChargeCategory"] == "Credit":
        if amount >= 0 or costs[0] > 0:
            yield "a credit is not negative"
        if row["ConsumedQuantity"] or row["PricingQuantity"]:
            yield "a credit has a quantity"
        if row["x_LedgerBucket"] != "lost":
            yield "a credit is not for lost work"
        return
    if amount <= 0 or costs[0] < 0:
        yield "usage is not positive"
    hours = Decimal(amount) / DEVICE_HOUR
    if row["CapacityReservationStatus"] == "Unused":
        if row["ConsumedQuantity"]:
            yield "what was kept and not used was consumed"
        if row["PricingCategory"] != "Committed" or row["x_LedgerBucket"] != "reserved_unused":
            yield "what was kept and not used is not said to be"
    elif abs(Decimal(row["ConsumedQuantity"] or -1) - hours) > NANO:
        yield "ConsumedQuantity is not x_UnitMs in device-hours"
    if abs(Decimal(row["PricingQuantity"] or -1) - hours) > NANO:
        yield "PricingQuantity is not x_UnitMs in device-hours"
    if not row["ListUnitPrice"] or not row["PricingCategory"]:
        yield "usage has no price"
    elif abs(Decimal(row["ListUnitPrice"]) * hours - costs[3]) > NANO:
        yield "ListCost is not ListUnitPrice times the device-hours"


def check_row(row):
    broken = list(check_fields(row))
    yield from broken
    if broken:
        return                                  # the rest would stumble over it
    for a, b in PAIRS:
        if bool(row[a]) != bool(row[b]):
            yield f"{a} and {b}: one is null and the other is not"
    yield from check_times(row)
    yield from check_money(row)


def check_sums(rows, ledger):
    """Of each day and model: the bill's usage by bucket is the ledger's, and all of it capacity."""
    mine = defaultdict(lambda: defaultdict(int))
    for row in rows:
        if row["ChargeCategory"] == "Usage":
            day = row["ChargePeriodStart"][:10]
            mine[day, row["SkuId"]][row["x_LedgerBucket"]] += int(row["x_UnitMs"])
    runs, seen = set(), set()
    for line in ledger:
        runs.add((line["policy"], line["placement"], line["seed"]))
        if line["day"] == "total":
            continue
        key = (line["day"], line["model"])
        seen.add(key)
        names = list(line)
        first = names.index("capacity_unit_ms") + 1
        buckets = names[first:names.index("lost_unit_ms")]
        if sum(mine[key].values()) != int(line["capacity_unit_ms"]):
            yield f"{key}: the usage adds up to {sum(mine[key].values())}, and the capacity is " \
                  f"{line['capacity_unit_ms']}"
        for name in buckets:
            bucket = name[:-len("_unit_ms")]
            if mine[key].pop(bucket, 0) != int(line[name]):
                yield f"{key}: bucket {bucket} differs from the ledger's"
        if mine[key]:
            yield f"{key}: there is no bucket {', '.join(mine[key])}"
    if len(runs) != 1:
        yield f"the ledger is of {len(runs)} runs; a bill is of one"
    for key in set(mine) - seen:
        yield f"{key}: the ledger has no such day and model"


def check(bill, ledger):
    with open(bill, newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file, strict=True)
        names, rows = reader.fieldnames or [], list(reader)
    with open(ledger, newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    findings = list(check_columns(names))
    if not rows:
        findings.append("there is no row")
    if not findings:
        for number, row in enumerate(rows, 2):
            if None in row or None in row.values():
                findings.append(f"line {number}: not as many fields as columns")
            else:
                findings += [f"line {number}: {text}" for text in check_row(row)]
    if not findings:
        findings += check_sums(rows, lines)
    return findings


def report(bill, ledger):
    findings = check(bill, ledger)
    for text in findings[:20]:
        print(f"focus: {text}")
    print(f"focus: {len(findings)} findings against FOCUS 1.2")
    return len(findings)


# ---- the checker itself ----

GOOD = {
    "BilledCost": "2.5", "BillingAccountId": "pool", "BillingAccountName": "a, \"b\"",
    "BillingCurrency": "EUR", "BillingPeriodEnd": "2026-02-01T00:00:00Z",
    "BillingPeriodStart": "2026-01-01T00:00:00Z", "CapacityReservationId": "",
    "CapacityReservationStatus": "", "ChargeCategory": "Usage", "ChargeClass": "",
    "ChargeDescription": "T4: free", "ChargeFrequency": "Usage-Based",
    "ChargePeriodEnd": "2026-01-06T00:00:00Z", "ChargePeriodStart": "2026-01-05T00:00:00Z",
    "ConsumedQuantity": "1", "ConsumedUnit": "Device-Hours", "ContractedCost": "2.5",
    "EffectiveCost": "2.5", "InvoiceIssuerName": "Pool Operator", "ListCost": "2.5",
    "ListUnitPrice": "2.5", "PricingCategory": "Standard", "PricingQuantity": "1",
    "PricingUnit": "Device-Hours", "ProviderName": "p", "PublisherName": "p", "ResourceId": "r",
    "ResourceType": "Accelerator", "ServiceCategory": "Compute", "ServiceName": "s",
    "SkuId": "T4", "SubAccountId": "", "SubAccountName": "", "Tags": "{}",
    "x_LedgerBucket": "free", "x_UnitMs": str(DEVICE_HOUR)}
CREDIT = {**GOOD, "ChargeCategory": "Credit", "ConsumedQuantity": "", "ConsumedUnit": "",
          "PricingQuantity": "", "PricingUnit": "", "PricingCategory": "", "ListUnitPrice": "",
          "BilledCost": "-1", "ContractedCost": "-1", "EffectiveCost": "-1", "ListCost": "-1",
          "x_LedgerBucket": "lost", "x_UnitMs": "-5"}
LINE = {"day": "2026-01-05", "policy": "p", "placement": "c", "seed": "1", "model": "T4",
        "capacity_unit_ms": str(DEVICE_HOUR), "free_unit_ms": str(DEVICE_HOUR),
        "stranded_unit_ms": "0", "lost_unit_ms": "5"}
BROKEN = [
    {"ServiceName": None}, {"Surprise": "1"}, {"BilledCost": ""}, {"BilledCost": "1e3"},
    {"BilledCost": "2,5"}, {"BillingCurrency": "eur"}, {"ChargeCategory": "Use"},
    {"ChargeClass": "None"}, {"ServiceCategory": "Accelerators"}, {"Tags": "{'a': 1}"},
    {"Tags": "[]"}, {"CapacityReservationStatus": "Unused"}, {"SubAccountId": "a"},
    {"ConsumedUnit": ""}, {"ChargePeriodEnd": "2026-01-05T00:00:00Z"},
    {"ChargePeriodEnd": "2026-01-07T00:00:00Z"}, {"ChargePeriodStart": "2026-01-05 00:00:00"},
    {"BillingPeriodEnd": "2026-01-05T00:00:00Z"}, {"BillingPeriodStart": "2026-01-02T00:00:00Z"},
    {"ListCost": "2.6"}, {"ListUnitPrice": "2.6"}, {"ListUnitPrice": ""},
    {"PricingQuantity": "2"}, {"ConsumedQuantity": "0.5"}, {"x_UnitMs": "1.5"},
    {"x_UnitMs": "-1"}, {"x_LedgerBucket": "stranded"}, {"x_LedgerBucket": "lost"},
    {"SkuId": "V100"}, {"ChargeDescription": " T4"}, {"ProviderName": "null"}]


def write(path, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def self_test():
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        bill, ledger = os.path.join(folder, "bill"), os.path.join(folder, "ledger")
        write(ledger, [LINE, {**LINE, "day": "total"}])
        write(bill, [GOOD, CREDIT])
        if check(bill, ledger):
            bad += 1
            print("a good bill:", check(bill, ledger))
        for change in BROKEN:
            row = {k: v for k, v in {**GOOD, **change}.items() if v is not None}
            write(bill, [row])
            if not check(bill, ledger):
                bad += 1
                print("not found:", change)
        for change in ({"x_UnitMs": "5"}, {"BilledCost": "1"}, {"PricingQuantity": "1"},
                       {"x_LedgerBucket": "free"}):
            write(bill, [GOOD, {**CREDIT, **change}])
            if not check(bill, ledger):
                bad += 1
                print("not found in a credit:", change)
        with open(bill, "w", encoding="utf-8") as file:
            file.write(",".join(GOOD) + "\n")
        if not check(bill, ledger):
            bad += 1
            print("a bill without rows was fine")
    return bad


def main():
    if sys.argv[1:] == ["--self-test"]:
        return min(1, self_test())
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    return min(1, report(sys.argv[1], sys.argv[2]))


if __name__ == "__main__":
    sys.exit(main())
