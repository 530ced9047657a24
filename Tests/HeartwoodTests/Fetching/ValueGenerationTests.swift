import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

/// A class whose objects call a closure of their context when they are loaded.
private final class WakingValue: ManagedObject {
  @Attribute var number: Int = 0
  @Attribute var text: String = ""

  override func awakeFromFetch() { managedObjectContext?.undoGroupBegan?() }
}

@Suite("Values fetched while others save")
struct ValueGenerationTests {
  enum Change: CaseIterable { case update, deletion, insertion }

  /// Makes others change all objects when the context next loads an object.
  private func changeOnLoading(
    _ change: Change, _ context: ManagedObjectContext, _ fixture: GraphFixture
  ) -> () throws -> Void {
    var saved: Result<Void, any Error>?
    context.undoGroupBegan = {
      guard saved == nil else { return }
      saved = Result {
        try fixture.saved { other in
          for item in try other.fetch(FetchRequest<WakingValue>()) {
            switch change {
            case .update: item.text = "\(9 - item.number)"
            case .deletion: if item.number < 2 { other.delete(item) }
            case .insertion: WakingValue(context: other).text = "-\(item.number)"
            }
          }
        }
      }
    }
    return { try #require(saved).get() }
  }

  @Test(
    .evidence("FO-04"), .evidence("F-10"), arguments: Change.allCases,
    [(false, false), (false, true), (true, false), (true, true)])
  func `belong to one generation together with their order`(
    change: Change, setting: (merges: Bool, isDistinct: Bool)
  ) throws {
    let fixture = try GraphFixture(Schema(WakingValue.self))
    try fixture.saved { other in
      for number in 0..<6 {
        let item = WakingValue(context: other)
        (item.number, item.text) = (number, "\(number)")
      }
    }
    let context = fixture.context()
    context.automaticallyMergesChangesFromParent = setting.merges
    let last = try #require(
      try context.fetch(FetchRequest<WakingValue>(where: #Predicate { $0.number == 5 })).first)
    last.number = 100
    let requireSaved = changeOnLoading(change, context, fixture)
    var request = FetchRequest<WakingValue>(
      sort: [SortDescriptor(\.text, comparator: .lexical)], limit: 3)
    request.includesPendingChanges = false
    let values = try context.fetchValues(
      request, \.number, \.text, isDistinct: setting.isDistinct)
    try requireSaved()
    #expect(values.map(\.0) == [0, 1, 2] && values.map(\.1) == ["0", "1", "2"])
    #expect(last.number == 100 && context.updatedObjects == [last])
    context.undoGroupBegan = nil
  }
}
