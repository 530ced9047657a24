import HeartwoodEngine

func keepRings(at path: String) throws {
  let store = try Store(at: path)
  try store.write { transaction in
    try transaction.keyspace("rings").put(1871, Array("dry".utf8))
  }
  let snapshot = try store.snapshot()
  let value = try snapshot.keyspace("rings")?.get(1871)

  _ = value
}
