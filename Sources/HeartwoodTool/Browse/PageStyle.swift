/// The style sheet of the page, for light and dark mode and for printing.
enum PageStyle {
  static let text = """
    :root {
      --page: #fdfcfa; --text: #1f1d1a; --quiet: #67625b; --rule: #e0dad1; --shade: #f4f0ea;
      --accent: #a63d22; --note: #fff3d6; --mark: #ffe9a8;
    }
    @media (prefers-color-scheme: dark) {
      :root {
        --page: #181614; --text: #ece8e2; --quiet: #a9a298; --rule: #3a352f; --shade: #23201c;
        --accent: #f0906c; --note: #3a2f16; --mark: #5a4814;
      }
    }
    * { box-sizing: border-box; }
    [hidden] { display: none !important; }
    html { scroll-padding-top: 1rem; }
    body {
      margin: 0; background: var(--page); color: var(--text);
      font: 16px/1.5 system-ui, -apple-system, "Segoe UI", sans-serif;
    }
    main { max-width: 90rem; margin: 0 auto; padding: 2rem 1.25rem 4rem; }
    h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 .25rem; overflow-wrap: anywhere; }
    h2 { font-size: 1.3rem; margin: 3rem 0 0; overflow-wrap: anywhere; }
    h2 small { font-size: 1rem; font-weight: 400; color: var(--quiet); }
    p { margin: 0 0 .25rem; max-width: 60rem; }
    a { color: var(--accent); text-underline-offset: .15em; }
    .lead { font-size: 1.1rem; }
    .quiet { color: var(--quiet); font-size: .9rem; }
    .path { overflow-wrap: anywhere; }
    .note {
      background: var(--note); border-radius: 6px; padding: .5rem .75rem; margin: .5rem 0;
      font-size: .9rem; width: fit-content;
    }
    .entities { columns: 20rem; padding-left: 1.2rem; font-size: .9rem; }
    .entities > li { break-inside: avoid; margin-bottom: .4rem; }
    .entities ul { padding-left: 1rem; color: var(--quiet); list-style: none; }
    :focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 3px; }
    .drawing { overflow-x: auto; margin: .5rem 0; }
    .model { display: block; font-size: 12px; max-width: max(100%, 52rem); height: auto; }
    .model text { fill: var(--text); }
    .model .quiet { fill: var(--quiet); font-size: 11px; }
    .model .name { font-weight: 600; font-size: 13px; }
    .model .abstract { font-style: italic; }
    .model .lead { fill: var(--accent); font-size: 12px; }
    .model .end { text-anchor: end; }
    .model .box { fill: var(--shade); stroke: var(--rule); }
    .model a:hover .box, .model a:focus-visible .box { stroke: var(--accent); stroke-width: 2; }
    .model .rule { stroke: var(--rule); }
    .model .line path, .model .loop { fill: none; stroke: var(--accent); stroke-width: 1.5; }
    .model .line .dot { fill: var(--accent); }
    .model .inherits path { stroke: var(--quiet); }
    .model .inherits .dot { fill: none; }
    .model .inherits .arrow { fill: var(--page); }
    .model .line:hover path { stroke-width: 3; }
    summary { cursor: pointer; }
    section > details { margin: .25rem 0 .5rem; font-size: .9rem; }
    section > details > summary { color: var(--accent); width: fit-content; }
    .properties { display: flex; flex-wrap: wrap; gap: 1rem 2.5rem; margin: .5rem 0; }
    .properties table { height: fit-content; }
    table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
    th, td { text-align: left; vertical-align: top; padding: .25rem .6rem; }
    .properties th, .properties td { padding-left: 0; overflow-wrap: anywhere; }
    th { font-weight: 600; }
    thead th { border-bottom: 1px solid var(--rule); }
    .tools {
      display: flex; flex-wrap: wrap; gap: .5rem 1rem; align-items: center; margin: .5rem 0;
      font-size: .9rem;
    }
    .tools output { color: var(--quiet); }
    .pages { display: flex; gap: .35rem; align-items: center; }
    input, .tools button {
      font: inherit; color: inherit; background: var(--shade); border: 1px solid var(--rule);
      border-radius: 6px; padding: .25rem .6rem;
    }
    input[type="search"] { width: 16rem; max-width: 100%; margin-left: .4rem; }
    input[type="number"] { width: 5.5rem; }
    .tools button:disabled { opacity: .45; }
    .tools button:not(:disabled) { cursor: pointer; }
    .scroll {
      overflow: auto; max-height: 80vh; border: 1px solid var(--rule); border-radius: 8px;
      width: fit-content; max-width: 100%; font-size: .875rem;
    }
    .scroll thead th {
      position: sticky; top: 0; background: var(--shade); padding: 0; white-space: nowrap;
    }
    .scroll thead button {
      font: inherit; font-weight: 600; color: inherit; background: none; border: 0; width: 100%;
      padding: .4rem .6rem; text-align: left; cursor: pointer;
    }
    .scroll thead button:focus-visible { outline-offset: -2px; }
    .scroll thead .number { text-align: right; }
    .scroll thead span { display: inline-block; width: 1em; color: var(--accent); }
    .scroll tbody tr + tr td { border-top: 1px solid var(--rule); }
    .scroll tbody tr:hover { background: var(--shade); }
    .scroll tbody tr.target { background: var(--mark); }
    .cell {
      width: max-content; max-width: 24rem; overflow: hidden; overflow-wrap: break-word;
      line-height: 1.5;
    }
    td.number .cell { margin-left: auto; text-align: right; }
    .nil, .absent, .cell small { color: var(--quiet); }
    .nil { font-style: italic; }
    .cell small { font-size: inherit; margin-left: .4em; }
    .cell code { color: var(--accent); font-size: .85em; }
    .complete {
      white-space: pre-wrap; max-height: 20rem; overflow: auto; margin-top: .25rem;
      padding: .4rem .6rem; background: var(--shade); border-radius: 6px;
    }
    .cell ul { margin: .1rem 0; padding-left: 1rem; }
    @media print {
      :root {
        --page: #fff; --text: #000; --quiet: #444; --rule: #bbb; --shade: #fff; --accent: #000;
      }
      main { max-width: none; padding: 0; }
      .tools label, .pages button, section > details:not([open]) { display: none; }
      .pages input { border: 0; width: auto; padding: 0; }
      .scroll { overflow: visible; max-height: none; border: 0; font-size: 8pt; width: auto; }
      .scroll thead th { position: static; }
      .cell { width: auto; }
      .drawing { overflow: visible; }
      .model { max-width: 100%; height: auto; }
      tr { break-inside: avoid; }
      h2 { break-after: avoid; }
    }
    """
}
