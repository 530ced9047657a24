/// The commands of the tool, by the words that are typed.
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
    case .keys: "list the keyspaces, or the keys of one"
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

  /// The paragraphs of `--help` after the summary.
  var details: [String] {
    switch self {
    case .info:
      ["Opens the store for reading only. Sizes \"on disk\" do not include holes."]
    case .keys:
      ["Without KEYSPACE it lists the keyspaces with their numbers of entries.", Self.keyNotation]
    case .dump:
      [
        "Without KEYSPACE it shows all of them. A value is shown as text if it is readable UTF-8, "
          + "otherwise in hexadecimal. Unless --full is given, it is cut to the width of the "
          + "terminal (100 columns in a pipe).", Self.keyNotation,
      ]
    case .stat:
      [
        "Each mark of the map stands for one or more adjacent pages and shows the most frequent "
          + "kind and how full the pages of that kind are. A damaged page is always shown. Reads "
          + "every page in use.",
        "Uses colours on a terminal, unless NO_COLOR is set.",
      ]
    case .generations:
      [
        "The cost of a generation is the part of the log that only this generation retains: the "
          + "space that its release frees."
      ]
    case .verify:
      [
        "Reads every page. Prints a line for each finding; the exit code is 1 if there are any."
      ]
    case .checkpoint:
      ["Runs automatically while a program writes. Needed only to choose the time."]
    case .compact:
      [
        "Moves the last pages into free ones before them, in many small transactions, and "
          + "truncates the file. Content never changes, and it may be interrupted at any time."
      ]
    case .copy:
      [
        "TARGET must not exist. It is created when the copy is complete, and is compact. The "
          + "store itself is only read."
      ]
    case .keep:
      [
        "Keeps the newest generation, or that of --at, readable across restarts until it is "
          + "released. NAME has 1 to 255 bytes."
      ]
    case .release:
      ["The next checkpoint frees the log space of the generation."]
    }
  }

  /// A useful command line.
  var example: String {
    switch self {
    case .info: "heartwoodctl info ~/data/rings"
    case .keys: "heartwoodctl keys ~/data/rings --json"
    case .dump: "heartwoodctl dump ~/data/rings rings --from 1871 --limit 20"
    case .stat: "heartwoodctl stat ~/data/rings --svg rings.svg"
    case .generations: "heartwoodctl generations ~/data/rings"
    case .verify: "heartwoodctl verify ~/data/rings && echo intact"
    case .checkpoint: "heartwoodctl checkpoint ~/data/rings"
    case .compact: "heartwoodctl compact ~/data/rings"
    case .copy: "heartwoodctl copy ~/data/rings ~/backup/rings --named before-import"
    case .keep: "heartwoodctl keep ~/data/rings before-import"
    case .release: "heartwoodctl release ~/data/rings before-import"
    }
  }

  private static let keyNotation =
    "A key is typed as it is shown: 1871, \"dry\" or dry, true, nil, 1.5, date 0.0, 0x00FF for "
    + "bytes, a UUID; keys of several components in parentheses, as in '(\"nc\",5)'."
}

/// An operand of a command.
enum Operand: String {
  case path = "PATH"
  case target = "TARGET"
  case name = "NAME"
  case keyspace = "KEYSPACE"

  /// Whether a command requires it.
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

/// The options, by the names that are typed.
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

  /// The placeholder for the value in the help text; `nil` for a flag without one.
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
    case .from: "start at this key, or the first one after it"
    case .limit: "show at most N entries of each keyspace"
    case .full: "show complete values"
    case .at: "use this generation instead of the newest"
    case .named: "use the generation with this name"
    case .svg: "also write the chart to FILE, as SVG"
    case .json: "print one JSON document: sizes in bytes, times in UTC"
    case .help: "show this text"
    case .version: "show the version"
    }
  }
}
