/// A command of the tool.
///
/// Its raw value is its name on the command line.
enum Command: String, CaseIterable {
  case info
  case keys
  case dump
  case stat
  case generations
  case verify
  case checkpoint
  case compact
  case copy
  case keep
  case release

  /// The operands of the command, in order.
  var operands: [Operand] {
    switch self {
    case .info, .stat, .generations, .verify, .checkpoint, .compact: [.path]
    case .keys, .dump: [.path, .keyspace]
    case .copy: [.path, .target]
    case .keep, .release: [.path, .name]
    }
  }

  var flags: [Flag] {
    switch self {
    case .keys: [.from, .limit, .at, .named, .json]
    case .dump: [.from, .limit, .full, .at, .named, .json]
    case .stat: [.svg, .at, .named, .json]
    case .copy: [.at, .named, .json]
    case .keep: [.at, .json]
    case .info, .generations, .verify, .checkpoint, .compact, .release: [.json]
    }
  }

  var summary: String {
    switch self {
    case .info: "show properties, sizes and keyspaces of the store"
    case .keys: "list the keyspaces, or the keys of one keyspace"
    case .dump: "show entries with their values"
    case .stat: "show the page usage as a chart"
    case .generations: "list held generations with their holders and cost"
    case .verify: "check every page, tree, count and commit"
    case .checkpoint: "move pages from the log to the page file"
    case .compact: "make the page file as short as its content allows"
    case .copy: "copy one generation into a new store"
    case .keep: "keep a generation under a name"
    case .release: "release a named generation"
    }
  }

  /// The paragraphs that follow the summary in the output of `--help`.
  var details: [String] {
    switch self {
    case .info:
      ["Opens the store for reading only. Sizes \"on disk\" do not include holes."]
    case .keys:
      ["Without KEYSPACE, lists the keyspaces with their entry counts.", Self.keyNotation]
    case .dump:
      [
        "Without KEYSPACE, shows all keyspaces. A value is shown as text if it is readable UTF-8, "
          + "otherwise in hexadecimal. Without --full, it is truncated to the width of the "
          + "terminal (100 columns in a pipe).", Self.keyNotation,
      ]
    case .stat:
      [
        "Reads every page in use. Each mark of the map stands for one or more adjacent pages. "
          + "It shows their most frequent kind and how full the pages of that kind are. A damaged "
          + "page is always shown.",
        "The output has colours on a terminal, unless NO_COLOR is set.",
      ]
    case .generations:
      [
        "The cost of a generation is the log space that only this generation retains. Releasing "
          + "the generation frees that space."
      ]
    case .verify:
      [
        "Reads every page and prints a line for each finding. The exit code is 1 if there are any "
          + "findings."
      ]
    case .checkpoint:
      [
        "Checkpoints also run automatically while a program writes. This command runs a checkpoint "
          + "now."
      ]
    case .compact:
      [
        "Moves pages from the end of the file into free pages, in many small transactions, and "
          + "truncates the file. Contents do not change, and the command can be interrupted safely."
      ]
    case .copy:
      [
        "TARGET must not exist. It is created when the copy is complete, and has no free pages. "
          + "The store itself is only read."
      ]
    case .keep:
      [
        "Keeps the newest generation, or the one given with --at, readable across restarts until "
          + "it is released. NAME must be 1 to 255 bytes long."
      ]
    case .release:
      ["The next checkpoint frees the log space of the generation."]
    }
  }

  /// An example of a command line.
  var example: String {
    switch self {
    case .info: "heartwoodctl info ~/data/shop"
    case .keys: "heartwoodctl keys ~/data/shop --json"
    case .dump: "heartwoodctl dump ~/data/shop orders --from 1871 --limit 20"
    case .stat: "heartwoodctl stat ~/data/shop --svg shop.svg"
    case .generations: "heartwoodctl generations ~/data/shop"
    case .verify: "heartwoodctl verify ~/data/shop && echo intact"
    case .checkpoint: "heartwoodctl checkpoint ~/data/shop"
    case .compact: "heartwoodctl compact ~/data/shop"
    case .copy: "heartwoodctl copy ~/data/shop ~/backup/shop --named before-import"
    case .keep: "heartwoodctl keep ~/data/shop before-import"
    case .release: "heartwoodctl release ~/data/shop before-import"
    }
  }

  private static let keyNotation =
    "Write a key as the tool shows it: 1871, \"open\" (or open), true, nil, 1.5, date 0.0, 0x00FF "
    + "(bytes) or a UUID. Enclose composite keys in parentheses, as in '(\"nc\",5)'."
}

/// An operand of a command.
enum Operand: String {
  case path = "PATH"
  case target = "TARGET"
  case name = "NAME"
  case keyspace = "KEYSPACE"

  /// Whether a command requires the operand.
  var isRequired: Bool { self != .keyspace }

  var summary: String {
    switch self {
    case .path: "the directory of the store"
    case .target: "the path of the copy, which must not exist"
    case .name: "the name of a generation"
    case .keyspace: "the name of a keyspace"
    }
  }
}

/// An option.
///
/// Its raw value is its name on the command line.
enum Flag: String, CaseIterable {
  case from = "--from"
  case limit = "--limit"
  case full = "--full"
  case at = "--at"
  case named = "--named"
  case svg = "--svg"
  case json = "--json"
  case help = "--help"
  case version = "--version"

  /// The placeholder for the value in the help text, or `nil` for a flag without a value.
  var placeholder: String? {
    switch self {
    case .from: "KEY"
    case .limit: "N"
    case .at: "GENERATION"
    case .named: "NAME"
    case .svg: "FILE"
    case .full, .json, .help, .version: nil
    }
  }

  var usage: String { placeholder.map { "\(rawValue) \($0)" } ?? rawValue }

  var summary: String {
    switch self {
    case .from: "start at this key, or at the first key after it"
    case .limit: "show at most N entries of each keyspace"
    case .full: "show complete values"
    case .at: "use this generation instead of the newest one"
    case .named: "use the generation with this name"
    case .svg: "also write the chart to FILE, as SVG"
    case .json: "print one JSON document: sizes in bytes, times in UTC"
    case .help: "show this text"
    case .version: "show the version"
    }
  }
}
