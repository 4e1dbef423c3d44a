"""A26: the known shapes of stack traces."""

import re

SEARCHED = 8192  # code points

# The two lists are copied from the contract.
PARTS = r"""
GAP     (?:[\t-\r ]|\\+[nrt])+
LINE    (?:(?:^|[\t\n\r]|\\[nrt])[ ]?|[ ][ ])
AT      (?:\b|\\[nrt])at[ ]
NAME    [^\t-\r ().\\]+(?:\.+[^\t-\r ().\\]+)+
PLACE   [^\t-\r ]*(?:[^\t-\r 0-9]|[/\\][^\t-\r /\\]*):[0-9]+:[0-9]+
INNER   (?:[^()\n\r]*\([^()\n\r]*\))*[^()\n\r]*(?:[^()\n\r0-9]|[/\\][^\t-\r ()/\\]*):[0-9]+:[0-9]+
SOURCE  [^\t-\r ()]+\.(?:java|kt|kts|scala|groovy|clj)
FUNC    [^\t-\r .:\\]+(?:\.[^\t-\r .:\\]+)+
GOFILE  (?:[^\t-\r /]*/)+[^\t-\r /]*\.go:[0-9]+
IMAGE   [0-9]+(?:[\t ]|\\+t)+[^\t-\r \\]+(?:[\t ]|\\+t)+0x[0-9a-f]{9,16} [^\n\r+]{1,256} \+ [0-9]+
EXFILE  [^\t-\r ()\\]{1,256}\.(?:exs?|eex|heex|leex|erl)
"""

SHAPES = r"""
Python      (?:\+ )?(?:Exception Group )?Traceback \(most recent call last\)
Python      (?:Traceback|Stack) (?:for <[^\n\r]*> )?\(most recent call last\)
Python      (?:Current thread|Thread|Stack) (?:0x[0-9a-f]+ )?\(most recent call first\)
Python      File \\*["'][^"'\n\r]+["'], line [0-9]+,? in[ ]
Python      <FrameSummary file[ ]
JavaScript  <AT>(?:async )?(?:new |get |set )?[^\t-\r ()]+(?:(?: [^\t-\r ()]+)? \[as [^\t-\r ()]+\])? \((?:<anonymous>|wasm://[^\t-\r ()]+|<INNER>)\)
JavaScript  <LINE>at (?:async )?<PLACE>
JavaScript  <AT>(?:async )?<PLACE><GAP>at (?:async )?(?:<PLACE>|(?:new )?[^\t-\r ()]+(?: \[as [^\t-\r ()]+\])? \()
JavaScript  @[a-z][a-z0-9+.-]*://[^\t-\r ]+:[0-9]+:[0-9]+
Java        <AT><NAME>\((?:<SOURCE>(?::[0-9]+)?|Native Method|Unknown Source(?::[0-9]+)?|SourceFile(?::[0-9]+)?|<generated>)\)
Java        \[[^\t-\r ()\[,.]+(?:\.[^\t-\r ()\[,.]+)+\(<SOURCE>:[0-9]+\)[\],]
Go          goroutine [0-9]+ (?:[a-z]+=[^\t-\r ]+ )*\[[^\]\n\r]+\]:
Go          [^\t-\r \\]{0,256}\.(?:go|s):[0-9]+ \+0x[0-9a-f]+
Go          (?:<LINE>|[\t-\r "'])<FUNC>(?:[\n\r]+|\\+[nr])(?:[\t ]|\\+t)+<GOFILE>
Go          (?:<LINE>|[\t-\r ])<FUNC>[\t-\r ]+<GOFILE>[\t-\r ]*<FUNC>[\t-\r ]+<GOFILE>
Rust        [Ss]tack backtrace:
Rust        <LINE>at [^\t-\r ()]+\.rs:[0-9]+
Rust        (?:\b|\\[nrt])[0-9]+: +0x[0-9a-f]{9,16} -[ ]
Rust        (?:\b|\\[nrt])[0-9]+: [^\t-\r \\]+(?: as [^\t-\r \\]+)?<GAP>at [^\t-\r ()]+\.rs:[0-9]+:[0-9]+
Rust        Backtrace \[(?:<GAP>)?\{ fn:[ ]
.NET        <AT>(?:[^\t-\r ()]+ ){0,3}[^\t-\r ()]+\([^()\n\r]*\) in [^\n\r]*:line [0-9]+
.NET        <LINE>at <NAME>\([^()\n\r]*\)
.NET        <AT><NAME>\([^()\n\r]*\)<GAP>at <NAME>\(
.NET        <AT>[^\t-\r ()]+ ?\([^()\n\r]*\) \[0x[0-9a-f]+\] in[ ]
.NET        --- End of (?:inner exception )?stack trace
Rust        thread \\*'[^'\n\r]*' (?:\([0-9]+\) )?panicked at [^\n\r]*\.rs:[0-9]+:[0-9]+
Java        [^\t-\r ()\[,;\\]{1,256}\.[^\t-\r ()\[,;.\\]{1,256}\(<SOURCE>:[0-9]+\)(?:,|;)(?:<GAP>)?[^\t-\r ()\[,;\\]+\(<SOURCE>:[0-9]+\)
.NET        <AT><NAME>\([^()\n\r]*\)(?:<GAP>)?(?:,|;|\|)(?:<GAP>)?at <NAME>\(
PHP         (?:PHP )?Fatal error: +Uncaught [^\n\r]*\.php:[0-9]+
PHP         Stack trace:<GAP>#0[ ]
PHP         #[0-9]+ +(?:[^\t-\r ()]+\.php\([0-9]+\)|\[internal function\]): [^\t-\r ()]+\(
PHP         #[0-9]+ +[^\t-\r ()]+\([^()\n\r]*\) called at \[[^\]\n\r]+:[0-9]+\]
Ruby        (?:[^\t-\r \\]{0,256}\.(?:rb|erb|rake|ru)|-e|<internal:[^\t-\r <>]+>|\(eval[^()\n\r]*\)):[0-9]+:in \\*[\x60']
Swift       [^\t-\r \\]{0,256}\.swift:[0-9]+: (?:Fatal error|Assertion failed|Precondition failed)\b
Swift       (?:Fatal error|Assertion failed|Precondition failed): (?:[^\n\r]*: )?file [^\t-\r "]+\.swift, line [0-9]+
Swift       <LINE><IMAGE>
Swift       (?:\b|\\[nrt])<IMAGE>(?: \([^()\n\r]*\))?(?:<GAP>|\\*", \\*")<IMAGE>
Swift       (?:\b|\\[nrt])[0-9]+ +(?:\[[a-z]+\] +)?(?:0x[0-9a-f]{9,16} )?[^\t-\r ()]+\([^()\n\r]*\)(?: \+ [0-9]+)? in [^\t-\r ]+ at [^\t-\r ]+\.swift:[0-9]+
Elixir      \([a-z][a-z0-9_]* [0-9]+\.[^\t-\r ()]+\) <EXFILE>:[0-9]+:[ ]
Elixir      (?:\([a-z][^()\n\r]{0,64}\) )?<EXFILE>:[0-9]+: (?:anonymous fn/[0-9]+ in )?[^\t-\r ()]+/[0-9]+<GAP>(?:\([a-z][^()\n\r]{0,64}\) )?<EXFILE>:[0-9]+:[ ]
Elixir      \[file: (?:~c)?\\*["'][^"'\n\r]+["'], line: [0-9]+
"""


def _compile():
    parts = dict(line.split(None, 1) for line in PARTS.strip().splitlines())
    shapes = [line.split(None, 1)[1] for line in SHAPES.strip().splitlines()]
    return [
        re.compile(re.sub("<([A-Z]+)>", lambda part: parts[part[1]], shape), re.ASCII)
        for shape in shapes
    ]


_SHAPES = _compile()
_ESCAPED = re.compile(r"\\[nrt]")


def has_trace(text):
    """Returns whether a shape matches anywhere in the searched part of a text."""
    text = text[:SEARCHED]
    return any(shape.search(text) for shape in _SHAPES)


def trace_begin(text):
    """Returns where the stack trace in a text begins, or None.

    The trace begins with the first match and includes the line ends and the white space
    directly before it, escaped or not.
    """
    found = [match.start() for match in (shape.search(text[:SEARCHED]) for shape in _SHAPES) if match]
    if not found:
        return None
    begin = min(found)
    while begin and (text[begin - 1] in "\t\n\v\f\r \\" or _ESCAPED.match(text, max(begin - 2, 0), begin)):
        begin -= 1
    return begin
