import HeartwoodEngine

func keepRings(at path: String) throws -> [String] {
  let store = try Store(at: path)
  try store.write { transaction in
    let rings = try transaction.keyspace("rings")
    try rings.put(1871, Array("dry".utf8))
    try rings.put(1872, Array("wet".utf8))
  }

  let before = try store.snapshot()
  try store.write { transaction in
    try transaction.keyspace("rings").put(1872, Array("frost in May".utf8))
  }

  // The snapshot goes on showing its own generation; a new one shows the newest.
  var lines: [String] = []
  for snapshot in [before, try store.snapshot()] {
    try snapshot.keyspace("rings")?.forEach(from: 1872) { key, value in
      let year = try Key.decode(key, as: Int.self)
      lines.append("\(year): \(String(decoding: value.withUnsafeBytes(Array.init), as: UTF8.self))")
      return true
    }
  }
  try store.close()
  return lines
}

@main struct Program {
  static func main() throws {
    for line in try keepRings(at: "rings") { print(line) }
  }
}
