import HeartwoodEngine

/// `verify`: checks the integrity of the entire store.
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

    init(_ report: VerificationReport) {
      isSound = report.findings.isEmpty
      findings = report.findings
      generation = report.generation.frame
      pageCount = report.pageCount
      freePageCount = report.freePageCount
      keyspaceCount = report.keyspaceCount
      entryCount = report.entryCount
      logCommitCount = report.logCommitCount
    }
  }

  static func run(_ invocation: Invocation, _ output: Output) throws -> ExitCode {
    let report = try StoreAccess.withStore(invocation.path, for: .reading) { try $0.verify() }
    if invocation.wantsJSON {
      try output.json(Document(report))
    } else {
      for finding in report.findings { try output.line(QuotedText.escaped(finding)) }
      try output.line(summary(report))
    }
    return report.findings.isEmpty ? .fine : .refused
  }

  private static func summary(_ report: VerificationReport) -> String {
    let looked =
      "\(report.generation), \(HumanText.count(report.pageCount, "page")) "
      + "(\(HumanText.count(report.freePageCount)) free), "
      + "\(HumanText.count(report.keyspaceCount, "keyspace")), "
      + "\(HumanText.count(report.entryCount, "entry")), "
      + "\(HumanText.count(report.logCommitCount, "commit")) in the log"
    guard !report.findings.isEmpty else { return "sound: \(looked)" }
    return "damaged: \(HumanText.count(report.findings.count, "finding")) in \(looked)"
  }
}
