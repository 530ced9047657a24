import Heartwood
import HeartwoodTestSupport
import Testing

/// Tests conflicts of deleted objects that were refreshed before the save.
@Suite("Refreshes of deleted objects")
struct DeletedRefreshTests {
  enum Refresh: CaseIterable { case all, merging, discarding }

  /// A merge policy and its effect on a deletion in conflict.
  struct Policy {
    let policy: MergePolicy
    let keepsRow: Bool
    let throwsError: Bool

    init(_ policy: MergePolicy, keepsRow: Bool, throwsError: Bool = false) {
      (self.policy, self.keepsRow, self.throwsError) = (policy, keepsRow, throwsError)
    }
  }

  @Test(
    .evidence("C-02"), .evidence("C-10"), .evidence("S-03"), .evidence("S-05"),
    arguments: Refresh.allCases,
    [
      Policy(.error, keepsRow: true, throwsError: true),
      Policy(.mergeByPropertyStoreTrump, keepsRow: true), Policy(.rollback, keepsRow: true),
      Policy(.mergeByPropertyObjectTrump, keepsRow: false), Policy(.overwrite, keepsRow: false),
    ])
  func `a change after the refresh is a conflict`(
    refresh: Refresh, policy: Policy
  ) throws {
    for tracksUndo in [false, true] {
      for isInChild in [false, true] {
        let fixture = try GraphFixture()
        let id = try fixture.person("Ada", age: 1)
        let root = fixture.context()
        root.mergePolicy = policy.policy
        root.tracksUndo = tracksUndo
        let context = isInChild ? fixture.child(of: root) : root
        let ada: Person = context.object(with: id)
        context.delete(ada)
        try fixture.change(id) { $0.age = 2 }
        switch refresh {
        case .all: context.refreshAllObjects()
        case .merging: try context.refresh(ada, mergeChanges: true)
        case .discarding: try context.refresh(ada, mergeChanges: false)
        }
        #expect(ada.isDeleted && context.deletedObjects == [ada])
        if isInChild {
          try context.save()
          root.refreshAllObjects()
        }
        try fixture.change(id) { $0.age = 3 }
        if policy.throwsError {
          let error = try #require(throws: ObjectGraphError.self) { try root.save() }
          #expect(error.kind == .mergeConflict)
        } else {
          try root.save()
          #expect(!root.hasChanges)
        }
        #expect(try fixture.stored(id)?.age == (policy.keepsRow ? 3 : nil))
      }
    }
  }

  @Test(.evidence("S-03"), .evidence("S-05"), arguments: [false, true])
  func `a change before the refresh is no conflict`(isInChild: Bool) throws {
    let fixture = try GraphFixture()
    let id = try fixture.person("Ada", age: 1, cars: 1)
    let root = fixture.context()
    let context = isInChild ? fixture.child(of: root) : root
    let ada: Person = context.object(with: id)
    context.delete(ada)
    try fixture.change(id) { $0.age = 2 }
    root.refreshAllObjects()
    context.refreshAllObjects()
    if isInChild { try context.save() }
    try root.save()
    #expect(try fixture.stored(id) == nil)
    #expect(try fixture.context().count(for: FetchRequest<Car>()) == 0)
  }

  @Test(.evidence("S-07"), arguments: Refresh.allCases)
  func `a rollback after the refresh shows the values that were read`(refresh: Refresh) throws {
    let fixture = try GraphFixture()
    let id = try fixture.person("Ada", age: 1)
    let context = fixture.context()
    let ada: Person = context.object(with: id)
    ada.age = 5
    context.delete(ada)
    try fixture.change(id) { $0.nickname = "theirs" }
    switch refresh {
    case .all: context.refreshAllObjects()
    case .merging: try context.refresh(ada, mergeChanges: true)
    case .discarding: try context.refresh(ada, mergeChanges: false)
    }
    #expect(ada.age == (refresh == .discarding ? 1 : 5))
    context.rollback()
    #expect(ada.age == 1 && ada.nickname == "theirs" && !context.hasChanges)
    ada.age = 9
    try context.save()
    #expect(try fixture.stored(id)?.age == 9)
  }

  @Test(.evidence("S-02"), .evidence("S-07"), arguments: Refresh.allCases, [false, true])
  func `no relationship contains the object after the refresh`(
    refresh: Refresh, isInChild: Bool
  ) throws {
    for force in [false, true] {
      for saves in [false, true] {
        let fixture = try GraphFixture()
        let id = try fixture.person("Ada", age: 1, cars: 2)
        let benID = try fixture.person("Ben", age: 2)
        let root = fixture.context()
        let context = isInChild ? fixture.child(of: root) : root
        let (ada, ben) = (
          context.object(Person.self, with: id), context.object(Person.self, with: benID)
        )
        let cars = ada.cars.sorted { $0.name < $1.name }
        cars[0].name = "changed"
        cars[0].owner = ben
        for car in cars { context.delete(car) }
        let owners = cars.map(\.owner)
        for car in cars {
          switch refresh {
          case .all: context.refreshAllObjects()
          case .merging: try context.refresh(car, mergeChanges: true, force: force)
          case .discarding: try context.refresh(car, mergeChanges: false, force: force)
          }
        }
        #expect(ada.cars.isEmpty && ben.cars.isEmpty && cars.allSatisfy(\.isDeleted))
        #expect(ada.$cars.count == 0 && ben.$cars.count == 0 && cars.map(\.owner) == owners)
        if saves {
          try context.save()
          if isInChild { try root.save() }
          #expect(ada.cars.isEmpty && ben.cars.isEmpty)
          let reader = fixture.context()
          #expect(try reader.count(for: FetchRequest<Car>()) == 0)
          #expect(try reader.fetch(FetchRequest<Person>()).allSatisfy(\.cars.isEmpty))
        } else {
          context.rollback()
          #expect(ada.cars == Set(cars) && ben.cars.isEmpty && !context.hasChanges)
          #expect(cars[0].name == "Ada's car 0" && cars[0].owner == ada)
        }
      }
    }
  }
}
