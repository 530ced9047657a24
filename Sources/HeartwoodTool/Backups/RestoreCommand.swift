import Foundation
import HeartwoodEngine

/// The `restore` command, which lists the restore points of a backup directory or restores one of
/// them as a new store.
enum RestoreCommand {
  private struct Point: Encodable {
    let generation: UInt64
    let time: String
    let names: [String]
    let byteCount: Int
    let isFull: Bool

    init(_ point: Backup.RestorePoint) {
      generation = point.generation.frame
      time = TimeText.text(point.time)
      names = point.names
      byteCount = point.byteCount
      isFull = point.isFull
    }
  }

  private struct Document: Encodable {
    let generation: UInt64
    let target: String
  }

  static func run(_ invocation: Invocation, _ output: Output) throws {
    let directory = invocation.required(.backup)
    if invocation[.new] == nil, let flag = [Flag.at, .fork].first(where: invocation.has) {
      throw ToolFailure.usage(
        "\(flag.rawValue) requires the argument NEW, the path of the new store.")
    }
    let backup = Backup(at: directory)
    let points = try backup.restorePoints()
    guard let target = invocation[.new] else { return try list(points, invocation, output) }
    guard !CopyCommand.isDirectory(target, within: directory) else {
      throw ToolFailure.refused(
        "\(target) is inside the backup directory. Use a path outside that directory.")
    }
    let wanted = try invocation[.at].map { try chosen($0, among: points, directory) }
    let progress = TerminalProgress()
    let generation = try backup.restore(wanted, to: target, asFork: invocation.has(.fork)) {
      progress.show("restoring", $0)
    }
    progress.clear()
    if invocation.wantsJSON {
      return try output.json(Document(generation: generation.frame, target: target))
    }
    try output.line(
      "Restored generation \(generation.frame) to the new store \(QuotedText.escaped(target)).")
  }

  private static func list(
    _ points: [Backup.RestorePoint], _ invocation: Invocation, _ output: Output
  ) throws {
    if invocation.wantsJSON { return try output.json(points.map(Point.init)) }
    var table = TextTable(["generation": .right, "time": .left, "size": .right, "names": .left])
    for point in points {
      let size = HumanText.size(point.byteCount) + (point.isFull ? " (all pages)" : "")
      let names = point.names.map(QuotedText.quoted).joined(separator: ", ")
      table.append([
        "\(point.generation.frame)", TimeText.text(point.time), size, names.isEmpty ? "-" : names,
      ])
    }
    try output.line(points.isEmpty ? "There are no restore points." : table.text())
  }

  /// Returns the generation with the given name or number, or the newest generation that is not
  /// later than the given time.
  private static func chosen(
    _ text: String, among points: [Backup.RestorePoint], _ directory: String
  ) throws -> Generation {
    let advice = "Run 'heartwoodctl restore \(directory)' to list the restore points."
    if let frame = UInt64(text), !points.contains(where: { $0.names.contains(text) }) {
      // Do not check here whether the generation exists. If it cannot be restored, the library
      // reports the reason.
      return Generation(frame: frame)
    }
    if let point = points.last(where: { $0.names.contains(text) }) { return point.generation }
    guard let milliseconds = TimeText.milliseconds(text) else {
      let question = NearestName.question(text, in: points.flatMap(\.names))
      throw ToolFailure.refused(
        "The backup contains no generation named \(QuotedText.quoted(text)).\(question) \(advice)")
    }
    if let point = points.last(where: { $0.time <= milliseconds }) { return point.generation }
    throw ToolFailure.refused(
      "No generation in the backup dates from \(text) or earlier. \(advice)")
  }
}
