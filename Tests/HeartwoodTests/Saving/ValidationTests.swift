import Heartwood
import HeartwoodTestSupport
import Testing

/// A class whose objects validate another object.
private final class Checker: ManagedObject {
  @ToOne var other: Checker?

  override func validate() throws {
    guard let other else { return }
    throw ObjectGraphError(.validation, "The other object is invalid.", objectID: other.objectID)
  }
}

@Suite("Validation")
struct ValidationTests {
  @Test(.evidence("R-17"))
  func `a validation error names object, class and property, and keeps the cause`() throws {
    let fixture = try GraphFixture(Schema(Applicant.self))
    let context = fixture.context()
    let nameless = Applicant(context: context)
    let error = try #require(throws: ObjectGraphError.self) { try context.save() }
    #expect(error.kind == .validation && error.objectID == nameless.objectID)
    #expect(error.entityName == "Applicant" && error.propertyName == nil)
    #expect(error.underlyingError as? Applicant.NoName == Applicant.NoName(length: 0))
    let unborn = Applicant(context: context)
    unborn.name = "Ada"
    unborn.age = -1
    let both = try #require(throws: ObjectGraphError.self) { try context.save() }
    #expect(both.kind == .validation && both.failures.count == 2)
    let second = try #require(both.failures.last)
    #expect(second.objectID == unborn.objectID && second.propertyName == "age")
    #expect("\(both)".contains("Applicant.age: The age is negative."))
    nameless.name = "Bob"
    unborn.age = 1
    try context.save()
  }

  @Test(.evidence("R-17")) func `a denied deletion names the relationship`() throws {
    let fixture = try GraphFixture()
    let context = fixture.context()
    let club = Club(context: context)
    club.halls = [Hall(context: context)]
    try context.save()
    context.delete(club)
    let error = try #require(throws: ObjectGraphError.self) { try context.save() }
    #expect(error.kind == .deniedDelete && error.propertyName == "halls")
  }

  @Test(.evidence("R-17")) func `a validation error can name another object`() throws {
    let fixture = try GraphFixture(Schema(Checker.self))
    let context = fixture.context()
    let (checker, other) = (Checker(context: context), Checker(context: context))
    checker.other = other
    let error = #expect(throws: ObjectGraphError.self) { try context.save() }
    #expect(error?.objectID == other.objectID)
  }
}
