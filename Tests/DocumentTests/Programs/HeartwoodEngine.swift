import HeartwoodEngine

func saveOrder(at path: String) throws {
  let store = try Store(at: path)
  try store.write { transaction in
    try transaction.keyspace("orders").put(1871, Array("open".utf8))
  }
  let snapshot = try store.snapshot()
  let value = try snapshot.keyspace("orders")?.get(1871)

  _ = value
}
