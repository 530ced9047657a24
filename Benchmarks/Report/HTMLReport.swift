/// A run as a page.
struct HTMLReport {
  let report: BenchReport
  init(_ report: BenchReport) { self.report = report }
  var text: String { "" }
}
