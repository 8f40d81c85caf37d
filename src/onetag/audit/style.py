"""How the page looks: dark where the reader's system is dark, one column on a phone."""

STYLE = """
:root{color-scheme:light dark;--ink:#1b1f24;--soft:#5b6570;--line:#d8dee4;--paper:#fff;--panel:#f6f8fa;
--bar:#0072b2;--error:#b3261e;--warning:#8a5a00;--fine:#0b6e4f}
@media(prefers-color-scheme:dark){:root{--ink:#e8eaed;--soft:#a7b0ba;--line:#3a424b;--paper:#15181c;--panel:#1d2126;
--bar:#56b4e9;--error:#ff8a80;--warning:#f0b95a;--fine:#5fd0a5}}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.55 system-ui,sans-serif}
main{max-width:62rem;margin:0 auto;padding:1.5rem 1rem 4rem}
h1{font-size:1.6rem;margin:.2em 0;overflow-wrap:anywhere}
h2{margin:2rem 0 .5rem}
h3{font-size:1rem;margin:0}
.chips{display:flex;flex-wrap:wrap;gap:.5rem;margin:.6rem 0}
.chip{border:1px solid currentColor;border-radius:999px;padding:.05rem .8rem;font-weight:600}
.error>h3,.chip.error{color:var(--error)}
.warning>h3,.chip.warning{color:var(--warning)}
.chip.fine{color:var(--fine)}
section{border:1px solid var(--line);border-left:4px solid var(--soft);border-radius:6px;padding:.7rem .9rem;margin:.7rem 0;
background:var(--panel)}
section.error{border-left-color:var(--error)}
section.warning{border-left-color:var(--warning)}
.note{color:var(--soft);font-size:.9rem}
ul.note{padding-left:1.2rem}
.gallery{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,17rem),1fr));gap:.8rem;margin:.8rem 0 .3rem}
figure{margin:0;display:grid;gap:.3rem;align-content:start}
figure.n2{grid-template-columns:1fr 1fr}
figure img,.broken{width:100%;height:8rem;object-fit:contain;background:var(--paper);border-radius:4px;border:1px solid var(--line);
box-sizing:border-box}
.broken{display:flex;align-items:center;justify-content:center;color:var(--soft);font-size:.85rem;border-style:dashed;height:3.5rem}
figcaption{grid-column:1/-1;font-size:.82rem;color:var(--soft);overflow-wrap:anywhere}
pre{font:13px/1.5 ui-monospace,monospace;overflow:auto;max-height:24rem;margin:.5rem 0 0;white-space:pre}
details{margin-top:.5rem}
summary{cursor:pointer;color:var(--soft);font-size:.9rem}
table{border-collapse:collapse}
th,td{padding:.3rem .8rem .3rem 0;border-bottom:1px solid var(--line);text-align:left;vertical-align:top;font-weight:400}
td{overflow-wrap:anywhere}
th{color:var(--soft)}
.chart{display:block;margin:.8rem 0;max-width:48rem}
.chart rect,.chart polygon{fill:var(--bar)}
.chart text{fill:var(--ink);font-size:13px}
.chart .number{fill:var(--soft);font-size:12px}
"""
