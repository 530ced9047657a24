/// An operand of a command.
enum Operand: String {
  case path = "PATH"
  /// The path at which to create a copy.
  case copy = "TARGET"
  /// The directory of a damaged store.
  case broken = "BROKEN"
  /// The path of the store to create from a damaged store or a backup.
  case new = "NEW"
  /// A backup directory.
  case backup = "DIRECTORY"
  case replica = "REPLICA"
  case name = "NAME"
  case keyspace = "KEYSPACE"
  case entity = "ENTITY"
  case condition = "CONDITION"
  case id = "ID"
  case assignment = "NAME=VALUE"
  case file = "FILE"
  case source = "FROM"
  case target = "TO"

  /// A Boolean value that indicates whether a command requires the operand.
  var isRequired: Bool { self != .keyspace && self != .condition && self != .target }

  var summary: String {
    switch self {
    case .path: "the directory of the store"
    case .copy: "the path of the copy, which must not exist"
    case .broken: "the directory of the damaged store"
    case .new: "the path of the new store, which must not exist"
    case .backup: "a directory with backups of one store"
    case .replica: "the directory of the replica"
    case .name: "the name of a generation"
    case .keyspace: "the name of a keyspace"
    case .entity: "the name of an entity"
    case .condition: "a predicate that the objects must match"
    case .id: "an object, such as Order/1871"
    case .assignment: "the new value of a property; may be repeated"
    case .file: "the file to read, or - for standard input"
    case .source: "the generation with which the changes begin"
    case .target: "the generation with which the changes end"
    }
  }
}
