"""What recording a call costs, beside a span of OpenTelemetry's SDK with the call's arguments as attributes, in one run.

    pip install opentelemetry-sdk; python benches/overhead.py
"""

import json
import statistics
import tempfile
import time

from opentelemetry.sdk.trace import TracerProvider

from toolreplay.tracing import ExecutionRecorder

CALLS, ROUNDS = 2_000, 15


def call(path, limit=10):
    return {"lines": limit, "path": path}


def rounds(make):
    """The median time of one call, in microseconds, over rounds that each start afresh."""
    times = []
    for _ in range(ROUNDS):
        function = make()
        began = time.perf_counter()
        for _ in range(CALLS):
            function("docs/readme.md", limit=20)
        times.append((time.perf_counter() - began) / CALLS * 1e6)
    return statistics.median(times)


def opentelemetry():
    tracer = TracerProvider(shutdown_on_exit=False).get_tracer("bench")

    def traced(path, limit=10):
        with tracer.start_as_current_span("call") as span:
            span.set_attribute("input", json.dumps({"path": path, "limit": limit}))
            result = call(path, limit)
            span.set_attribute("output", json.dumps(result))
            return result

    return traced


def to_file():
    folder = tempfile.mkdtemp()
    return ExecutionRecorder(output=f"{folder}/run.jsonl").wrap(call)


if __name__ == "__main__":
    bare = rounds(lambda: call)
    for name, make in (
        ("opentelemetry-sdk, no exporter", opentelemetry),
        ("toolreplay, in memory", lambda: ExecutionRecorder().wrap(call)),
        ("toolreplay, into a file", to_file),
    ):
        print(f"{name:32} {rounds(make) - bare:6.1f} us a call")
