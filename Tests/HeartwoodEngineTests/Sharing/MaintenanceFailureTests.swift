import HeartwoodEngine
import HeartwoodTestSupport
import Testing

@Suite("The failure of a maintenance run")
struct MaintenanceFailureTests {
  private static let kinds: [StorageError.Kind] = [
    .io, .diskFull, .corrupt, .writesDisabled, .busy,
  ]

  @Test(.evidence("F1"), arguments: kinds, [nil, 28, -1] as [Int32?])
  func `has the same kind and error number in every process`(
    kind: StorageError.Kind, errno: Int32?
  ) {
    let failure = MaintenanceFailure(StorageError(kind, "The call failed.", errno: errno))
    let read = MaintenanceFailure(word: failure.word)
    #expect(read == failure)
    #expect(read?.error.kind == kind && read?.error.errno == errno)
  }

  @Test func `of any other kind is a failure of input or output`() {
    let failure = MaintenanceFailure(StorageError(.foreignStore, "The store was replaced."))
    #expect(MaintenanceFailure(word: failure.word)?.kind == .io)
  }
}
