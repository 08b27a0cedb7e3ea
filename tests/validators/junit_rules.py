"""Holds a JUnit report to what its strictest readers demand; exits 1 and says what is wrong.

The rules are those of the Jenkins xunit plugin (nothing unknown, no `file` or `line` on a case, no `skipped` on the
root), of surefire (`skipped` on a suite, `time` on a case, `type` on a failure) and of GitLab (names occur once).
"""

import sys
from lxml import etree

KNOWN = {
    "testsuites": {"name", "tests", "failures", "errors", "disabled", "time"},
    "testsuite": {"name", "tests", "failures", "errors", "skipped", "time", "timestamp", "hostname", "id", "package"},
    "testcase": {"name", "classname", "time"},
    "failure": {"type", "message"},
    "error": {"type", "message"},
}
CHILDREN = {
    "testsuites": {"testsuite"},
    "testsuite": {"testcase"},
    "testcase": {"failure", "error"},
    "failure": set(),
    "error": set(),
}
DEMANDED = {
    "testsuite": {"name", "tests", "failures", "errors", "skipped"},
    "testcase": {"name", "classname", "time"},
    "failure": {"type", "message"},
    "error": {"type", "message"},
}


def main(path: str) -> int:
    faults = []
    root = etree.parse(path, etree.XMLParser(resolve_entities=False)).getroot()
    if root.tag != "testsuites":
        faults.append(f"the root is {root.tag}")
    names = set()
    for element in root.iter():
        tag = element.tag
        if tag not in KNOWN:
            faults.append(f"line {element.sourceline}: unknown element {tag}")
            continue
        attributes = set(element.attrib)
        for name in sorted(attributes - KNOWN[tag]):
            faults.append(f"{tag}: unknown attribute {name}")
        for name in sorted(DEMANDED.get(tag, set()) - attributes):
            faults.append(f"{tag}: attribute {name} is missing")
        for child in element:
            if child.tag not in CHILDREN[tag]:
                faults.append(f"{child.tag} inside {tag}")
        if (element.text or "").strip():
            faults.append(f"{tag}: text outside attributes")
        if tag == "testcase":
            if element.get("name") in names:
                faults.append(f"the name {element.get('name')!r} occurs twice")
            names.add(element.get("name"))
    for suite in root.iter("testsuite"):
        cases = suite.findall("testcase")
        counts = {
            "tests": len(cases),
            "failures": sum(case.find("failure") is not None for case in cases),
            "errors": sum(case.find("error") is not None for case in cases),
        }
        for name, count in counts.items():
            if suite.get(name) != str(count):
                faults.append(f"{name} says {suite.get(name)}, there are {count}")
    for fault in faults:
        print(f"{path}: {fault}", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
