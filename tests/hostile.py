"""Forty texts that try to break out of a report: names of models and tasks, outputs, references, warnings, file names.

A format passes where none of them runs, none breaks the document around it, and all can be read: what cannot be seen, such as
U+202E, is shown by its code.
"""

HOSTILE: dict[str, str] = {
    # HTML and scripts
    "script": "<script>alert(1)</script>",
    "script end": "</script><script>alert(2)</script>",
    "script in json": '{"a":"</script><img src=x onerror=alert(3)>"}',
    "image handler": "<img src=x onerror=alert(4)>",
    "svg handler": "<svg/onload=alert(5)>",
    "attribute": '" onmouseover="alert(6)" x="',
    "single attribute": "' onfocus='alert(7)' autofocus='",
    "javascript address": "javascript:alert(8)",
    "iframe": '<iframe srcdoc="<script>alert(9)</script>"></iframe>',
    "style": "<style>*{display:none}</style>",
    "comment end": "--><script>alert(10)</script><!--",
    "cdata": "]]><script>alert(11)</script><![CDATA[",
    "textarea end": "</textarea></title></style></template>",
    "broken entity": "&lt;b&amp &#x3c;script&#62; &nosuch;",
    "base": '<base href="http://127.0.0.1:9/">',
    # Template languages
    "jinja": "{{ 7*7 }}{% raw %}{# x #}",
    "jinja attribute": "{{ ''.__class__.__mro__ }}",
    "template literal": "${alert(12)}`${7*7}`",
    "angular": "{{constructor.constructor('alert(13)')()}}",
    "format string": "{0.__class__} %s %n %(x)s",
    # Characters that hide, move or end text
    "bidi override": "abc\u202edcba\u202c",
    "bidi isolate": "\u2067abc\u2069\u200f",
    "nul": "a\0b",
    "controls": "a\x07b\x1b[31mred\x1b[0m\x08",
    "zero width": "ad\u200bmin\ufeff\u2060",
    "line separators": "a\u2028b\u2029c\x85d",
    "newlines": "first\nsecond\r\nthird\n\n# heading\n- item",
    "lone surrogate": "half \ud83d of one",
    "combining": "e" + "\u0301\u0316" * 60,
    "very long word": "W" * 10_000,
    "long chinese": "很" * 3_000,
    # Spreadsheets
    "formula": '=HYPERLINK("http://127.0.0.1:9/?"&A1,"click")',
    "dde": "=cmd|'/C calc'!A0",
    "plus": "+1+cmd|' /C calc'!A0",
    "at": "@SUM(1+1)*cmd|' /C calc'!A0",
    "tabbed formula": "\t=1+1",
    "quoted comma": 'a","b\n"=1+1',
    # LaTeX and Markdown
    "latex": r"\input{/etc/passwd}\write18{id} $x$ & # % _ ^ ~ {",
    "latex end": r"\end{tabular}\end{document}\\[1em]*",
    "markdown": "**b** [x](javascript:alert(14)) ![i](http://127.0.0.1:9/) `c` | d\n| --- |\n<!-- -->",
}
"""What each one is, and the text."""
