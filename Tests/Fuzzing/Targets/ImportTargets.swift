import Foundation
import Heartwood
import HeartwoodEngine

/// Imported text.
extension FuzzTarget {
  /// JSON text that is split into its elements.
  static let jsonElements = FuzzTarget(
    "json-elements", maxByteCount: 256,
    words: [#"{"a":"#, #"{"a":{"b":["#, "\u{FEFF}", #"\""#, #"\\"#, "[", "]", "{", "}", ",", ":"],
    seeds: {
      let texts = [
        #"[1, {"x": ["]"]}, "a\"b"]"#, #"{"a": [true, null]}"#, #"{"a":{"b":[[],{}]}}"#,
        "{}\n{}\n1 2",
      ]
      return texts.enumerated().map { [UInt8($0), 3] + Array($1.utf8) }
    }
  ) { bytes in
    var input = FuzzInput(bytes)
    let keys = Array(["a", "b"].prefix(Int(input.byte() % 3)))
    let chunkByteCount = Int(input.byte()) + 1
    let text = input.rest.copied()
    func elements(_ chunkByteCount: Int) throws -> [[UInt8]] {
      var reader = JSONElements(keys: keys, chunks(of: text, chunkByteCount))
      var elements: [[UInt8]] = []
      while let element = try reader.next() { elements.append(element) }
      return elements
    }
    let whole = Result { try elements(max(text.count, 1)) }
    let parts = Result { try elements(chunkByteCount) }
    switch (whole, parts) {
    case (.success(let one), .success(let other)):
      return one == other ? nil : "The elements depend on the chunks."
    case (.failure(let error), .failure): throw error
    default: return "The result depends on the chunks."
    }
  }

  /// Returns a closure that returns the next bytes of a text at each call.
  private static func chunks(of text: [UInt8], _ byteCount: Int) -> () -> [UInt8] {
    var rest = text[...]
    return {
      defer { rest = rest.dropFirst(byteCount) }
      return Array(rest.prefix(byteCount))
    }
  }

  /// JSON text that `heartwoodctl` imports without storing the result.
  static let jsonImport = FuzzTarget(
    "json-import", words: FuzzedObjects.words, seeds: { try exported(.jsonLines) }
  ) { try findingInImport($0, .json) }

  /// Comma-separated values that are split into records.
  static let csv = FuzzTarget(
    "csv", maxByteCount: 192, words: ["\"\"", "\",\"", "\r\n", "\u{FEFF}"],
    seeds: {
      ["a,b\r\n1,\"x \"\"y\"\"\"\r\n", "\u{FEFF}é,,\"\"\n\"a\nb\",2", "1\r2\r"]
        .map { [2] + Array($0.utf8) }
    }
  ) { bytes in
    var input = FuzzInput(bytes)
    let chunkByteCount = Int(input.byte()) + 1
    let text = input.rest.copied()
    let whole = Result { try records(text, max(text.count, 1)) }
    let parts = Result { try records(text, chunkByteCount) }
    switch (whole, parts) {
    case (.success(let one), .success(let other)):
      guard one == other else { return "The records depend on the chunks." }
      let lines = one.map { $0.map { CSVField.text($0) }.joined(separator: ",") + "\r\n" }
      let again = try records(Array(("\u{FEFF}" + lines.joined()).utf8), text.count * 3 + 9)
      return again == one ? nil : "The records differ after writing them again."
    case (.failure(let error), .failure): throw error
    default: return "The result depends on the chunks."
    }
  }

  private static func records(_ text: [UInt8], _ chunkByteCount: Int) throws -> [[String?]] {
    var reader = CSVRecords(chunks(of: text, chunkByteCount))
    var records: [[String?]] = []
    while let record = try reader.next() { records.append(record) }
    return records
  }

  /// Comma-separated values that `heartwoodctl` imports without storing the result.
  static let csvImport = FuzzTarget(
    "csv-import", words: FuzzedObjects.words + ["\"\"", "\r\n"], seeds: { try exported(.csv) }
  ) { try findingInImport($0, .csv) }

  /// The error thrown for a read beyond the end of the text.
  private struct EndOfText: Error {}

  /// Imports a text whose end cannot be read, so the import stores nothing.
  private static func findingInImport(
    _ bytes: Bytes, _ source: StoredObjects.ImportSource
  ) throws -> String? {
    var text = bytes.copied()
    do {
      _ = try importing.importElements(
        source, of: "Part", matching: nil, author: nil, skipsInvalid: true,
        rewind: { text = bytes.copied() }
      ) {
        guard !text.isEmpty else { throw EndOfText() }
        defer { text = [] }
        return text
      }
      return "The import ended before the text."
    } catch is ObjectGraphError {
      return nil
    } catch is EndOfText {
      return nil
    }
  }

  /// A store that contains objects of the class, as tools see the store.
  private nonisolated(unsafe) static let importing: StoredObjects = {
    do {
      let store = try FuzzedObjects.filled().store
      return try StoredObjects(store, at: store.snapshot())
    } catch {
      preconditionFailure("The objects cannot be created: \(error)")
    }
  }()

  private static func exported(_ format: ExportFormat) throws -> [[UInt8]] {
    let context = try FuzzedObjects.filled().newContext()
    var text: [UInt8] = []
    _ = try context.export(FetchRequest<Part>(), as: format) { text += $0 }
    return [text]
  }
}
