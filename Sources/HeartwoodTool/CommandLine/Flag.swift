/// A command-line option.
///
/// The raw value is the option's name.
enum Flag: String, CaseIterable {
  case columns = "--columns"
  case sort = "--sort"
  case search = "--search"
  case format = "--format"
  case output = "--output"
  case key = "--key"
  case skipInvalid = "--skip-invalid"
  case yes = "--yes"
  case every = "--every"
  case keep = "--keep"
  case fork = "--fork"
  case follow = "--follow"
  case after = "--after"
  case author = "--author"
  case consumer = "--consumer"
  case acknowledge = "--acknowledge"
  case snapshot = "--snapshot"
  case once = "--once"
  case before = "--before"
  case sourceStore = "--source"
  case from = "--from"
  case limit = "--limit"
  case offset = "--offset"
  case count = "--count"
  case explain = "--explain"
  case full = "--full"
  case at = "--at"
  case named = "--named"
  case svg = "--svg"
  case html = "--html"
  case json = "--json"
  case jsonLines = "--jsonl"
  case csv = "--csv"
  case markdown = "--markdown"
  case help = "--help"
  case version = "--version"

  /// The placeholder for the value in the help text, or `nil` if the flag does not take a value.
  var placeholder: String? {
    switch self {
    case .from: "KEY"
    case .limit: "N"
    case .at: "GENERATION"
    case .named: "NAME"
    case .svg, .html: "FILE"
    case .columns, .sort: "LIST"
    case .format: "FORMAT"
    case .output: "FILE"
    case .search: "TEXT"
    case .key: "NAME"
    case .offset: "N"
    case .after: "N"
    case .every: "TIME"
    case .keep: "LIST"
    case .author, .consumer: "NAME"
    case .sourceStore: "STORE"
    case .count, .explain, .skipInvalid, .fork, .follow, .snapshot, .before, .once, .acknowledge,
      .yes,
      .full, .json, .jsonLines, .csv, .markdown, .help, .version:
      nil
    }
  }

  var usage: String { placeholder.map { "\(rawValue) \($0)" } ?? rawValue }

  var summary: String {
    switch self {
    case .columns: "show these columns, separated by commas"
    case .sort: "sort by these columns; --sort=-NAME reverses the order"
    case .search: "find TEXT in the text index: words, \"phrases\", dat*, wrod~"
    case .format: "jsonl (the default) or csv; export also writes sqlite"
    case .output: "write to FILE instead of standard output"
    case .key: "find existing objects by this unique attribute"
    case .skipInvalid: "list elements that cannot be imported, and continue"
    case .yes: "make the change"
    case .every: "repeat at this interval, such as 10s, until interrupted"
    case .keep: "the restore points to keep, as in 2h,24hourly,30daily"
    case .fork: "give the new store its own identity"
    case .follow: "wait for new generations until interrupted"
    case .after: "begin after this transaction of the history"
    case .author: "the author of transactions"
    case .consumer: "begin after the events that this consumer acknowledged"
    case .acknowledge: "acknowledge events after writing them"
    case .sourceStore: "acknowledge applied events in this store"
    case .snapshot: "begin with the existing objects"
    case .once: "stop after printing the existing changes"
    case .before: "also print the values before each change, if they are known"
    case .offset: "skip the first N objects"
    case .count: "show only the number of objects"
    case .explain: "show how the objects would be found"
    case .from: "start at this key, or at the first key after it"
    case .limit: "show at most N entries, objects or transactions"
    case .full: "show complete values"
    case .at: "use this generation: a name, number or time"
    case .named: "use the generation with this name"
    case .svg: "also write the chart to FILE, as SVG"
    case .html: "write the page to FILE, replacing an older file"
    case .jsonLines: "print one JSON document on each line"
    case .csv: "print comma-separated values"
    case .markdown: "print a Markdown table"
    case .json: "print one JSON document: sizes in bytes, times in UTC"
    case .help: "show this text"
    case .version: "show the version"
    }
  }
}
