import Heartwood

/// One of many versions of a class.
protocol Thing: ManagedObject {
  var number: Int { get set }
  static var columns: [ThingColumn<Self>] { get }
  static var link: ThingLink { get }
  /// The objects to which the relationship `link` of this object leads.
  var targets: [Self] { get set }
  /// The objects whose `link` leads to this object, or `nil` if `link` has no inverse.
  var sources: [Self]? { get }
}

/// The value of an attribute of any type.
enum ThingValue: Hashable {
  case none
  case number(Int)
  case text(String)
}

struct ThingColumn<M> {
  let name: String
  let isOptional: Bool
  let isText: Bool
  /// The value that a new object has.
  let initial: ThingValue
  let get: (M) -> ThingValue
  let set: (M, ThingValue) -> Void

  static func number(_ name: String, _ path: ReferenceWritableKeyPath<M, Int>, _ initial: Int)
    -> ThingColumn
  {
    ThingColumn(
      name: name, isOptional: false, isText: false, initial: .number(initial),
      get: { .number($0[keyPath: path]) },
      set: { if case .number(let value) = $1 { $0[keyPath: path] = value } })
  }

  static func optionalNumber(
    _ name: String, _ path: ReferenceWritableKeyPath<M, Int?>, _ initial: Int?
  ) -> ThingColumn {
    ThingColumn(
      name: name, isOptional: true, isText: false, initial: initial.map { .number($0) } ?? .none,
      get: { $0[keyPath: path].map { .number($0) } ?? .none },
      set: {
        if case .number(let value) = $1 {
          $0[keyPath: path] = value
        } else {
          $0[keyPath: path] = nil
        }
      })
  }

  static func text(_ name: String, _ path: ReferenceWritableKeyPath<M, String>, _ initial: String)
    -> ThingColumn
  {
    ThingColumn(
      name: name, isOptional: false, isText: true, initial: .text(initial),
      get: { .text($0[keyPath: path]) },
      set: { if case .text(let value) = $1 { $0[keyPath: path] = value } })
  }

  static func optionalText(
    _ name: String, _ path: ReferenceWritableKeyPath<M, String?>, _ initial: String?
  ) -> ThingColumn {
    ThingColumn(
      name: name, isOptional: true, isText: true, initial: initial.map { .text($0) } ?? .none,
      get: { $0[keyPath: path].map { .text($0) } ?? .none },
      set: {
        if case .text(let value) = $1 { $0[keyPath: path] = value } else { $0[keyPath: path] = nil }
      })
  }
}

/// The kind of relationship that `link` is in a version.
enum ThingLink { case nothing, one, many, list }

/// The versions of the class; a test opens a store with them in random order.
enum Things {
  final class Zero: ManagedObject, Thing {
    @Attribute var number: Int = 0
    @Attribute var a: Int = 1
    @Attribute var t: String? = nil
    @ToOne var link: Zero?
    override class var entity: Entity { Entity("Thing") { Index(\Zero.a) } }
    static var columns: [ThingColumn<Zero>] {
      [.number("a", \.a, 1), .optionalText("t", \.t, nil)]
    }
    static var link: ThingLink { .one }
    var targets: [Zero] {
      get { [link].compactMap { $0 } }
      set { link = newValue.first }
    }
    var sources: [Zero]? { nil }
  }

  final class One: ManagedObject, Thing {
    @Attribute var number: Int = 0
    @Attribute var a: Int? = nil
    @Attribute var t: String = "t1"
    @Attribute var capital: String = ""
    @ToOne var link: One?
    @ToMany(inverse: \One.link) var backs: Set<One>
    override class var entity: Entity {
      Entity("Thing") {
        Index(\One.a)
        Index(\One.t, \One.a)
        Derived(\One.capital, .uppercase(\One.t))
      }
    }
    static var columns: [ThingColumn<One>] {
      [.optionalNumber("a", \.a, nil), .text("t", \.t, "t1")]
    }
    static var link: ThingLink { .one }
    var targets: [One] {
      get { [link].compactMap { $0 } }
      set { link = newValue.first }
    }
    var sources: [One]? { Array(backs) }
  }

  final class Two: ManagedObject, Thing {
    @Attribute var number: Int = 0
    @Attribute var t: String = "t2"
    @Attribute var b: Int = 2
    @ToMany(inverse: \Two.backs) var link: Set<Two>
    @ToMany var backs: Set<Two>
    override class var entity: Entity { Entity("Thing") { Index(\Two.t) } }
    static var columns: [ThingColumn<Two>] { [.text("t", \.t, "t2"), .number("b", \.b, 2)] }
    static var link: ThingLink { .many }
    var targets: [Two] {
      get { Array(link) }
      set { link = Set(newValue) }
    }
    var sources: [Two]? { Array(backs) }
  }

  final class Three: ManagedObject, Thing {
    @Attribute var number: Int = 0
    @Attribute var a: Int = 3
    @Attribute var b: Int? = nil
    @Attribute var backCount: Int = 0
    @OrderedToMany(inverse: \Three.backs) var link: [Three]
    @ToMany var backs: Set<Three>
    override class var entity: Entity {
      Entity("Thing") {
        Index(\Three.a)
        Derived(\Three.backCount, .count(\Three.backs))
      }
    }
    static var columns: [ThingColumn<Three>] {
      [.number("a", \.a, 3), .optionalNumber("b", \.b, nil)]
    }
    static var link: ThingLink { .list }
    var targets: [Three] {
      get { link }
      set { link = newValue }
    }
    var sources: [Three]? { Array(backs) }
  }

  final class Four: ManagedObject, Thing {
    @Attribute var number: Int = 0
    @Attribute var b: Int = 44
    @Attribute var t: String? = "t4"
    @Attribute var a: Int? = 4
    @OrderedToMany(inverse: \Four.backs) var link: [Four]
    @OrderedToMany var backs: [Four]
    static var columns: [ThingColumn<Four>] {
      [.number("b", \.b, 44), .optionalText("t", \.t, "t4"), .optionalNumber("a", \.a, 4)]
    }
    override class var entity: Entity { Entity("Thing") { Index(\Four.t) } }
    static var link: ThingLink { .list }
    var targets: [Four] {
      get { link }
      set { link = newValue }
    }
    var sources: [Four]? { backs }
  }

  final class Five: ManagedObject, Thing {
    @Attribute var number: Int = 0
    @Attribute var a: Int = 5
    @Attribute var t: String = "t5"
    override class var entity: Entity { Entity("Thing") { Index(\Five.a) } }
    static var columns: [ThingColumn<Five>] { [.number("a", \.a, 5), .text("t", \.t, "t5")] }
    static var link: ThingLink { .nothing }
    var targets: [Five] {
      get { [] }
      set {}
    }
    var sources: [Five]? { nil }
  }

  static let all: [any Thing.Type] = [
    Zero.self, One.self, Two.self, Three.self, Four.self, Five.self,
  ]
}
