import Heartwood
import HeartwoodEngine

/// The `verify` command, which checks the integrity of the entire store.
enum VerifyCommand {
  private struct Document: Encodable {
    let isSound: Bool
    let findings: [String]
    let generation: UInt64
    let pageCount: Int
    let freePageCount: Int
    let keyspaceCount: Int
    let entryCount: Int
    let logCommitCount: Int

    init(_ report: VerificationReport, _ findings: [String]) {
      isSound = findings.isEmpty
      self.findings = findings
      generation = report.generation.frame
      pageCount = report.pageCount
      freePageCount = report.freePageCount
      keyspaceCount = report.keyspaceCount
      entryCount = report.entryCount
      logCommitCount = report.logCommitCount
    }
  }

  static func run(_ invocation: Invocation, _ output: Output) throws -> ExitCode {
    let (report, findings) = try StoreAccess.withStore(invocation.path, for: .reading) { store in
      let report = try store.verify()
      guard report.findings.isEmpty else { return (report, report.findings) }
      return (report, try StoredObjects.textFindings(in: store))
    }
    output.exitCodeIfClosed = findings.isEmpty ? .fine : .refused
    if invocation.wantsJSON {
      try output.json(Document(report, findings))
    } else {
      for finding in findings { try output.line(QuotedText.escaped(finding)) }
      try output.line(summary(report, findings.count))
    }
    return output.exitCodeIfClosed
  }

  private static func summary(_ report: VerificationReport, _ findingCount: Int) -> String {
    let looked =
      "\(report.generation), \(HumanText.count(report.pageCount, "page")) "
      + "(\(HumanText.count(report.freePageCount)) free), "
      + "\(HumanText.count(report.keyspaceCount, "keyspace")), "
      + "\(HumanText.count(report.entryCount, "entry")), "
      + "\(HumanText.count(report.logCommitCount, "commit")) in the log"
    guard findingCount > 0 else { return "intact: \(looked)" }
    return "damaged: \(HumanText.count(findingCount, "finding")) in \(looked)"
  }
}
