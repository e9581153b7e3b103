"""The style sheet of a report: light and dark, for wide screens, phones and paper."""

from __future__ import annotations

CSS = """\
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
details div,.scroll{overflow-x:auto}
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
