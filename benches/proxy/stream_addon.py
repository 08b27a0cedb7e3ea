"""For mitmproxy: pass event streams on as they arrive, and keep what passed, as a recorder would."""


def responseheaders(flow):
    if flow.response.headers.get("content-type", "").startswith("text/event-stream"):
        flow.metadata["copy"] = []

        def keep(data):
            flow.metadata["copy"].append(data)
            return data

        flow.response.stream = keep
