import Heartwood
import HeartwoodTestSupport
import Testing

private struct Row: CompositeValue {
  var a = 0
  var b = 0
  var c = 0
  var d = 0
  var e = 0
  var f = 0
  var g = 0
  var h = 0
}

private struct WideSquare: CompositeValue {
  var first = Row()
  var second = Row()
  var third = Row()
  var fourth = Row()
  var fifth = Row()
  var sixth = Row()
  var seventh = Row()
  var eighth = Row()
}

/// A class with 64 elements and one more attribute.
private final class Board: ManagedObject {
  @Composite var square = WideSquare()
  @Attribute var moveCount: Int = 0
}

@Suite("Observation of objects with many properties")
struct WideObjectTests {
  @Test(.evidence("OB-01")) func `every property notifies its own observers`() throws {
    let fixture = try GraphFixture(Schema(Board.self))
    let context = fixture.context()
    context.tracksObservation = true
    let board = Board(context: context)
    let (element, count) = (watch { board.square.eighth.h }, watch { board.moveCount })
    board.moveCount = 1
    #expect(count() == 1 && element() == 0)
    board.square.eighth.h = 1
    #expect(element() == 1)
  }
}
