/// A command of the tool.
///
/// The raw value is the name of the command on the command line.
enum Command: String, CaseIterable {
  case entities
  case query
  case object
  case browse
  case history
  case diff
  case follow
  case apply
  case shell
  case export
  case `import`
  case set
  case delete
  case info
  case keys
  case dump
  case stat
  case generations
  case verify
  case checkpoint
  case compact
  case copy
  case backup
  case restore
  case replica
  case promote
  case salvage
  case keep
  case release

  /// A group of commands in the help text.
  enum Group: String, CaseIterable {
    case objects = "Objects"
    case pages = "Keys and pages"
    case maintenance = "Maintenance"
  }

  var group: Group {
    switch self {
    case .entities, .query, .object, .browse, .history, .diff, .follow, .apply, .shell, .export,
      .import, .set, .delete:
      .objects
    case .info, .keys, .dump, .stat, .generations, .verify: .pages
    case .checkpoint, .compact, .copy, .backup, .restore, .replica, .promote, .salvage, .keep,
      .release:
      .maintenance
    }
  }

  /// The operands of the command, in order.
  var operands: [Operand] {
    switch self {
    case .info, .stat, .generations, .verify, .checkpoint, .compact: [.path]
    case .keys, .dump: [.path, .keyspace]
    case .copy: [.path, .copy]
    case .backup: [.path, .backup]
    case .restore: [.backup, .new]
    case .replica: [.backup, .replica]
    case .promote: [.replica]
    case .salvage: [.broken, .new]
    case .keep, .release: [.path, .name]
    case .entities, .browse, .history, .follow, .shell: [.path]
    case .query: [.path, .entity, .condition]
    case .object: [.path, .id]
    case .diff: [.path, .source, .target]
    case .apply: [.path, .file]
    case .export: [.path, .entity, .condition]
    case .import: [.path, .entity, .file]
    case .set: [.path, .id, .assignment]
    case .delete: [.path, .id]
    }
  }

  /// A Boolean value that indicates whether long output is shown page by page on a terminal.
  var isPaged: Bool {
    switch self {
    case .entities, .query, .object, .history, .diff, .keys, .dump: true
    default: false
    }
  }

  /// Returns whether the command requires the given operand.
  func requires(_ operand: Operand) -> Bool {
    switch (self, operand) {
    case (.export, .entity), (.restore, .new): false
    default: operand.isRequired
    }
  }

  var flags: [Flag] {
    switch self {
    case .keys: [.from, .limit, .at, .named, .json]
    case .dump: [.from, .limit, .full, .at, .named, .json]
    case .stat: [.svg, .at, .named, .json]
    case .copy: [.at, .named, .json]
    case .backup: [.every, .keep, .json]
    case .restore: [.at, .fork, .json]
    case .replica: [.follow, .json]
    case .keep: [.at, .json]
    case .info, .generations, .verify, .checkpoint, .compact, .promote, .salvage, .release: [.json]
    case .entities: [.at, .named, .json]
    case .query:
      [
        .search, .columns, .sort, .limit, .offset, .count, .explain, .at, .named, .json, .jsonLines,
        .csv, .markdown,
      ]
    case .object: [.at, .named, .json]
    case .browse: [.html, .limit, .at, .named]
    case .history: [.after, .author, .limit, .json, .jsonLines]
    case .diff: [.json, .jsonLines]
    case .follow: [.after, .consumer, .acknowledge, .snapshot, .before, .once]
    case .apply: [.sourceStore, .consumer, .author, .json]
    case .shell: [.at, .named]
    case .export: [.format, .output, .at, .named]
    case .import: [.format, .key, .skipInvalid, .author, .json]
    case .set, .delete: [.yes, .author, .json]
    }
  }

  /// The options required by the command.
  var requiredFlags: [Flag] { self == .browse ? [.html] : [] }

  var summary: String {
    switch self {
    case .entities: "show the model: entities with their properties and sizes"
    case .query: "show an entity's objects that meet a condition"
    case .object: "show an object, its related objects and its versions"
    case .browse: "write an HTML page with the model and the objects"
    case .history: "list the transactions in the history"
    case .diff: "show the objects that differ between two generations"
    case .follow: "print changes as they are committed, as JSON lines"
    case .apply: "apply the output of follow from another store"
    case .shell: "run commands on one generation, with history and completion"
    case .export: "write objects as JSON lines, CSV or a SQLite file"
    case .import: "insert and update objects from JSON or CSV"
    case .set: "set attributes and to-one relationships of an object"
    case .delete: "delete an object, applying the model's delete rules"
    case .info: "show properties, sizes and keyspaces of the store"
    case .keys: "list the keyspaces, or the keys of one keyspace"
    case .dump: "show entries with their values"
    case .stat: "show the page usage as a chart"
    case .generations: "list held generations with their holders and cost"
    case .verify: "check every page, tree, count, commit and text index"
    case .checkpoint: "move pages from the log to the page file"
    case .compact: "shrink the page file as far as possible"
    case .copy: "copy one generation into a new store"
    case .backup: "add the newest generation to a backup directory"
    case .restore: "list restore points, or restore one as a new store"
    case .replica: "create or update a read-only store that follows a backup"
    case .promote: "turn a replica into a writable store"
    case .salvage: "copy a damaged store's intact content into a new store"
    case .keep: "keep a generation under a name"
    case .release: "release a named generation"
    }
  }

  /// The paragraphs that follow the summary in the output of `--help`.
  var details: [String] {
    switch self {
    case .entities:
      [
        "Reads the model from the store, so the program's classes are not needed. Sizes are "
          + "those of the pages that contain the rows and the indexes."
      ]
    case .query:
      [
        "CONDITION is a predicate in the NSPredicate format, such as 'magnitude >= 5 AND place "
          + "CONTAINS[cd] \"chile\"'. Without CONDITION, the command shows all objects.",
        "--columns and --sort take expressions in the same format, separated by commas: "
          + "place,network.title,reports.@count. A minus sign, as in --sort=-time, reverses the "
          + "order. Without --columns, the command shows all attributes and to-one relationships.",
        "--search requires a text index. Without --sort, the most relevant objects come first.",
      ]
    case .object:
      ["ID is either an entity and a number, such as Quake/12, or the URI of an object ID."]
    case .browse:
      [
        "The page shows one generation and needs neither the store nor a network connection. Its "
          + "tables can be searched and sorted, and its links follow relationships.",
        "--limit sets the maximum number of rows for each entity (default: 10,000). The page "
          + "contains the first 4 KiB of each value (256 bytes of binary data), and 20 members of "
          + "each to-many relationship. It shows how much is omitted.",
      ]
    case .history:
      [
        "The oldest transaction comes first. With --limit, the command lists only the newest N "
          + "transactions. --after takes the number of a transaction, as shown in this list."
      ]
    case .diff:
      [
        "FROM and TO are numbers, names or times of readable generations. Without TO, the command "
          + "compares FROM with the newest generation. TO may be older than FROM."
      ]
    case .follow:
      [
        "Prints an event in the CloudEvents format for each change to an object. The command runs "
          + "until it is interrupted or, with --once, until it has printed all existing changes. "
          + "Each event names a generation, and contains the object's values in that generation. "
          + "With --after, the events begin after the transaction with the given number.",
        "With --consumer, the events begin after the events that this consumer has acknowledged. "
          + "The history keeps all later transactions. A first run with --snapshot begins with all "
          + "existing objects. Once the consumer has acknowledged events, --after and --snapshot "
          + "have no effect. With --acknowledge, the command acknowledges events after writing "
          + "them.",
        "With --before, events also contain the values in the previously read generation. These "
          + "values are missing for changes that were committed before the command started.",
      ]
    case .apply:
      [
        "Reads events from FILE, or from standard input if FILE is -. The store records the "
          + "objects to which events refer. If an object is not recorded yet, the command finds it "
          + "by a unique attribute, or inserts it. The command skips events that it has already "
          + "applied, so you can repeat a feed after an interruption. Events that arrive together "
          + "are applied in one transaction of at most 10,000 events.",
        "With --source and --consumer, the command acknowledges the applied events in the source "
          + "store. The consumer's next feed then begins after these events.",
      ]
    case .shell:
      [
        "Reads commands from the terminal or a pipe, and runs them on one pinned generation. "
          + "Type .help in the shell to list the commands."
      ]
    case .export:
      [
        "Writes the attributes and to-one relationships of each object of ENTITY. The command "
          + "omits objects of entities that inherit from ENTITY. A relationship is written as the "
          + "unique value of its destination. The import command reads both JSON lines and CSV.",
        "With --format sqlite, the command writes all objects to a new SQLite file with foreign "
          + "keys and indexes. The file contains a table for each entity, and a view for each "
          + "entity that inherits from another entity.",
        "With --output, the command replaces FILE once it has written all data.",
      ]
    case .import:
      [
        "Reads FILE, or standard input if FILE is -. The input is a JSON array, a sequence of JSON "
          + "objects, or CSV with a header. Each element updates the object with the same unique "
          + "value, or becomes a new object. If an element does not contain a property, the object "
          + "keeps its value for that property.",
        "The import is one transaction: if an error occurs, nothing changes. The command does not "
          + "run the program's own code, such as its validation.",
      ]
    case .set:
      [
        "An assignment is NAME=VALUE. NAME= without a value sets an empty string, and NAME alone "
          + "sets nil. Write dates in ISO 8601, bytes in base64, and objects as IDs.",
        Self.editing,
      ]
    case .delete: [Self.editing]
    case .info:
      ["Opens the store for reading only. Sizes \"on disk\" exclude holes in the files."]
    case .keys:
      ["Without KEYSPACE, lists the keyspaces with their entry counts.", Self.keyNotation]
    case .dump:
      [
        "Without KEYSPACE, shows all keyspaces. A value is shown as text if it is readable UTF-8, "
          + "and otherwise in hexadecimal. Without --full, the command truncates values to the "
          + "width of the terminal (100 columns in a pipe).", Self.keyNotation,
      ]
    case .stat:
      [
        "Reads every page in use. Each mark in the chart represents one or more adjacent pages. "
          + "The mark shows the most frequent kind among these pages, and how full the pages of "
          + "that kind are. If any of the pages is damaged, the mark shows the damage instead.",
        "On a terminal, the output is coloured unless NO_COLOR is set.",
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
          + "immediately."
      ]
    case .compact:
      [
        "Moves pages from the end of the file into free pages, in many small transactions, and "
          + "truncates the file. The contents of the store do not change. You can interrupt the "
          + "command at any time."
      ]
    case .copy:
      [
        "TARGET must not exist. It appears when the copy is complete, and contains no free pages. "
          + "The command does not change the original store."
      ]
    case .backup:
      [
        "The first backup writes all pages. Each later backup writes only the pages that have "
          + "changed since the previous backup. Programs can use the store during a backup. If "
          + "DIRECTORY does not exist, the command creates it.",
        "With --keep, the command removes old restore points after each backup. For example, "
          + "2h,24hourly,30daily keeps all restore points from the last 2 hours, and the last "
          + "restore point from each of the 24 most recent hours and 30 most recent days that have "
          + "restore points. Named restore points always remain.",
      ]
    case .restore:
      [
        "Without NEW, lists the restore points. --at takes a name, a generation number, or a time. "
          + "A time selects the newest restore point at or before that time. NEW appears when it "
          + "is complete and every page has been verified.",
        "NEW keeps the identity of the store, so that tokens remain valid. With --fork, NEW gets a "
          + "new identity, like a copy.",
      ]
    case .replica:
      [
        "Adds the generations in DIRECTORY to REPLICA. If REPLICA does not exist, the command "
          + "creates it. Programs can read REPLICA at the same time, and see each generation as it "
          + "arrives.",
        "With --follow, the command adds new generations as their files arrive, until it is "
          + "interrupted. The command reports damaged or incomplete files, and reads them again "
          + "later. heartwoodctl info shows the last error.",
      ]
    case .promote:
      [
        "REPLICA stops following its backup and becomes writable. This cannot be undone. "
          + "Interrupt heartwoodctl replica --follow first. Programs can continue to read REPLICA."
      ]
    case .salvage:
      [
        "NEW must not exist. The new store appears when it is complete. The command does not "
          + "change BROKEN. No process may have BROKEN open. Use this command only if there is no "
          + "backup.",
        "Finds every intact page of the newest generation. The report lists the recovered "
          + "keyspaces and the missing ranges of keys or objects. References to lost objects "
          + "become nil, and indexes are rebuilt. The exit code is 1 if anything is missing.",
      ]
    case .keep:
      [
        "Keeps the newest generation readable across restarts until it is released. --at selects "
          + "another generation. NAME must be 1 to 255 bytes long."
      ]
    case .release:
      ["The next checkpoint frees the log space that the generation retains."]
    }
  }

  /// An example of the command's use.
  var example: String {
    switch self {
    case .entities: "heartwoodctl entities ~/data/shop"
    case .query: "heartwoodctl query ~/data/shop Order 'total > 100' --sort=-date --limit 10"
    case .object: "heartwoodctl object ~/data/shop Order/1871"
    case .browse: "heartwoodctl browse ~/data/shop --html shop.html"
    case .history: "heartwoodctl history ~/data/shop --limit 20"
    case .diff: "heartwoodctl diff ~/data/shop before-import"
    case .follow: "heartwoodctl follow ~/data/shop | jq .data.after"
    case .apply: "heartwoodctl apply ~/data/copy events.jsonl"
    case .shell: "heartwoodctl shell ~/data/shop"
    case .export: "heartwoodctl export ~/data/shop Order --format csv --output orders.csv"
    case .import: "heartwoodctl import ~/data/shop Order orders.csv --format csv"
    case .set: "heartwoodctl set ~/data/shop Order/1871 total=99.5 note"
    case .delete: "heartwoodctl delete ~/data/shop Order/1871 --yes"
    case .info: "heartwoodctl info ~/data/shop"
    case .keys: "heartwoodctl keys ~/data/shop --json"
    case .dump: "heartwoodctl dump ~/data/shop orders --from 1871 --limit 20"
    case .stat: "heartwoodctl stat ~/data/shop --svg shop.svg"
    case .generations: "heartwoodctl generations ~/data/shop"
    case .verify: "heartwoodctl verify ~/data/shop && echo intact"
    case .checkpoint: "heartwoodctl checkpoint ~/data/shop"
    case .compact: "heartwoodctl compact ~/data/shop"
    case .copy: "heartwoodctl copy ~/data/shop ~/backup/shop --named before-import"
    case .backup: "heartwoodctl backup ~/data/shop ~/backup/shop --every 10s"
    case .restore:
      "heartwoodctl restore ~/backup/shop ~/data/shop-restored --at 2026-11-27T09:00:00Z"
    case .replica: "heartwoodctl replica ~/backup/shop ~/data/shop-replica --follow"
    case .promote: "heartwoodctl promote ~/data/shop-replica"
    case .salvage: "heartwoodctl salvage ~/data/shop ~/data/shop-salvaged"
    case .keep: "heartwoodctl keep ~/data/shop before-import"
    case .release: "heartwoodctl release ~/data/shop before-import"
    }
  }

  private static let editing =
    "Shows all objects that would change, with their values before and after. The command makes "
    + "the change only if --yes is given. The model's types, unique constraints, delete rules and "
    + "derived attributes apply. The command does not run the program's own code, such as its "
    + "validation."

  private static let keyNotation =
    "Write a key as the tool shows it: 1871, \"open\" (or open), true, nil, 1.5, date 0.0, 0x00FF "
    + "(bytes) or a UUID. Enclose composite keys in parentheses, as in '(\"nc\",5)'."
}
