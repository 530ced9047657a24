import HeartwoodEngine

func trackOrders(at path: String) throws -> [String] {
  let store = try Store(at: path)
  try store.write { transaction in
    let orders = try transaction.keyspace("orders")
    try orders.put(1871, Array("open".utf8))
    try orders.put(1872, Array("paid".utf8))
  }

  let before = try store.snapshot()
  try store.write { transaction in
    try transaction.keyspace("orders").put(1872, Array("shipped".utf8))
  }

  // The old snapshot still reads its generation; a new snapshot reads the newest.
  var lines: [String] = []
  for snapshot in [before, try store.snapshot()] {
    try snapshot.keyspace("orders")?.forEach(from: 1872) { key, value in
      let order = try Key.decode(key, as: Int.self)
      let status = String(decoding: value.withUnsafeBytes(Array.init), as: UTF8.self)
      lines.append("\(order): \(status)")
      return true
    }
  }
  try store.close()
  return lines
}

@main struct Program {
  static func main() throws {
    for line in try trackOrders(at: "orders") { print(line) }
  }
}
