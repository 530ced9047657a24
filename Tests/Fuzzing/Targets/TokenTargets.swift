import Foundation
import Heartwood
import HeartwoodEngine

/// Strings that programs store or pass on, such as tokens, object URIs and values.
extension FuzzTarget {
  /// Tokens of generations and of positions in histories.
  static let token = FuzzTarget(
    "token",
    words: ["\"generation\":", "\"others\":", "\"store\":", "\"sequence\":", "\"time\":", "."],
    seeds: tokenInputs
  ) { bytes in
    var input = FuzzInput(bytes)
    switch input.byte() % 3 {
    case 0:
      guard let token = GenerationToken(input.text()) else { return nil }
      return GenerationToken(token.description) == token ? nil : "The token has another text."
    case 1: return try findingAfterCoding(QueryGenerationToken.self, input.rest)
    default: return try findingAfterCoding(PersistentHistoryToken.self, input.rest)
    }
  }

  private static func findingAfterCoding<Value: Codable & Equatable>(
    _ type: Value.Type, _ bytes: Bytes
  ) throws -> String? {
    let value = try JSONDecoder().decode(type, from: Data(bytes.buffer))
    let again = try JSONDecoder().decode(type, from: try JSONEncoder().encode(value))
    return again == value ? nil : "The \(type) differs after encoding it again."
  }

  @Sendable private static func tokenInputs() throws -> [[UInt8]] {
    let container = try FuzzedObjects.filled()
    let context = container.newContext()
    try context.setQueryGenerationFrom(.current)
    var inputs = [[0] + Array(try container.store.snapshot().token.description.utf8)]
    if let token = context.queryGenerationToken {
      inputs.append([1] + Array(try JSONEncoder().encode(token)))
    }
    if let token = try container.fetchHistory(after: nil).last?.token {
      inputs.append([2] + Array(try JSONEncoder().encode(token)))
    }
    return inputs
  }

  /// URIs of objects.
  static let uri = FuzzTarget(
    "uri", words: ["x-heartwood://", "/p", "/t", "Part", "%2F", "%00", "9223372036854775807"],
    seeds: uriInputs
  ) { bytes in
    var input = FuzzInput(bytes)
    guard let url = URL(string: input.text()), let id = ManagedObjectID(uriRepresentation: url)
    else { return nil }
    guard let again = ManagedObjectID(uriRepresentation: id.uriRepresentation) else {
      return "The URI \(id.uriRepresentation) of an ID is not valid."
    }
    return again == id && again.entityName == id.entityName ? nil : "The ID has another URI."
  }

  @Sendable private static func uriInputs() throws -> [[UInt8]] {
    let context = try FuzzedObjects.filled().newContext()
    let parts = try context.fetch(FetchRequest<Part>()) + [Part(context: context)]
    return parts.map { Array($0.objectID.uriRepresentation.absoluteString.utf8) }
  }

  /// Textual forms of values of all types.
  static let valueText = FuzzTarget(
    "value-text", words: ["true", "inf", "nan", "-0", "1e400", "0x1p-3", "T", "Z", "+01:00", "=="],
    seeds: valueInputs
  ) { bytes in
    var input = FuzzInput(bytes)
    let type = StorageType.allCases[Int(input.byte()) % StorageType.allCases.count]
    let text = input.text()
    guard let value = try type.value(text) else { return nil }
    if case .date(bits: let bits) = value {
      let date = Date(timeIntervalSinceReferenceDate: Double(bitPattern: bits))
      let written = ExactDates.text(of: date)
      let again = ExactDates.date(from: written)
      return again?.timeIntervalSinceReferenceDate.bitPattern == bits || again == date
        ? nil : "The date \(written) has another text."
    }
    return nil
  }

  @Sendable private static func valueInputs() -> [[UInt8]] {
    let texts = [
      "true", "-128", "32767", "-1", "9223372036854775807", "255", "65535", "4294967295",
      "18446744073709551615", "1.5", "-2.5e-300", "2026-11-27T20:00:00.125+01:00",
      "E621E1F8-C36C-495A-93FC-0C247A3E6E5F", "é", "AAEC", "-12.50e3", "{\"a\": [1, -0.0, null]}",
      "-63145526400.5",
    ]
    return texts.enumerated().map { [UInt8($0)] + Array($1.utf8) }
  }
}
