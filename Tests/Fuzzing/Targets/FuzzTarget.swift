package import HeartwoodEngine

/// A reader of untrusted bytes, with the properties that it must have for every input.
///
/// Fuzzers search for inputs that violate these properties. Tests repeat the inputs that reached
/// new code.
package struct FuzzTarget: Sendable, CustomStringConvertible {
  /// The name of the target, and of the directory of its inputs.
  package let name: String
  /// The length beyond which mutations do not extend an input, because short inputs are faster.
  package let maxByteCount: Int
  /// Words that often occur in valid inputs.
  package let words: [String]
  private let makeSeeds: @Sendable () throws -> [[UInt8]]
  private let check: @Sendable (Bytes) throws -> String?

  /// Creates a target.
  ///
  /// - Parameters:
  ///   - seeds: Returns valid inputs that the project's own encoders have made.
  ///   - check: Reads an input, and returns a description of the first violated property, or `nil`.
  init(
    _ name: String, maxByteCount: Int = 512, words: [String] = [],
    seeds: @escaping @Sendable () throws -> [[UInt8]],
    check: @escaping @Sendable (Bytes) throws -> String?
  ) {
    self.name = name
    self.maxByteCount = maxByteCount
    self.words = words
    makeSeeds = seeds
    self.check = check
  }

  package var description: String { name }

  /// Valid inputs.
  package func seeds() throws -> [[UInt8]] { try makeSeeds() }

  /// Reads an input, and returns a description of the first violated property, or `nil`.
  ///
  /// Readers may reject an input with an error of the store, of the object graph or of Foundation's
  /// decoders.
  package func finding(for input: Bytes) -> String? {
    do {
      return try check(input)
    } catch {
      return isRejection(error) ? nil : "The reader threw another type of error: \(error)"
    }
  }

  /// Reads an input, and returns a description of the first violated property, or `nil`.
  package func finding(for input: [UInt8]) -> String? { input.withBytes { finding(for: $0) } }

  /// Returns a description of the first violated property, or of the error that rejects the input.
  ///
  /// Returns `nil` if the reader accepts the input and violates no property.
  package func rejection(of input: [UInt8]) -> String? {
    do { return try input.withBytes { bytes in try check(bytes) } } catch { return "\(error)" }
  }

  /// The target's words in the format of libFuzzer.
  package var dictionary: String {
    words.map { word in
      let text = word.utf8.map { byte in
        let isPlain = (0x20..<0x7F).contains(byte) && byte != 0x22 && byte != 0x5C
        return isPlain
          ? String(UnicodeScalar(byte)) : "\\x" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
      }
      return "\"\(text.joined())\"\n"
    }.joined()
  }

  /// All targets except the target for complete stores.
  package static let all: [FuzzTarget] = [
    page, groupHeader, segmentFooter, segmentHeader, headerSlot, retainedFrames, namedGenerations,
    replicaRecord, holder, catalog, key, backup, record, model, declarations, history, textIndex,
    format, userInput, jsonElements, jsonImport, csv, csvImport, feed, token, uri, valueText,
  ]
}
