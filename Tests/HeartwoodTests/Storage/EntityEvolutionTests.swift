import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

/// A version in which cats and dogs have no common superclass, and cats have owners.
private enum V1 {
  final class Cat: ManagedObject {
    @Attribute var name: String = ""
    @ToOne var owner: Owner?
    override class var entity: Entity { Entity("Cat") { Index(\Cat.name) } }
  }
  final class Dog: ManagedObject {
    @Attribute var name: String = ""
    @Attribute var tricks: Int = 0
  }
  final class Owner: ManagedObject {
    @Attribute var name: String = ""
    @ToMany(inverse: \Cat.owner) var cats: Set<Cat>
  }
  static let schema = Schema(Cat.self, Dog.self, Owner.self)
}

/// A version in which cats and dogs share the superclass `Animal`.
///
/// The superclass declares the name and the owner.
private enum V2 {
  class Animal: ManagedObject {
    @Attribute var name: String = ""
    @ToOne var owner: Owner?
    override class var entity: Entity {
      Entity("Animal", isAbstract: true) { Unique(\Animal.name) }
    }
  }
  final class Cat: Animal {}
  final class Dog: Animal { @Attribute var tricks: Int = 0 }
  final class Owner: ManagedObject {
    @Attribute var name: String = ""
    @Attribute var count: Int = 0
    @Attribute var favouriteName: String? = nil
    @ToMany(inverse: \Animal.owner, renamedFrom: "cats") var animals: Set<Animal>
    @ToOne var favourite: Animal?
    @OrderedToMany(inverse: \Animal2.fans) var liked: [Animal2]
    override class var entity: Entity {
      Entity("Owner") {
        Derived(\Owner.count, .count(\Owner.animals))
        Derived(\Owner.favouriteName, .copy(of: \Owner.favourite, \Animal.name))
      }
    }
  }
  /// The root of another class hierarchy; version 3 removes its subclass.
  class Animal2: ManagedObject {
    @Attribute var name: String = ""
    @ToMany var fans: Set<Owner>
  }
  final class Bird: Animal2 {}
  static let schema = Schema(version: 2, Cat.self, Dog.self, Owner.self, Bird.self)
}

/// A version without dogs and birds.
private enum V3 {
  class Animal: ManagedObject {
    @Attribute var name: String = ""
    @ToOne var owner: Owner?
    override class var entity: Entity {
      Entity("Animal", isAbstract: true) { Unique(\Animal.name) }
    }
  }
  final class Cat: Animal {}
  final class Owner: ManagedObject {
    @Attribute var name: String = ""
    @Attribute var count: Int = 0
    @Attribute var favouriteName: String? = nil
    @ToMany(inverse: \Animal.owner) var animals: Set<Animal>
    @ToOne var favourite: Animal?
    @OrderedToMany(inverse: \Animal2.fans) var liked: [Animal2]
    override class var entity: Entity {
      Entity("Owner") {
        Index(\Owner.name)
        Derived(\Owner.count, .count(\Owner.animals))
        Derived(\Owner.favouriteName, .copy(of: \Owner.favourite, \Animal.name))
      }
    }
  }
  class Animal2: ManagedObject {
    @Attribute var name: String = ""
    @ToMany var fans: Set<Owner>
  }
  static let schema = Schema(version: 3, removing: ["Dog", "Bird"], Cat.self, Owner.self)
}

@Suite("Migrating entities")
struct EntityEvolutionTests {
  private func filled() throws -> EvolvingStore {
    let store = EvolvingStore()
    try store.open(V1.schema) { context in
      let ada = V1.Owner(context: context)
      ada.name = "Ada"
      for name in ["Tom", "Kit"] {
        let cat = V1.Cat(context: context)
        cat.name = name
        cat.owner = ada
      }
      let dog = V1.Dog(context: context)
      dog.name = "Rex"
      dog.tricks = 3
    }
    return store
  }

  /// Gives Ada a dog, which becomes her favourite animal, and three more animals that she likes.
  private func addSecond(_ context: ManagedObjectContext) throws {
    let ada = try #require(try context.all(V2.Owner.self).first)
    let dog = try #require(try context.all(V2.Dog.self).first)
    dog.owner = ada
    ada.favourite = dog
    for type in [V2.Animal2.self, V2.Bird.self, V2.Animal2.self] {
      let other = type.init()
      context.insert(other)
      other.name = "\(type)"
      ada.liked.append(other)
    }
  }

  @Test(.evidence("E-08"))
  func `entities can gain a superentity and keep their objects`() throws {
    let store = try filled()
    try store.open(V2.schema) { context in
      try context.expect("name > ''", \V2.Animal.name, ["Kit", "Rex", "Tom"])
      try context.expect("name == 'Rex'", \V2.Dog.tricks, [3])
      let ada = try #require(try context.all(V2.Owner.self).first)
      #expect(Set(ada.animals.map(\.name)) == ["Tom", "Kit"])
      try context.expect("owner.name == 'Ada'", \V2.Animal.name, ["Kit", "Tom"])
      try addSecond(context)
    }
    try store.open(V2.schema) { context in
      let ada = try #require(try context.all(V2.Owner.self).first)
      #expect(Set(ada.animals.map(\.name)) == ["Tom", "Kit", "Rex"])
      for cat in try context.all(V2.Cat.self) { context.delete(cat) }
      #expect(ada.animals.map(\.name) == ["Rex"])
    }
    try store.open(V2.schema) { context in
      try context.expect("name > ''", \V2.Animal.name, ["Rex"])
    }
  }

  @Test(.evidence("E-08"), .evidence("E-09"))
  func `removed entities disappear with all their entries`() throws {
    let store = try filled()
    try store.open(V2.schema) { context in
      try addSecond(context)
      // With many other owners, it is cheaper to find Ada by the index for the copied name.
      let cat = try #require(try context.all(V2.Cat.self).first)
      for _ in 0..<20 { V2.Owner(context: context).favourite = cat }
    }
    let before = Set(try store.keyspaces("objects."))
    try store.open(V3.schema) { context in
      try context.expect("name > ''", \V3.Animal.name, ["Kit", "Tom"])
      let ada = try #require(try context.all(V3.Owner.self).first)
      #expect(Set(ada.animals.map(\.name)) == ["Tom", "Kit"] && ada.count == 2)
      #expect(ada.favourite == nil && ada.favouriteName == nil)
      try context.expect("favourite == nil", \V3.Owner.name, ["Ada"])
      let lonely = try QueryPredicate<V3.Owner>(format: "favourite == nil")
      #expect(try context.explain(FetchRequest(where: lonely)).indexes == ["favourite"])
      try context.expect("liked.@count == 2", \V3.Owner.name, ["Ada"])
      #expect(ada.liked.map(\.name) == ["Animal2", "Animal2"])
      #expect(ada.liked.allSatisfy { $0.fans == [ada] })
      // The class `Dog` was removed, so the unique name of the dog is available again.
      V3.Cat(context: context).name = "Rex"
      try context.save()
      for cat in try context.all(V3.Cat.self) where cat.name == "Rex" { context.delete(cat) }
      // The stored list has a gap where the bird was.
      let third = V3.Animal2(context: context)
      third.name = "third"
      ada.liked.append(third)
    }
    try store.open(V3.schema) { context in
      let ada = try #require(try context.all(V3.Owner.self).first)
      #expect(ada.liked.map(\.name) == ["Animal2", "Animal2", "third"])
    }
    #expect(try store.entryCount(inKeyspaces: "lists.") == 3)
    #expect(try store.entryCount(inKeyspaces: "orders.") == 3)
    #expect(before.subtracting(try store.keyspaces("objects.")).count == 2)
    // Declaring the removed classes again does not restore their objects.
    try store.open(Schema(version: 4, V2.Cat.self, V2.Dog.self, V2.Owner.self)) { context in
      let count = try context.count(for: FetchRequest<V2.Dog>())
      #expect(count == 0)
      let dog = V2.Dog(context: context)
      dog.name = "Rex"
    }
    try store.open(Schema(version: 4, V2.Cat.self, V2.Dog.self, V2.Owner.self)) { context in
      try context.expect("name > ''", \V2.Animal.name, ["Kit", "Rex", "Tom"])
    }
  }

  @Test(.evidence("E-08"))
  func `entities can lose their superentity and keep their objects`() throws {
    let store = try filled()
    try store.open(V2.schema) { try addSecond($0) }
    // Ada's favourite animal is a dog, but in this version dogs are no longer animals.
    let refusal = try store.refusal(Schema(version: 3, Apart.Cat.self, Apart.Dog.self))
    #expect("\(refusal)".contains("In the store, Owner.favourite can refer to Dog"))
    let parted = Schema(
      version: 3, removing: ["Bird", "Animal2"], Parted.Cat.self, Parted.Dog.self)
    try store.open(parted) { context in
      try context.expect("name > ''", \Parted.Animal.name, ["Kit", "Tom"])
      try context.expect("name > '' AND kennel.name == 'Ada'", \Parted.Dog.name, ["Rex"])
      try context.expect("tricks == 3", \Parted.Dog.name, ["Rex"])
      Parted.Cat(context: context).name = "Rex"
    }
  }

  @Test(.evidence("E-09"))
  func `removed properties stay while the version is the same`() throws {
    let store = try filled()
    let refusal = try store.refusal(Schema(removing: ["Owner"], Poor.Cat.self, V1.Dog.self))
    #expect(refusal.kind == .incompatibleSchema && refusal.failures.count == 3)
    #expect("\(refusal)".contains("Cat.owner exists only in the store"))
    try store.open(V1.schema) { context in
      try context.expect("name == 'Rex'", \V1.Dog.tricks, [3])
      try context.expect("owner.name == 'Ada'", \V1.Cat.name, ["Kit", "Tom"])
    }
  }
}

/// A version in which dogs are no longer animals, although owners may still refer to them.
private enum Apart {
  class Animal: ManagedObject {
    @Attribute var name: String = ""
    @ToOne var owner: Owner?
    override class var entity: Entity { Entity("Animal", isAbstract: true) }
  }
  final class Cat: Animal {}
  final class Dog: ManagedObject {
    @Attribute var name: String = ""
    @ToOne var owner: Owner?
  }
  final class Owner: ManagedObject {
    @Attribute var name: String = ""
    @ToMany(inverse: \Animal.owner) var animals: Set<Animal>
    @ToOne var favourite: Animal?
  }
}

/// A version in which dogs are no longer animals, and owners have no relationships.
private enum Parted {
  class Animal: ManagedObject {
    @Attribute var name: String = ""
    override class var entity: Entity {
      Entity("Animal", isAbstract: true) { Unique(\Animal.name) }
    }
  }
  final class Cat: Animal {}
  final class Dog: ManagedObject {
    @Attribute var name: String = ""
    @Attribute var tricks: Int = 0
    @ToOne(renamedFrom: "owner") var kennel: Owner?
    override class var entity: Entity { Entity("Dog") { Index(\Dog.name) } }
  }
  final class Owner: ManagedObject { @Attribute var name: String = "" }
}

private enum Poor {
  final class Cat: ManagedObject {
    @Attribute var nickname: String = ""
  }
}
