import Foundation
import Heartwood
import HeartwoodEngine

/// The `salvage` command, which copies the intact content of a damaged store into a new store.
enum SalvageCommand {
  static func run(_ invocation: Invocation, _ output: Output) throws -> ExitCode {
    let target = invocation.required(.new)
    let source = invocation.required(.broken)
    guard !CopyCommand.isDirectory(target, within: source) else {
      throw ToolFailure.refused(
        "\(target) is inside the directory of the damaged store, which must not change. Use a path "
          + "outside that directory.")
    }
    let progress = TerminalProgress()
    let salvage = try StoreSalvage(of: source, to: target) { progress.show("salvaging", $0) }
    var objects: ObjectRepair.Summary?
    let report = try salvage.run { store, report in
      objects = try ObjectRepair.run(store, &report)
    }
    progress.clear()
    output.exitCodeIfClosed = report.isComplete ? .fine : .refused
    let document = SalvageDocument(report, objects, target: target)
    if invocation.wantsJSON {
      try output.json(document)
    } else {
      try SalvageText.write(document, output)
    }
    return output.exitCodeIfClosed
  }
}
