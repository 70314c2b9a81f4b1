"""Raw results and CSV of the stand-in for SPEC CPU, in the form of the real ones.

This is a stand-in for tests.  It shares no code with SPEC's tools and is not SPEC CPU.
"""

import base64
import zlib


def write_results(harness, records, builder):
    """The RSF, always, and the CSV where it is asked for."""
    benchmarks = [r["benchmark"] for r in records]
    name = next(
        (s for s, members in sorted(harness.sets.items()) if set(benchmarks) <= set(members) and s != "all"), "all"
    )
    size = harness.options["size"]
    size = "refrate" if size == "ref" and harness.year != 2006 else size
    stem = f"{harness.suite}.{harness.number:03}.{name}.{size}"
    if harness.year == 2006:
        stem = f"C{name.upper()}2006.{harness.number:03}.{size}"
    harness.say(f" label: {harness.options['label']}\n  workload: {size}\n   metric: {name}")
    rsf = harness.root / "result" / f"{stem}.rsf"
    rsf.write_text("\n".join(_rsf(harness, records, builder, name, size)) + "\n")
    harness.say(f"    format: raw -> {rsf}")
    if "csv" in harness.options["output_format"].split(","):
        csv = rsf.with_suffix(".csv")
        csv.write_text("\n".join(_csv(harness, records, size)) + "\n")
        harness.say(f"    format: CSV -> {csv}")


def _rsf(harness, records, builder, name, size):
    p = f"spec.cpu{harness.year}"
    yield f"{p}.hw_cpu_name: a stand-in, not SPEC CPU"
    yield "# =============== do not edit below this point ==================="
    yield f"{p}.basepeak: 0"
    yield f"{p}.errors000: 'reportable' flag not set during run"
    yield f"{p}.invalid: 1"
    yield f"{p}.label: {harness.options['label']}"
    yield f"{p}.lognum: {harness.number:03}.0"
    yield f"{p}.name: {name}"
    packed = base64.b64encode(zlib.compress(harness.config.text.encode())).decode()
    for place, start in enumerate(range(0, len(packed), 76)):
        yield f"{p}.rawconfig{place:03}: {'@' if place == 0 else ''}{packed[start : start + 76]}"
    yield f"{p}.size: {size}"
    counts = {}
    for record in records:
        key = (record["benchmark"], record["tune"])
        index = counts[key] = counts.get(key, -1) + 1
        prefix = f"{p}.results.{record['benchmark'].replace('.', '_')}.{record['tune']}.{index:03}"
        yield from (f"{prefix}.{k}: {v}" for k, v in sorted(_entry(harness, record, builder).items()))
    yield f"{p}.time: {harness.began:.5f}"
    yield f"{p}.valid: X"


def _entry(harness, record, builder):
    ran = record["valid"] != "CE"
    entry = {
        "basepeak": 0,
        "benchmark": record["benchmark"],
        "iteration": record["iteration"],
        "ratio": "--",
        "reference": "--",
        "selected": int(record["valid"] == "S"),
        "submit": 0,
        "valid": record["valid"],
        "reported_time": f"{record['ns'] / 1e9:.6f}" if ran else "--",
        "reported_sec": record["ns"] // 10**9 if ran else "--",
        "reported_nsec": record["ns"] % 10**9 if ran else "--",
    }
    entry |= {f"errors{k:03}": text for k, text in enumerate(record["errors"])}
    if harness.year == 2006:
        entry |= {"clcopies": 1, "ext": harness.options["label"], "mach": "default", "rate": 0, "dp": 6}
    else:
        entry |= {"copies": 1, "threads": 1, "ranks": 1, "label": harness.options["label"], "runmode": "rate"}
    if ran:
        entry |= {"rc": record["rc"], "copytime000": f"{record['ns'] / 1e9:.6f}"}
        if harness.year != 2006:
            entry |= {"exehash": builder.exehashes[record["benchmark"], record["tune"]], "dp": 6}
            entry |= {"rate_start": f"{record['begin']:.5f}", "rate_end": f"{record['end']:.5f}"}
    return entry


def _csv(harness, records, size):
    yield "valid,0"
    yield ""
    if harness.year != 2006:
        yield f'"SPEC CPU{harness.year} Integer Rate Result"'
        yield ""
    yield '"Full Results Table"'
    yield ""
    first, last = ("Ref Time", "Ratio") if harness.year == 2006 else ("# Copies", "Rate")  # of speed, and of rates
    columns = [
        f'"{tune} {first}","Est. {tune} Run Time","Est. {tune} {last}","{tune} Selected","{tune} Status"'
        for tune in ("Base", "Peak")
    ]
    yield f"Benchmark,{','.join(columns)},Description"
    for record in records:
        seconds = f"{record['ns'] / 1e9:.6f}" if record["valid"] != "CE" else "--"
        yield f'{record["benchmark"]},{"--" if harness.year == 2006 else 1},{seconds},--,{int(record["valid"] == "S")},{record["valid"]},,,,,,"{size} iteration #{max(record["iteration"], 0) + 1}"'
    yield ""
    yield '"Selected Results Table"'
    yield ""
