import HeartwoodEngine

/// A description of a process that uses a store, for JSON documents and text output.
struct HolderText: Encodable {
  let processID: Int32
  let name: String?
  let isReadOnly: Bool
  let ageMilliseconds: Int64?

  init(_ holder: StoreHolder) {
    processID = holder.processID
    name = holder.name
    isReadOnly = holder.isReadOnly
    ageMilliseconds = holder.age.map(JSONText.milliseconds)
  }

  /// The process ID and the name, such as "4711 importer".
  var text: String { "\(processID)" + (name.map { " " + QuotedText.escaped($0) } ?? "") }

  /// A description such as "4711 importer, for 3 min" or "4712 report, reading".
  var longText: String {
    var words = [text]
    if let ageMilliseconds {
      words.append("for \(HumanText.age(.milliseconds(ageMilliseconds)))")
    }
    if isReadOnly { words.append("reading") }
    return words.joined(separator: ", ")
  }
}
