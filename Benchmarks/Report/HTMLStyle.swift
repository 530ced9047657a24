/// The style sheet of the page, for light and dark mode.
enum HTMLStyle {
  static let text = """
    :root {
      --page: #fdfcfa; --text: #1f1d1a; --quiet: #6b665f; --rule: #e2ddd5; --track: #f1ede6;
      --heartwood: #b5472a; --lmdb: #2f6fa8; --sqlite: #7d8590; --rocksdb: #5f8f3a;
    }
    @media (prefers-color-scheme: dark) {
      :root {
        --page: #181614; --text: #ece8e2; --quiet: #a49d93; --rule: #37322c; --track: #24211d;
        --heartwood: #ee8460; --lmdb: #6fb2ea; --sqlite: #9aa3af; --rocksdb: #a3cf7a;
      }
    }
    * { box-sizing: border-box; }
    body {
      margin: 0; background: var(--page); color: var(--text);
      font: 16px/1.5 system-ui, -apple-system, "Segoe UI", sans-serif;
    }
    main { max-width: 60rem; margin: 0 auto; padding: 2rem 1.25rem 4rem; }
    h1 { font-size: 1.9rem; margin: 0 0 .25rem; }
    h2 { font-size: 1.2rem; margin: 2.75rem 0 .25rem; }
    p { margin: .25rem 0 1rem; color: var(--quiet); max-width: 46rem; }
    .lead { color: var(--text); }
    .key::before, .legend span::before {
      content: ""; display: inline-block; width: .7em; height: .7em; margin-right: .35em;
      border-radius: 2px; background: var(--color);
    }
    .heartwood { --color: var(--heartwood); }
    .lmdb { --color: var(--lmdb); }
    .sqlite { --color: var(--sqlite); }
    .rocksdb { --color: var(--rocksdb); }
    .bars {
      display: grid; grid-template-columns: 9rem 1fr 9rem 12rem; column-gap: .75rem;
      font-variant-numeric: tabular-nums; font-size: .9rem; align-items: center;
    }
    .bars > div { min-height: 1.25rem; }
    .bars .name { border-top: 1px solid var(--rule); padding-top: .5rem; margin-top: .5rem;
      grid-column: 1 / -1; font-weight: 600; }
    .bars .name small { font-weight: 400; color: var(--quiet); margin-left: .5rem; }
    .bars .engine { padding-left: .75rem; color: var(--quiet); }
    .track { background: var(--track); border-radius: 3px; }
    .bar { height: .8rem; border-radius: 3px; background: var(--color); min-width: 2px; }
    .number { text-align: right; white-space: nowrap; }
    .ratio { color: var(--quiet); }
    .ratio b { color: var(--text); }
    figure { margin: 0 0 1rem; }
    svg { width: 100%; height: auto; display: block; font-size: 12px; }
    svg text { fill: var(--quiet); }
    svg .grid { stroke: var(--rule); }
    svg .mark { stroke: var(--quiet); stroke-dasharray: 2 3; }
    svg .line { fill: none; stroke: var(--color); stroke-width: 2; stroke-linejoin: round; }
    svg .dotted { stroke-dasharray: 1 5; stroke-linecap: round; }
    svg .dot { fill: var(--color); }
    .legend { font-size: .85rem; color: var(--quiet); }
    .legend span { margin-right: 1rem; }
    dl { display: grid; grid-template-columns: 8rem 1fr; gap: .15rem 1rem; font-size: .9rem; }
    dt { color: var(--quiet); }
    dd { margin: 0; }
    ul { font-size: .9rem; padding-left: 1.1rem; }
    pre {
      background: var(--track); padding: .75rem 1rem; border-radius: 6px; overflow-x: auto;
      white-space: pre-wrap; overflow-wrap: anywhere;
    }
    @media (max-width: 44rem) {
      .bars { grid-template-columns: 5.5rem 1fr 5rem; }
      .bars .ratio { grid-column: 2 / -1; }
    }
    """
}
