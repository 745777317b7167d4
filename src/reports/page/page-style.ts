/** Light and dark by the reader's setting, phone and paper; nothing is fetched. */
export const PAGE_STYLE = `
:root { color-scheme: light dark; font: 15px/1.45 system-ui, sans-serif; }
body { background: light-dark(#fff, #16181c); color: light-dark(#1c1e21, #e6e6e6); margin: 0 auto; max-width: 60rem; padding: 1rem; }
h1 { font-size: 1.4rem; overflow-wrap: anywhere; }
h2 { font-size: 1.1rem; margin: 0 0 .5rem; }
section { break-inside: avoid; margin: 2rem 0; }
.lead { font-size: 1.25rem; line-height: 1.4; }
.quiet { color: light-dark(#555, #b0b0b0); font-size: .85rem; overflow-wrap: anywhere; }
.scroll { overflow-x: auto; }
svg { height: auto; max-width: 100%; }
.chart svg { width: 100%; }
.legend span { print-color-adjust: exact; }
svg.spark { height: 24px; width: 100px; }
.legend { display: flex; flex-wrap: wrap; font-size: .85rem; gap: .25rem 1rem; list-style: none; margin: 0 0 .5rem; padding: 0; }
.legend li { max-width: 100%; overflow-wrap: anywhere; }
.legend span { border-radius: 2px; display: inline-block; height: .7rem; margin-right: .35rem; width: .7rem; }
a { color: light-dark(#1d4fb8, #8ab4ff); }
meter { height: .8rem; width: 5rem; }
table { border-collapse: collapse; font-size: .9rem; width: 100%; }
th, td { border-bottom: 1px solid light-dark(#ddd, #444); max-width: 22rem; overflow-wrap: break-word; padding: .3rem .5rem; text-align: left; vertical-align: top; }
th.number, td.number { font-variant-numeric: tabular-nums; text-align: right; white-space: nowrap; }
li { overflow-wrap: anywhere; }
details { margin-top: .5rem; }
@media screen and (max-width: 40rem) { .chart svg { max-width: none; width: 34rem; } }
@media print { :root { color-scheme: light; font-size: 12px; } body { max-width: none; padding: 0; } .scroll { overflow: visible; } thead { display: table-header-group; } tr { break-inside: avoid; } details:not([open]) { display: none; } }
`;
