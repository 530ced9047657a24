import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

private struct First: CompositeValue {
  var town = ""
  var size = 1
}

private struct Second: CompositeValue {
  var city = ""
  var size = 1
  var area = 2.5
  var shape = Shape()

  static var formerElementNames: [String: [String]] { ["city": ["place", "town"]] }
}

private struct Shape: CompositeValue { var corners: Int? = 4 }

private enum Versions {
  enum V1 {
    final class Site: ManagedObject {
      @Composite var ground = First()
      @Attribute var code = 0
    }
  }
  enum V2 {
    final class Site: ManagedObject {
      @Attribute var code = 0
      @Composite(renamedFrom: "floor", "ground") var land = Second()

      override class var entity: Entity { Entity("Site") { Index(\Site.land.city) } }
    }
  }
  enum V3 {
    final class Site: ManagedObject {
      @Attribute var code = 0
      override class var entity: Entity { Entity("Site") }
    }
  }
}

private struct Unstorable: CompositeValue { var action: (() -> Void)? }
private struct Empty: CompositeValue {}
private final class Reference: CompositeValue { var name = "" }
private struct Renamed: CompositeValue {
  var name = ""
  static var formerElementNames: [String: [String]] { ["title": ["name"]] }
}
private struct Caption: CompositeValue, Equatable {
  var text = ""
  var shout: String { text.uppercased() }
}

private struct Lazy: CompositeValue { lazy var count = 1 }
private final class BadLazy: ManagedObject { @Composite var value = Lazy() }
private final class BadClosure: ManagedObject { @Composite var value = Unstorable() }
private final class BadEmpty: ManagedObject { @Composite var value = Empty() }
private final class BadReference: ManagedObject { @Composite var value = Reference() }
private final class BadNames: ManagedObject { @Composite var value = Renamed() }
private final class BadIndex: ManagedObject {
  @Composite var value = Caption()
  override class var entity: Entity { Entity("BadIndex") { Index(\BadIndex.value) } }
}
private final class BadComputed: ManagedObject {
  @Composite var value = Caption()
  override class var entity: Entity { Entity("BadComputed") { Index(\BadComputed.value.shout) } }
}
private final class Captioned: ManagedObject { @Composite var value = Caption() }

private struct OuterSpot: CompositeValue {
  var x = 0
  var spot = InnerSpot()
}

private struct InnerSpot: CompositeValue {
  var x = 0
}

private final class Pin: ManagedObject {
  @Composite var spot = OuterSpot()
}

@Suite("The model of a composite attribute")
struct CompositeModelTests {
  @Test(.evidence("M-07"), .evidence("E-01"), .evidence("E-03")) func `changes with its structure`()
    throws
  {
    let directory = try ScratchDirectory()
    let url = URL(filePath: directory.path(of: "s"))
    func open(_ schema: Schema) throws -> ManagedObjectContext {
      try PersistentContainer(url: url, schema: schema).newContext()
    }
    do {
      let context = try open(Schema(Versions.V1.Site.self))
      for number in 0..<5 {
        let site = Versions.V1.Site(context: context)
        site.ground = First(town: "t\(number)", size: number)
        site.code = number
      }
      try context.save()
    }
    do {
      let context = try open(Schema(version: 2, Versions.V2.Site.self))
      let request = FetchRequest<Versions.V2.Site>(sort: [SortDescriptor(\.land.city)])
      let sites = try context.fetch(request)
      #expect(sites.map(\.land.city) == (0..<5).map { "t\($0)" })
      #expect(sites.map(\.land.size) == Array(0..<5) && sites.map(\.code) == Array(0..<5))
      #expect(sites.allSatisfy { $0.land.area == 2.5 && $0.land.shape.corners == 4 })
      #expect(
        try context.count(
          for: FetchRequest<Versions.V2.Site>(where: try QueryPredicate(format: "land.area == 2.5"))
        ) == 5)
      sites[2].land.shape.corners = nil
      try context.save()
    }
    #expect(throws: ObjectGraphError.self) { try open(Schema(version: 2, Versions.V3.Site.self)) }
    let last = try open(Schema(version: 3, Versions.V3.Site.self))
    #expect(try last.fetch(FetchRequest<Versions.V3.Site>()).map(\.code).sorted() == Array(0..<5))
  }

  @Test(
    .evidence("M-02"), .evidence("M-07"),
    arguments: [
      (BadClosure.self, "Unstorable.action"), (BadLazy.self, "lazy"),
      (BadEmpty.self, "Empty cannot be used as a composite value"),
      (BadReference.self, "Reference cannot be used as a composite value"),
      (BadNames.self, "title"),
      (BadIndex.self, "stored property"), (BadComputed.self, "stored property"),
    ] as [(ManagedObject.Type, String)])
  func `must be a structure whose elements can be stored`(
    type: ManagedObject.Type, text: String
  ) throws {
    let error = #expect(throws: ObjectGraphError.self) {
      try PersistentContainer.inMemory(schema: Schema(types: [type]))
    }
    #expect(error?.kind == .invalidModel && error?.message.contains(text) == true, "\(error)")
  }

  @Test(.evidence("M-07"), .evidence("P-01")) func `can be queried only by its elements`() throws {
    let context = try PersistentContainer.inMemory(schema: Schema(Captioned.self)).newContext()
    let label = Captioned(context: context)
    label.value.text = "a"
    try context.save()
    for format in ["value == nil", "value.shout == 'A'", "value.text.more == 'a'"] {
      #expect(throws: ObjectGraphError.self, "\(format)") {
        try context.fetch(FetchRequest<Captioned>(where: try QueryPredicate(format: format)))
      }
    }
    #expect(throws: ObjectGraphError.self) {
      try context.fetch(FetchRequest<Captioned>(where: #Predicate { $0.value.shout == "A" }))
    }
    #expect(
      try context.fetch(
        FetchRequest<Captioned>(where: try QueryPredicate(format: "value.text == 'a'"))) == [label])
  }
  @Test(.evidence("M-07")) func `a nested element may have the name of its attribute`() throws {
    let fixture = try GraphFixture(Schema(Pin.self))
    let context = fixture.context()
    for number in 1...3 {
      let pin = Pin(context: context)
      (pin.spot.x, pin.spot.spot.x) = (number, 10 - number)
    }
    try context.save()
    let inner = try context.fetchValues(
      FetchRequest<Pin>(sort: [SortDescriptor(\.spot.spot.x)]), \.spot.spot.x)
    #expect(inner == [7, 8, 9])
    let found = try context.fetch(FetchRequest<Pin>(where: #Predicate { $0.spot.spot.x == 8 }))
    #expect(found.map(\.spot.x) == [2])
  }

}
