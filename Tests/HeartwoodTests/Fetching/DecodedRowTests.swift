import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

private enum Mood: String, AttributeValue { case calm, wild }

private struct Address: Codable, Hashable, AttributeValue { var city: String }

private final class Owner: ManagedObject {
  @Attribute var name: String = ""
  @ToOne var boss: Owner?
}

private final class Pet: ManagedObject {
  @Attribute var name: String = ""
  @Attribute var age: Int = 0
  @Attribute var weight: Double? = nil
  @Attribute var born: Date = .distantPast
  @Attribute var mood: Mood? = nil
  @Attribute var address: Address? = nil
  @Attribute var tags: [String] = []
  @ToOne var owner: Owner?
}

/// A row with every kind of column, compared with the object that has the same ID.
private struct PetRow: Decodable, Sendable {
  struct OwnerRow: Decodable, Sendable {
    let name: String
    let boss: ManagedObjectID?
  }
  /// An enumeration that cannot be the type of an attribute.
  enum MoodName: String, Decodable { case calm, wild }
  struct City: Decodable { let city: String }

  let objectID: ManagedObjectID
  let name: String
  let age: Int16
  let weight: Double?
  let born: Date
  let mood: MoodName?
  let address: City?
  let tags: Set<String>
  let owner: OwnerRow?

  func isSame(as pet: Pet) -> Bool {
    objectID == pet.objectID && name == pet.name && Int(age) == pet.age && weight == pet.weight
      && born == pet.born && mood?.rawValue == pet.mood?.rawValue
      && address?.city == pet.address?.city && tags == Set(pet.tags)
      && owner?.name == pet.owner?.name && owner?.boss == pet.owner?.boss?.objectID
      && (owner == nil) == (pet.owner == nil)
  }
}

/// A row that decodes the weight only of old pets.
private struct WeightOfOld: Decodable {
  let age: Int
  let weight: Double?
  private enum CodingKeys: CodingKey { case age, weight }

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    age = try container.decode(Int.self, forKey: .age)
    // Catching the error must not hide the fact that the column is needed.
    weight = age > 90 ? try? container.decode(Double.self, forKey: .weight) : nil
  }
}

@Suite("Rows decoded without objects")
struct DecodedRowTests {
  private let container: PersistentContainer
  private let context: ManagedObjectContext

  init() throws {
    container = try PersistentContainer.inMemory(schema: Schema(Pet.self, Owner.self))
    context = container.newContext()
    let owners = (0..<5).map { number in
      let owner = Owner(context: context)
      owner.name = "owner \(number)"
      return owner
    }
    owners[1].boss = owners[0]
    for number in 0..<100 {
      let pet = Pet(context: context)
      (pet.name, pet.age) = ("pet \(number)", number)
      pet.weight = number % 3 == 0 ? nil : Double(number) / 2
      pet.born = Date(timeIntervalSince1970: Double(number * number))
      pet.mood = [nil, .calm, .wild][number % 3]
      pet.address = number % 2 == 0 ? Address(city: "city \(number)") : nil
      pet.tags = ["a", "\(number)"]
      pet.owner = number % 6 == 0 ? nil : owners[number % 5]
    }
    try context.save()
  }

  @Test(.evidence("FO-10"), arguments: [false, true]) func `equal the fetched objects`(
    hasChanges: Bool
  ) throws {
    if hasChanges {
      let pets = try context.fetch(FetchRequest<Pet>())
      for pet in pets.prefix(20) { pet.name += "!" }
      for pet in pets.suffix(5) { context.delete(pet) }
      let new = Pet(context: context)
      (new.name, new.owner) = ("new", pets[1].owner)
    }
    let requests = [
      FetchRequest<Pet>(),
      FetchRequest<Pet>(sort: [SortDescriptor(\.name, order: .reverse)]),
      FetchRequest<Pet>(
        where: #Predicate { $0.age > 20 }, sort: [SortDescriptor(\.weight)], limit: 30),
      FetchRequest<Pet>(where: #Predicate { $0.owner?.name == "owner 1" }),
      FetchRequest<Pet>(where: #Predicate { $0.age > 1000 }),
    ]
    for request in requests {
      let (rows, pets) = try (context.fetch(request, as: PetRow.self), context.fetch(request))
      #expect(rows.count == pets.count)
      #expect(zip(rows, pets).allSatisfy { $0.isSame(as: $1) })
    }
  }

  @Test(.evidence("FO-10")) func `create no objects`() throws {
    let other = container.newContext()
    let rows = try other.fetch(FetchRequest<Pet>(), as: PetRow.self)
    #expect(rows.count == 100)
    #expect(other.registeredObjects.isEmpty)
  }

  @Test func `may request different columns`() throws {
    let request = FetchRequest<Pet>(sort: [SortDescriptor(\.age)])
    let rows = try context.fetch(request, as: WeightOfOld.self)
    #expect(rows.map(\.age) == Array(0..<100))
    #expect(rows[91].weight == 45.5 && rows[90].weight == nil && rows[99].weight == nil)
  }

  @Test func `name the value that does not fit`() throws {
    struct Wrong: Decodable { let owner: Inner?; struct Inner: Decodable { let name: Int } }
    struct Unknown: Decodable { let nickname: String }
    struct Missing: Decodable { let weight: Double }
    let request = FetchRequest<Pet>(sort: [SortDescriptor(\.age)])
    func message(_ body: () throws -> Void) -> String {
      do { try body() } catch { return "\(error)" }
      return ""
    }
    let wrong = message { _ = try context.fetch(request, as: Wrong.self) }
    #expect(wrong.contains("owner") && wrong.contains("name") && wrong.contains("typeMismatch"))
    #expect(message { _ = try context.fetch(request, as: Unknown.self) }.contains("nickname"))
    #expect(message { _ = try context.fetch(request, as: Missing.self) }.contains("optional"))
    // Integers are also decoded as floating-point numbers.
    struct Real: Decodable { let age: Double }
    #expect(try context.fetch(request, as: Real.self).map(\.age) == (0..<100).map(Double.init))
  }

  @Test(.evidence("FO-10")) func `do not show the numbers of related objects`() throws {
    struct Number: Decodable { let owner: Int }
    struct Text: Decodable { let owner: String? }
    for type in [Number.self, Text.self] as [any Decodable.Type] {
      func fetch<Row: Decodable>(_ type: Row.Type) throws {
        _ = try context.fetch(FetchRequest<Pet>(where: #Predicate { $0.owner != nil }), as: type)
      }
      let error = #expect(throws: DecodingError.self) { try fetch(type) }
      #expect("\(error as Any)".contains("An object cannot be decoded as"))
    }
  }
}
