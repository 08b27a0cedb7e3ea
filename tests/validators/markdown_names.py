"""What renderers make of hostile names in a Markdown report: markdown_names.py REPORT TRANSCRIPT NODE_MODULES

GitHub's own renderer (cmark-gfm with its extensions) and markdown-it with links for what looks like one. In neither may a
name become anything but text in a code span, and every name must come out as it went in.
"""

import html.parser
import json
import pathlib
import re
import subprocess
import sys

import cmarkgfm

MARKDOWN_IT = """
import { createRequire } from "node:module";
const require = createRequire(process.argv[1] + "/");
const markdown = require("markdown-it")({ html: true, linkify: true, typographer: true });
let text = "";
process.stdin.setEncoding("utf8").on("data", (part) => { text += part; });
process.stdin.on("end", () => process.stdout.write(markdown.render(text)));
"""
ALLOWED = {"h2", "p", "ul", "li", "table", "thead", "tbody", "tr", "th", "td", "code"}
# what GitHub links after rendering, in text that is no code
REFERENCES = re.compile(r"@\w|#\d|\bGH-\d|\b[0-9a-f]{7,40}\b|www\.|://|:\w+:|\$")


class Reader(html.parser.HTMLParser):
    """The rows of the tables, and everything that must not be there."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.rows, self.faults, self.code, self.cell = [], [], 0, False

    def handle_starttag(self, tag, attrs):
        if tag not in ALLOWED:
            self.faults.append(f"<{tag}> {dict(attrs)}")
        if tag == "tr":
            self.rows.append([])
        elif tag == "td":
            self.rows[-1].append("")
        self.cell |= tag == "td"
        self.code += tag == "code"

    def handle_endtag(self, tag):
        self.cell &= tag != "td"
        self.code -= tag == "code"

    def handle_data(self, data):
        if self.cell:
            self.rows[-1][-1] += data
        found = None if self.code else REFERENCES.search(data)
        if found:
            self.faults.append(f"{found.group()!r} outside of code: {data!r}")


def check(renderer, rendered, names):
    reader = Reader()
    reader.feed(rendered)
    rows = [row for row in reader.rows if len(row) > 1]
    faults = reader.faults + [f"{len(row)} cells: {row}" for row in rows if len(row) != 6]
    seen = {row[4] for row in rows if len(row) == 6}
    # a cell has no space at its ends
    faults += [f"{name!r} does not come out" for name in names if name not in seen and name.strip() not in seen]
    if faults or not rows:
        sys.exit(f"{renderer}: {len(rows)} rows\n" + "\n".join(faults[:20]))


def main():
    report, transcript, modules = map(pathlib.Path, sys.argv[1:])
    text = report.read_text(encoding="utf-8")
    names = {json.loads(line)["tool"] for line in transcript.read_text(encoding="utf-8").splitlines()}
    check("cmark-gfm", cmarkgfm.github_flavored_markdown_to_html(text), names)
    node = ["node", "--input-type=module", "-e", MARKDOWN_IT, str(modules.resolve())]
    rendered = subprocess.run(node, input=text, capture_output=True, text=True, check=True).stdout
    check("markdown-it", rendered, names)


main()
