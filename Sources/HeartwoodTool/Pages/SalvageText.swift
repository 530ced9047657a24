/// The report of the `salvage` command as text.
enum SalvageText {
  /// The maximum number of missing ranges, and of damaged values, to list for each keyspace.
  private static let shownCount = 20

  static func write(_ document: SalvageDocument, _ output: Output) throws {
    try output.line(
      "Salvaged generation \(document.generation) into the new store "
        + "\(QuotedText.escaped(document.target)).")
    try output.line(
      "\(HumanText.count(document.damagedPageCount)) of "
        + "\(HumanText.count(document.pageCount, "page")) "
        + "\(document.damagedPageCount == 1 ? "is" : "are") damaged.")
    for note in document.notes { try output.line(QuotedText.escaped(note)) }
    if !document.keyspaces.isEmpty {
      try output.line()
      try output.line(table(document))
    }
    for keyspace in document.keyspaces where !keyspace.isComplete {
      try writeLosses(keyspace, output)
    }
    try writeObjects(document, output)
    try output.line()
    try output.line(
      document.isComplete
        ? "complete: nothing is missing"
        : "incomplete: if you have a backup, compare it with the new store")
  }

  private static func table(_ document: SalvageDocument) -> String {
    var table = TextTable([
      "keyspace": .left, "entity": .left, "entries": .right, "expected": .right, "": .left,
    ])
    for keyspace in document.keyspaces {
      table.append([
        QuotedText.escaped(keyspace.name), QuotedText.escaped(keyspace.entity ?? ""),
        HumanText.count(keyspace.entryCount),
        keyspace.expectedCount.map { HumanText.count($0) } ?? "?", state(of: keyspace),
      ])
    }
    return table.text()
  }

  private static func state(of keyspace: SalvageDocument.Keyspace) -> String {
    if keyspace.isRebuilt { return "rebuilt" }
    if keyspace.isComplete { return "complete" }
    var parts: [String] = []
    if keyspace.isNameLost { parts.append("name lost") }
    if let expected = keyspace.expectedCount, expected > keyspace.entryCount {
      parts.append("\(HumanText.count(expected - keyspace.entryCount)) missing")
    } else if keyspace.missingRangeCount > 0 {
      parts.append("entries missing")
    }
    if keyspace.damagedValueCount > 0 {
      parts.append(HumanText.count(keyspace.damagedValueCount, "damaged value"))
    }
    if keyspace.doubtfulCount > 0 {
      parts.append("\(HumanText.count(keyspace.doubtfulCount)) may be out of date")
    }
    if keyspace.misplacedCount > 0 {
      parts.append("\(HumanText.count(keyspace.misplacedCount)) out of order")
    }
    return parts.joined(separator: ", ")
  }

  private static func writeLosses(
    _ keyspace: SalvageDocument.Keyspace, _ output: Output
  ) throws {
    guard !keyspace.isRebuilt else { return }
    let title = QuotedText.escaped(keyspace.title)
    if !keyspace.missing.isEmpty {
      try output.line()
      try output.line("missing in \(title):")
      for range in keyspace.missing.prefix(shownCount) {
        let suffix = range.isPartial ? " (some of them)" : ""
        try output.line("  \(QuotedText.escaped(range.text))\(suffix)")
      }
      try writeRest(keyspace.missingRangeCount, "range", output)
    }
    guard !keyspace.damagedValues.isEmpty else { return }
    try output.line()
    try output.line("damaged values in \(title):")
    for key in keyspace.damagedValues.prefix(shownCount) {
      try output.line("  \(QuotedText.escaped(key))")
    }
    try writeRest(keyspace.damagedValueCount, "value", output)
  }

  private static func writeRest(_ count: Int, _ noun: String, _ output: Output) throws {
    guard count > shownCount else { return }
    try output.line("  … and \(HumanText.count(count - shownCount, "more \(noun)"))")
  }

  private static func writeObjects(_ document: SalvageDocument, _ output: Output) throws {
    guard let objects = document.objects else { return }
    let facts = [
      (objects.clearedReferenceCount, "reference", "to lost objects became nil"),
      (objects.removedMemberCount, "member", "removed from lists"),
      (objects.restoredMemberCount, "member", "restored from inverse relationships"),
      (objects.removedRowCount, "unreadable or duplicate row", "removed"),
    ].filter { $0.0 > 0 }
    guard !facts.isEmpty else { return }
    try output.line()
    for (count, noun, fact) in facts {
      try output.line("\(HumanText.count(count, noun)) \(fact)")
    }
  }
}
