/// What the tool can do, by the words that are typed.
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

  /// What follows the command, in order.
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
    case .keys: [.from, .limit, .at, .kept, .json]
    case .dump: [.from, .limit, .full, .at, .kept, .json]
    case .stat: [.svg, .at, .kept, .json]
    case .copy: [.at, .kept, .json]
    case .keep: [.at, .json]
    case .info, .generations, .verify, .checkpoint, .compact, .release: [.json]
    }
  }

  var summary: String {
    switch self {
    case .info: "what the store is, how large, and what it holds"
    case .keys: "the keyspaces, or the keys of one"
    case .dump: "entries, with their values"
    case .stat: "what the pages are used for, as a picture"
    case .generations: "which generations are held, by whom, at what cost"
    case .verify: "check every page, tree, count and commit"
    case .checkpoint: "move what is in the log to the page file"
    case .compact: "make the page file as short as its content allows"
    case .copy: "write one generation into a new store"
    case .keep: "keep a generation by a name"
    case .release: "end the keeping of a generation"
    }
  }

  /// What `--help` says beyond the summary, a paragraph each.
  var details: [String] {
    switch self {
    case .info:
      ["Opens the store for reading only. Sizes \"on disk\" leave holes out."]
    case .keys:
      ["Without KEYSPACE it lists the keyspaces and how many entries each has.", Self.keyNotation]
    case .dump:
      [
        "Without KEYSPACE it shows all of them. A value is shown as text where it is readable "
          + "UTF-8 and in hexadecimal otherwise, cut to the width of the terminal (100 columns in "
          + "a pipe) unless --full says otherwise.", Self.keyNotation,
      ]
    case .stat:
      [
        "Each mark of the map stands for a number of neighbouring pages and shows what most of "
          + "them are, and how full those are. One damaged page is enough to be shown. Reads every "
          + "page in use.",
        "Colours are used on a terminal, unless NO_COLOR is set.",
      ]
    case .generations:
      [
        "The cost of a generation is the log that nobody else needs: what comes back when it is "
          + "released."
      ]
    case .verify:
      [
        "Reads every page. Prints a line for each finding; the exit code is 1 if there is one."
      ]
    case .checkpoint:
      ["Runs by itself while a program writes. Needed only to choose the moment."]
    case .compact:
      [
        "Moves the last pages into free places before them, in many small transactions, and cuts "
          + "the file. Content never changes, and it may be interrupted at any time."
      ]
    case .copy:
      [
        "TARGET must not exist. It appears when the copy is whole, and is compact. The store "
          + "itself is only read."
      ]
    case .keep:
      [
        "Keeps the newest generation, or that of --at, readable across restarts until it is "
          + "released. NAME has 1 to 255 bytes."
      ]
    case .release:
      ["What the generation took in the log is given back with the next checkpoint."]
    }
  }

  /// One command line that does something useful.
  var example: String {
    switch self {
    case .info: "heartwoodctl info ~/data/rings"
    case .keys: "heartwoodctl keys ~/data/rings --json"
    case .dump: "heartwoodctl dump ~/data/rings rings --from 1871 --limit 20"
    case .stat: "heartwoodctl stat ~/data/rings --svg rings.svg"
    case .generations: "heartwoodctl generations ~/data/rings"
    case .verify: "heartwoodctl verify ~/data/rings && echo sound"
    case .checkpoint: "heartwoodctl checkpoint ~/data/rings"
    case .compact: "heartwoodctl compact ~/data/rings"
    case .copy: "heartwoodctl copy ~/data/rings ~/backup/rings --kept before-import"
    case .keep: "heartwoodctl keep ~/data/rings before-import"
    case .release: "heartwoodctl release ~/data/rings before-import"
    }
  }

  private static let keyNotation =
    "A key is typed as it is shown: 1871, \"dry\" or dry, true, nil, 1.5, date 0.0, 0x00FF for "
    + "bytes, a UUID; keys of several parts in parentheses, as in '(\"nc\",5)'."
}

/// A word that follows a command.
enum Operand: String {
  case path = "PATH"
  case target = "TARGET"
  case name = "NAME"
  case keyspace = "KEYSPACE"

  /// Whether a command makes no sense without it.
  var isRequired: Bool { self != .keyspace }

  var summary: String {
    switch self {
    case .path: "the folder of the store"
    case .target: "where the copy goes, a path that does not exist"
    case .name: "the name a generation is kept by"
    case .keyspace: "the name of a keyspace"
    }
  }
}

/// The options by the names they are typed with.
enum Flag: String, CaseIterable {
  case from = "--from"
  case limit = "--limit"
  case full = "--full"
  case at = "--at"
  case kept = "--kept"
  case svg = "--svg"
  case json = "--json"
  case help = "--help"
  case version = "--version"

  /// What stands for the value in the help text; `nil` for a flag without one.
  var placeholder: String? {
    switch self {
    case .from: "KEY"
    case .limit: "N"
    case .at: "GENERATION"
    case .kept: "NAME"
    case .svg: "FILE"
    case .full, .json, .help, .version: nil
    }
  }

  var usage: String { placeholder.map { "\(rawValue) \($0)" } ?? rawValue }

  var summary: String {
    switch self {
    case .from: "start at this key, or the first one after it"
    case .limit: "show at most N entries of each keyspace"
    case .full: "show values whole"
    case .at: "use this generation instead of the newest"
    case .kept: "use the generation kept by this name"
    case .svg: "write the picture to FILE as well, as SVG"
    case .json: "print one JSON document: sizes in bytes, times in UTC"
    case .help: "show this text"
    case .version: "show the version"
    }
  }
}
