/// The table `sqlite_schema`, which lists the tables, indexes and views of a file.
///
/// Page 1 is the root of the table's b-tree; see <https://www.sqlite.org/fileformat2.html>, § 2.6.
struct SQLiteSchema {
  private struct Entry {
    let type: String
    let name: String
    let table: String
    let sql: String
    var root: UInt32 = 0
  }

  private var entries: [Entry] = []
  private var positions: [[UInt8]: Int] = [:]

  mutating func add(_ table: SQLiteTable) {
    add(Entry(type: "table", name: table.name, table: table.name, sql: table.sql))
    for index in table.indexes {
      let sql = index.sql(table: table.name)
      add(Entry(type: "index", name: index.name, table: table.name, sql: sql))
    }
  }

  mutating func add(view name: String, sql: String) {
    add(Entry(type: "view", name: name, table: name, sql: sql))
  }

  /// Sets the root page of a table or an index.
  mutating func setRoot(_ page: UInt32, of name: String) {
    guard let position = positions[name.sqlNameKey] else { return }
    entries[position].root = page
  }

  private mutating func add(_ entry: Entry) {
    positions[entry.name.sqlNameKey] = entries.count
    entries.append(entry)
  }

  /// Writes all pages of the table except page 1.
  ///
  /// - Returns: The part of page 1 that follows the file header, and the page's right child.
  func write(
    to output: PageOutput
  ) throws(SQLiteWriterError) -> (node: TreeNode, rightChild: UInt32) {
    let columns = [SQLiteAffinity.text, .text, .text, .numeric, .text].map {
      SQLiteRow.Column(affinity: $0, isRequired: false)
    }
    var row = SQLiteRow(columns)
    var tree = TreeBuilder(tableIn: output)
    for (position, entry) in entries.enumerated() {
      row.removeAll()
      row.append(text: entry.type)
      row.append(text: entry.name)
      row.append(text: entry.table)
      row.append(integer: Int64(entry.root))
      row.append(text: entry.sql)
      try tree.append(row, rowid: Int64(position + 1))
    }
    let (root, rightChild) = try tree.finishBelowRoot()
    let roomByteCount = SQLiteFormat.pageByteCount - SQLiteFormat.fileHeaderByteCount
    if root.usedByteCount <= roomByteCount { return (root, rightChild) }
    // The root does not fit into page 1, so append it as another page, which becomes the only child
    // of page 1. Only page 1 may be an interior page without cells. SQLite leaves page 1 in the
    // same state when it cannot merge the child pages into it.
    let child = try output.append(root, rightChild: rightChild)
    return (TreeNode(.tableInterior), child)
  }
}
