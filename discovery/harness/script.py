"""The scripts of the models, one for each scenario. All harnesses share them."""

import json
import re
from dataclasses import dataclass
from typing import Any


class ScriptedFailure(Exception):
    """A failure in a script. Its text reaches the client in RUN_ERROR."""


@dataclass(frozen=True)
class Say:
    """Text with one streamed delta per chunk and a pause in seconds after each."""

    chunks: tuple[str, ...]
    pause: float = 0.003


@dataclass(frozen=True)
class Think(Say):
    """Like Say, but for reasoning."""


@dataclass(frozen=True)
class Call:
    """A call of the tool `name`. The `id` is used by models that choose ids."""

    name: str
    args: dict[str, Any]
    id: str

    def pieces(self) -> tuple[str, str]:
        """Returns the JSON of the arguments in two pieces, as providers stream it."""
        text = json.dumps(self.args)
        return text[: len(text) // 2], text[len(text) // 2 :]


@dataclass(frozen=True)
class Wait:
    """A pause without output."""

    seconds: float


@dataclass(frozen=True)
class Fail:
    """A failure of the model."""

    message: str


Step = Say | Call | Wait | Fail
Turn = tuple[Step, ...]
Script = tuple[Turn, ...]


def words(text: str) -> tuple[str, ...]:
    """Splits text into words, keeping the spaces."""
    first, *rest = text.split(" ")
    return (first, *(" " + word for word in rest))


def say(text: str) -> Say:
    """Returns text to be streamed word by word."""
    return Say(words(text))


def think(text: str) -> Think:
    """Returns reasoning to be streamed word by word."""
    return Think(words(text))


def tokens(text: str) -> tuple[str, ...]:
    """Splits text into pieces about as long as the tokens of a model."""
    return tuple(re.findall(r" ?\w{1,8}| ?[^\w\s]{1,8}|\s+", text))


def reply(text: str, each: int = 1) -> Say:
    """Returns text to be streamed as a model does, with `each` tokens per delta."""
    pieces = tokens(text)
    return Say(tuple("".join(pieces[n : n + each]) for n in range(0, len(pieces), each)), pause=0.001)


def count(deltas: int) -> Script:
    """Returns a script of numbers, one per delta. Integrations with large events use fewer."""
    return ((Say(tuple(f"{n} " for n in range(deltas - 1)) + (str(deltas - 1),), pause=0),),)


def turn(script: Script, done: int) -> Turn:
    """Returns the turn after `done` other turns.

    The number of turns done follows from the request, so no state is kept between
    calls, and the same requests have the same replies in every process.
    """
    if done >= len(script):
        raise ScriptedFailure(f"the script has {len(script)} turns, turn {done + 1} was asked for")
    return script[done]


# Written as escapes because most of these characters are invisible or affect the display of this file.
UNICODE_CHUNKS = (
    "emoji: \U0001F600 family: \U0001F468\u200d",  # the ZWJ sequence is cut across two deltas
    "\U0001F469\u200d\U0001F467 flag: \U0001F1F3",  # and so is the flag
    "\U0001F1F4 skin: \U0001F44B\U0001F3FD",
    " astral: \U00010348 \U0001D11E \U00020BB7 \U0010FFFD",
    " combining: e",
    "\u0301 o\u0308 Z\u0351\u036B\u0343",  # the first mark arrives without its base letter
    " lines: a\r\nb\nc\rd",
    " separators: \u2028|\u2029|\u0085|\u000b|\u000c",
    " invisible: \uFEFF|\u200b|\u00ad",
    " controls: \u0000|\u0001|\u001b[31mred\u001b[0m|\u007f|\u009b",
    " markup: </script><!-- &amp; \"quoted\" back\\slash",
    " bidi: \u202Etxet desrever\u202C \u2066isolate\u2069",
    " last: \uFFFD \uFFFE \uE000",
)

# Five replies of one conversation, formatted like those of real models. README.md explains their
# lengths. Tabs and trailing spaces are written as escapes, because an editor could remove them.
REPLIES = (
    """\
A CSV file is a table kept as plain text:

- each **line** is one row,
- a **comma** stands between two cells,
- the first line often names the columns.

For example:

```csv
station,date,rentals
Harbour,2024-05-01,118
"Mill Street, north",2024-05-01,64
```

The quotes in the last line keep a comma *inside* a cell from ending it. Almost every spreadsheet can \
open such a file, and any text editor will show you what is really in it. Shall I show you how to read one?""",
    """\
You can read it with the `csv` module, which comes with Python:

```python
import csv

with open("rentals.csv", newline="", encoding="utf-8") as file:
    for row in csv.DictReader(file):
        print(row["station"], int(row["rentals"]))
```

A few notes:

1. `newline=""` leaves line ends to the module. Without it, a line break inside a quoted cell can come out wrong.
2. `encoding="utf-8"` matters if a name has letters such as \u201c\u00e5\u201d or \u201c\u00e9\u201d. Files from a \
spreadsheet may start with a byte order mark; then use `"utf-8-sig"`.
3. Every value is a **string**, so numbers have to be converted, as `int(...)` does above.

`DictReader` takes the names of the columns from the first line. If your file has no such line, pass the names yourself, in order:

```python
reader = csv.DictReader(file, fieldnames=["station", "date", "rentals"])
```
""",
    """\
## `csv` or pandas?

Both read your file well. Which one to take depends on what comes **after** reading.

| | `csv` | pandas |
|---|---|---|
| Installation | none, it is part of Python | `pip install pandas` |
| Memory | one row at a time | the whole table |
| Types | strings only | guesses numbers, dates on request |
| Missing values | empty strings | `NaN` |
| Group by, join, plot | you write it | built in |

### Take `csv` if

- the file is larger than your memory,
- the script has to run where nothing can be installed, or
- you only pass rows on, one after the other (`read \u2192 check \u2192 write`).

### Take pandas if

- you want sums, averages or tables by more than one column,
- you compare several files, or
- you look at the data in a notebook.

The sum of rentals for each station is one line in pandas:

```python
import pandas as pd

rentals = pd.read_csv("rentals.csv")
print(rentals.groupby("station")["rentals"].sum())
```

With `csv` it is about five lines, and for a file of a few megabytes you will not notice a difference in \
speed. One thing to watch: pandas *guesses* types, so a column of ids such as `00417` becomes the number \
417 unless you say `dtype={"id": str}`.

For a script that you run once a month on a small file, I would start with `csv`.
""",
    """\
Most trouble with CSV files comes from the same few places. Here they are, the most frequent first.

### 1. Commas and quotes inside a cell

A cell with a comma must be quoted, and a quote inside a quoted cell is written twice:

```csv
station,remark
"Mill Street, north","The sign says ""No entry""."
```

Splitting a line by hand breaks here:

```python
>>> '"Mill Street, north",64'.split(",")
['"Mill Street', ' north"', '64']
```

**Use a real parser**, even for a quick look.

### 2. Another delimiter

Where a comma separates decimals (`3,14`), spreadsheets write semicolons instead; others use tabs:

```python
reader = csv.reader(file, delimiter=";")   # or delimiter="\\t"
```

### 3. The encoding

| You see | The file is | Read it with |
|---|---|---|
| `MÃ¼nchen` | UTF-8, read as Latin-1 | `encoding="utf-8"` |
| `\ufffd` in place of a letter | Latin-1, read as UTF-8 | `encoding="cp1252"` |
| `\\ufeffstation` as the first name | UTF-8 with a byte order mark | `encoding="utf-8-sig"` |

### 4. Text that came from a web page

Cells may hold HTML entities: `Fish &amp; Chips`, `5 &lt; 7`, `&quot;North&quot;`, or `&nbsp;` where you \
expect a space. Python can undo them:

```python
import html

html.unescape("Fish &amp; Chips")   # 'Fish & Chips'
```

Do this **after** parsing, never before: an unescaped `&quot;` is a quote, and would end the cell.

### 5. Spaces and empty lines

- `"Harbour "` and `"Harbour"` are two stations to a program. Call `.strip()`.
- An empty line at the end is no row; `DictReader` skips it, `reader` gives `[]`.
- A line with too few cells gives `None` for those missing.

### A quick check

Before you trust a file, count the cells of each line:

```python
from collections import Counter

print(Counter(len(row) for row in csv.reader(file)))
```

If that prints more than one length, find out why first: a line that is too long usually has a comma that should be quoted,
and one that is too short was cut off.
""",
    """\
# A monthly report of rentals

The script below reads `rentals.csv`, adds up the rentals of each station, and writes an HTML page with a \
table. It needs nothing but Python 3.9 or newer.

## The script

Save this as `report.py`:

```python
#!/usr/bin/env python3
\"\"\"Adds up rentals by station and writes a table in HTML.\"\"\"

import csv
import html
import sys
from collections import defaultdict


def read(path):
    totals = defaultdict(int)
    with open(path, newline="", encoding="utf-8-sig") as file:
        for number, row in enumerate(csv.DictReader(file), start=2):
            station = (row["station"] or "").strip()
            try:
                rentals = int(row["rentals"])
            except (TypeError, ValueError):
                print(f"line {number}: {row['rentals']!r} is no number", file=sys.stderr)
                continue
            if station and rentals >= 0:
                totals[station] += rentals
    return totals


def page(totals):
    rows = "\\n".join(
        f"  <tr><td>{html.escape(name)}</td><td>{count:,}</td></tr>"
        for name, count in sorted(totals.items(), key=lambda item: -item[1])
    )
    return f"<table>\\n  <tr><th>Station</th><th>Rentals</th></tr>\\n{rows}\\n</table>\\n"


if __name__ == "__main__":
    print(page(read(sys.argv[1])), end="")
```

## How it works

1. **Reading.** `DictReader` gives one dictionary a row. The encoding `utf-8-sig` also accepts files that \
start with a byte order mark.
2. **Checking.** A cell that is no number is reported with its line and skipped:
   - the report goes to *standard error*, so it does not end up in the page;
   - an empty station, or a count < 0, is left out silently.
3. **Writing.** `html.escape` turns `&`, `<`, `>`, `"` and `'` into entities. A station called \
`Fish & Chips <Pier>` becomes `Fish &amp; Chips &lt;Pier&gt;`, and the browser shows it as it was.

## Running it

```sh
python3 report.py rentals.csv > report.html && echo "done"
```

For your example the page holds this:

| Station | Rentals |
|:---|---:|
| Harbour | 3,481 |
| Mill Street, north | 1,907 |
| Fish &amp; Chips \u201cPier\u201d | 655 |

If you want it every month, a `Makefile` is enough. Its second line must start with a **tab**, not with spaces:

```make
report.html: report.py rentals.csv
\tpython3 report.py rentals.csv > $@.new && mv $@.new $@

clean:
\trm -f report.html report.html.new
```

## Testing it

Write three lines to a file, one of them wrong, and look at both outputs:

```console
$ printf 'station,rentals\\nPier,2\\nPier,x\\nPier,3\\n' > test.csv
$ python3 report.py test.csv
line 3: 'x' is no number
<table>
  <tr><th>Station</th><th>Rentals</th></tr>
  <tr><td>Pier</td><td>5</td></tr>
</table>
```

If you see `5` and one complaint, all is well.

> **Note:** the page is written to `report.html.new` first, so a failure never leaves you with half a page.

## What it leaves out

- *Dates.* All rows are added up, whatever their month. To take one month only, add a condition:

\t  if not row["date"].startswith("2024-05"):
\t      continue

- *Several files.* Call `read` for each, and add the results.
- *Rentals that were returned at another station.* They count where they **began**.

---

To put the page on your site, send the file to the person who looks after it:\x20\x20
bike rentals \u2013 monthly report\x20\x20
one file, no scripts, about 2&nbsp;KB

Tell me if the counts look wrong for a station. The first thing I'd check is whether its name is spelled the \
same way everywhere: "Mill Street, north" and "Mill Street north" are two stations here. \U0001F6B2
""",
)


def chat(turns: int) -> Script:
    """Returns a script that repeats the replies in order, regardless of the request."""
    return tuple((reply(REPLIES[n % len(REPLIES)]),) for n in range(turns))


def long_reply(each: int = 1) -> Script:
    """Returns a script with the last reply in every turn, because some integrations drop the request's history."""
    return ((reply(REPLIES[-1], each),),) * len(REPLIES)


# Scripts by the path of the scenario's request. In "two-agents", the two agents of TEAM answer in turn.
SCRIPTS: dict[str, Script] = {
    "one-turn": ((say("The capital of France is Paris."),),),
    "three-turns": (
        (say("Oslo is the capital of Norway."),),
        (say("About 720,000 people live there."),),
        (say("The Akerselva runs through it."),),
    ),
    "backend-tool": (
        (Call("get_weather", {"city": "Oslo"}, "call-weather"),),
        (say("It rains in Oslo, at 4 degrees."),),
    ),
    "state-change": (
        (say("I will add it."), Call("add_item", {"item": "milk"}, "call-add")),
        (say("Milk is on the list."),),
    ),
    "reasoning": (
        (
            think("17 is not divisible by 2 or 3, and 5 times 5 is more than 17."),
            say("Yes, 17 is a prime number."),
        ),
    ),
    "model-error": ((say("The first part of the answer"), Fail("scripted model failure")),),
    "long-stream": count(3000),
    "unicode": ((Say(UNICODE_CHUNKS),),),
    "researcher": ((say("Fjords were carved by glaciers."),),),
    "writer": ((say("Ice made the fjords."),),),
    "client-tool": (
        (say("Let me ask you."), Call("choose_color", {"options": ["red", "blue"]}, "call-color")),
    ),
    "confirmation": ((Call("delete_file", {"path": "notes.txt"}, "call-delete"),),),
    "parent-run": ((say("This run has a parent."),),),
    "snapshot-off": ((say("No snapshot follows this text."),),),
    "empty-reply": ((),),
    "multimodal": ((say("The picture is one red pixel."),),),
    "keep-alive": ((Wait(17), say("Thank you for waiting.")),),
    "refused": ((say("A refused request never gets here."),),),
    "long-reply": long_reply(),
    "no-ids": ((say("This conversation had no ids."),),),
    "empty-ids": ((say("This conversation had empty ids."),),),
    "chat": chat(1000),  # for lists whose scenarios are all posted to one URL
}

TEAM = ("researcher", "writer")
SINGLE_AGENT = tuple(path for path in SCRIPTS if path not in TEAM)
