"""What all pages share: their frame and style sheet, figures and tables.

A page needs no network, no JavaScript and no other file.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from jobmon.views.model import stamp
from jobmon_core import __version__
from jobmon_core.domain.visible_text import in_html

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from jobmon.views.console import Lines

# the style sheet: light and dark, for wide screens, phones and paper
_CSS = """\
:root{color-scheme:light dark;--bg:#fbfbfa;--card:#fff;--text:#1c2024;--soft:#5b6470;--edge:#dde1e6;
--grid:#e6e9ed;--good:#14713d;--bad:#b3261e;--warn:#8a5800;--c0:#0b62b0;--c1:#b8480a;--c2:#157a4a;
--c3:#8443b8;--c4:#0c7586;--c5:#b52a74;--c6:#7d6109;--c7:#59636e;--band:#0b62b024}
@media(prefers-color-scheme:dark){:root{--bg:#14171b;--card:#1c2025;--text:#e8eaed;--soft:#a5afba;
--edge:#343b44;--grid:#2b3138;--good:#5fd391;--bad:#ff8a80;--warn:#f0b95a;--c0:#6cb4ff;--c1:#ff9d5c;
--c2:#5fd391;--c3:#cba0ff;--c4:#54d0de;--c5:#ff8cc4;--c6:#dcbc5c;--c7:#b0bac5;--band:#6cb4ff2e}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:62rem;padding:1.2rem 1rem 3rem;background:var(--bg);color:var(--text);
font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
h1{font-size:1.5rem;line-height:1.25;margin:0;overflow-wrap:anywhere}
h2{font-size:1.12rem;margin:2rem 0 .6rem}h3{font-size:1rem;margin:0;overflow-wrap:anywhere}
header p{margin:.3rem 0 0;color:var(--soft)}
.state{display:inline-block;font-weight:600;padding:.1rem .6rem;border:1.5px solid;border-radius:1rem;
margin-top:.5rem}
.state.good{color:var(--good)}.state.bad{color:var(--bad)}
.card,figure,.tiles div{background:var(--card);border:1px solid var(--edge);border-radius:.5rem}
.card{padding:.9rem 1rem;margin-top:1rem}.card.bad{border-left:.3rem solid var(--bad)}
.card p{margin:.4rem 0}.card ol,.card ul{margin:.3rem 0;padding-left:1.4rem}
pre{margin:.5rem 0;padding:.6rem .7rem;background:var(--bg);border:1px solid var(--edge);
border-radius:.35rem;white-space:pre-wrap;overflow-wrap:anywhere}
pre,code{font:13px/1.45 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
.source{color:var(--soft);font-size:.87rem;overflow-wrap:anywhere}
.tiles{display:grid;grid-template-columns:repeat(auto-fill,minmax(13.5rem,1fr));gap:.6rem;margin:1rem 0 0}
.tiles div{padding:.5rem .8rem}.tiles dt{color:var(--soft);font-size:.82rem}
.tiles dd{margin:0;overflow-wrap:anywhere}
figure{margin:.8rem 0;padding:.8rem 1rem .5rem}
figcaption p{margin:0 0 .2rem;color:var(--soft);font-size:.85rem}
.chart{display:block;overflow:visible;margin-left:3.1rem;width:calc(100% - 3.1rem)}
.chart text{font-size:12px;fill:var(--soft);font-variant-numeric:tabular-nums}
.line{fill:none;stroke-width:1.7;stroke-linejoin:round;vector-effect:non-scaling-stroke}
.c0{stroke:var(--c0)}.c1{stroke:var(--c1)}.c2{stroke:var(--c2)}.c3{stroke:var(--c3)}
.c4{stroke:var(--c4)}.c5{stroke:var(--c5)}.c6{stroke:var(--c6)}.c7{stroke:var(--c7)}
.d1{stroke-dasharray:7 3}.d2{stroke-dasharray:2 2.5}.d3{stroke-dasharray:9 3 2 3}
.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(27rem,100%),1fr));gap:.8rem;
margin:.8rem 0}.figures figure{margin:0;min-width:0}#hours,#pace{grid-column:1/-1}
.list{margin-left:0;width:100%}.chart .value{fill:var(--text)}.patterns{position:absolute}
.bar{stroke:var(--card)}.bar.good,.dot path{fill:var(--good)}.patterns .gap{fill:var(--card)}
.patterns .bad{fill:var(--bad)}.patterns .soft{fill:var(--soft)}.patterns .warn,
.dot.warn path{fill:var(--warn)}
.dot{overflow:visible}.dot.bad path,.dot.soft path,.dot.odd path{fill:none;stroke:var(--bad);stroke-width:1.7}
.dot.soft path,.dot.odd path{stroke:var(--soft)}.dot.this path{fill:var(--text);stroke:var(--card)}
.band{fill:var(--band);stroke:none}
.grid{stroke:var(--grid)}.axis{stroke:var(--soft)}
line.limit{stroke:var(--soft);stroke-dasharray:5 4}
.mark line{stroke-width:1.2;stroke-dasharray:3 3}.mark text{font-weight:600}
.critical line{stroke:var(--bad)}.chart .critical text{fill:var(--bad)}
.warning line{stroke:var(--warn)}.chart .warning text{fill:var(--warn)}
.good line{stroke:var(--good)}.chart .good text{fill:var(--good)}
.legend{list-style:none;display:flex;flex-wrap:wrap;gap:.1rem 1.1rem;margin:.2rem 0 .3rem;padding:0;
font-size:.85rem}.legend span{color:var(--soft)}.legend svg{vertical-align:middle;margin-right:.4rem}
details{font-size:.87rem;margin-top:.2rem}summary{color:var(--soft);cursor:pointer}
details div,.scroll{overflow-x:auto}.scroll{max-height:22rem;overflow-y:auto}
table{border-collapse:collapse;font-size:.87rem;font-variant-numeric:tabular-nums}
th,td{padding:.22rem .8rem .22rem 0;text-align:right;border-bottom:1px solid var(--edge);white-space:nowrap}
th{font-weight:600}thead th{color:var(--soft)}
.words td,.words th,th[scope=row]{text-align:left}.words td:last-child{white-space:normal}
.events{list-style:none;padding:0;margin:0}
.events li{display:grid;grid-template-columns:1.9rem 5.2rem 1fr;gap:0 .5rem;padding:.3rem 0;
border-bottom:1px solid var(--edge)}
.events b{text-align:center}.events time{color:var(--soft);font-variant-numeric:tabular-nums}
.events .critical b{color:var(--bad)}.events .warning b{color:var(--warn)}.events .good b{color:var(--good)}
.events p{margin:0;overflow-wrap:anywhere}.events small{color:var(--soft)}
footer{margin-top:2rem;color:var(--soft);font-size:.85rem}
@media(max-width:32rem){.tiles{grid-template-columns:repeat(auto-fill,minmax(9.5rem,1fr))}
figure{padding:.7rem .6rem .4rem}.events li{grid-template-columns:1.2rem 4rem 1fr}}
@media print{figure,.card{break-inside:avoid}body{background:none}}
"""

# whatever a log contains, the page loads and runs nothing where it is opened
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
_CODE = re.compile(r"`([^`]*)`")
_NOT_TEXT = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def page_html(title: str, body: Iterable[str], now_s: float) -> str:
    """Return a page: a polyglot of HTML and XML, so that any parser can check it."""
    parts = (
        '<!DOCTYPE html>\n<html lang="en" xmlns="http://www.w3.org/1999/xhtml">\n<head>',
        '<meta charset="utf-8"/>',
        f'<meta http-equiv="Content-Security-Policy" content="{in_html(_POLICY)}"/>',
        '<meta name="viewport" content="width=device-width, initial-scale=1"/>',
        f"<title>{in_html(title)}</title>\n<style>\n{_CSS}</style>\n</head>\n<body>",
        *body,
        f"<footer>Written by jobmon {in_html(__version__)} at {stamp(now_s)}.</footer>",
        "</body>\n</html>\n",
    )
    return _NOT_TEXT.sub(" ", "\n".join(parts))


def prose(text: str) -> str:
    """Return a text with what stands between backticks as code."""
    return _CODE.sub(r"<code>\1</code>", in_html(text))


def tiles(figures: Iterable[tuple[str, str]]) -> str:
    """Return figures by name, side by side."""
    cells = (f"<div><dt>{name}</dt><dd>{in_html(value)}</dd></div>" for name, value in figures)
    return f'<dl class="tiles">{"".join(cells)}</dl>'


def table(title: str, names: Iterable[str], rows: Iterable[Sequence[str]]) -> Lines:
    """Yield a table with its heading."""
    yield f'<h2>{in_html(title)}</h2><div class="scroll"><table class="words"><thead><tr>'
    yield "".join(f'<th scope="col">{name}</th>' for name in names)
    yield "</tr></thead><tbody>"
    for row in rows:
        yield "<tr>" + "".join(f"<td>{in_html(cell)}</td>" for cell in row) + "</tr>"
    yield "</tbody></table></div>"
