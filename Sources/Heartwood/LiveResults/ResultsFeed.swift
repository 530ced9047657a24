/// Tells the lists of a context, or of its part of one store, what has become of which objects.
///
/// Whatever has changed comes from two sources: what the context says of its own objects, which is
/// taken down as it happens, and the difference between the generation that the lists show and the
/// one that the context reads now. Each object of them is looked at once, and the lists of its
/// entity that may want it are asked about it.
final class ResultsFeed: ContextFollower {
  /// The part of the context that the lists are of, which holds this.
  unowned let part: ManagedObjectContext
  /// The lists, each until its controller gives it up.
  private(set) var lists: [LiveList] = []
  /// The same by the entities of their objects, but for those that are always fetched again; `nil`
  /// when lists have come or gone since.
  private var directories: [Int: ListDirectory]?
  /// What names the generation that the lists come to show.
  private(set) var generation: QueryGenerationToken?
  /// What the lists show, but for what was changed in the context.
  private var shownView: StoreView?
  /// What objects with unsaved changes are in the lists; no values if they were deleted.
  private var shown: [ObjectNumber: [StoredValue]?] = [:]
  /// Objects that were changed since.
  private var noted: Set<ManagedObject> = []
  /// Whether all that are shown with changes have to be looked at.
  private var isAllNoted = false
  /// Whether something has changed in a context above.
  private var isChangedAbove = false
  /// The numbers that objects were given since, by those they had.
  private var renumbered: [ObjectNumber: ObjectNumber] = [:]
  private var isUpdating = false
  /// How many rows and objects were looked at, for those who look at costs.
  private(set) var lookCount = 0
  /// How many lists were asked about them.
  private(set) var askedCount = 0

  init(_ part: ManagedObjectContext) { self.part = part }

  // MARK: Lists

  /// Makes a list that is told of what happens from then on.
  ///
  /// - Throws: What kept rows from being read.
  func makeList(_ query: LiveQuery) throws -> LiveList {
    // So that the new list and the others show the same.
    try update()
    let view = try topView()
    if shownView == nil { try takeUpChanges() }
    let list = try reading(view) { try LiveList(query, self) }
    shownView = view
    lists.append(list)
    directories = nil
    part.follow(self)
    return list
  }

  /// Lets go of a list that nobody has any more.
  func remove(_ list: LiveList) {
    lists.removeAll { $0 === list }
    directories = nil
    guard lists.isEmpty else { return }
    part.follower = nil
    shownView = nil
    (shown, noted) = ([:], [])
  }

  /// Takes down what was changed before there was a list.
  private func takeUpChanges() throws {
    noted = []
    shown = [:]
    for object in part.changedObjects where object.source === part { try show(object) }
  }

  // MARK: What is told

  func note(_ object: ManagedObject, isRefreshed: Bool) {
    // What was read again without having been changed is in the rows.
    if isRefreshed, shown[object.number] == nil { return }
    noted.insert(object)
  }

  func noteAll() { isAllNoted = true }

  func noteAbove() { isChangedAbove = true }

  func noteNumber(_ new: ObjectNumber, insteadOf old: ObjectNumber) { renumbered[old] = new }

  // MARK: Updating

  /// Has all lists show what a fetch would find now.
  ///
  /// What keeps rows from being read is noted by the context, as for a fault; the lists stay as
  /// they were.
  func updateLists() {
    do { try update() } catch { part.noteUnreadable(error) }
  }

  private func update() throws {
    guard !isUpdating, !lists.isEmpty else { return }
    isUpdating = true
    defer { isUpdating = false }
    // Objects that are loaded on the way may change others.
    for _ in 0..<Self.roundLimit {
      let view = try topView()
      let isNews = !noted.isEmpty || isAllNoted || isChangedAbove
      guard shownView !== view || isNews else { return }
      let tellings = try reading(view) { try takeOver(view) }
      for tell in tellings { tell() }
    }
  }

  private static let roundLimit = 10

  /// What the context at the top reads now; nothing if its store was removed.
  private func topView() throws -> StoreView {
    var top = part
    while let parent = top.parent { top = parent }
    guard !part.model.isRemoved else {
      if let shownView, shownView.isOfNothing { return shownView }
      return StoreView(emptyOf: part.model)
    }
    return try top.currentView()
  }

  /// Runs `body` while the context reads one generation, though it may not be pinned.
  private func reading<Result>(_ view: StoreView, _ body: () throws -> Result) rethrows -> Result {
    guard part.parent == nil else { return try body() }
    let before = part.pin
    part.pin = .at(view)
    defer { part.pin = before }
    return try body()
  }

  /// Finds out what has changed and has the lists take it over.
  ///
  /// - Returns: What tells of it.
  private func takeOver(_ view: StoreView) throws -> [() -> Void] {
    var numbers: Set<ObjectNumber> = []
    for object in noted { numbers.insert(object.number) }
    for (old, new) in renumbered where shown[old] != nil { numbers.formUnion([old, new]) }
    if isAllNoted { numbers.formUnion(shown.keys) }
    let difference = try rowDifference(to: view)
    if let difference { numbers.formUnion(difference) }
    // As a fetch does: what was set to the values it had counts as the store has it (C-05).
    for number in numbers { _ = registered(number).map { part.settleUnedited($0) } }
    let touched = Set(numbers.map(\.entity))
    for list in lists where try list.query.updateNames() { directories = nil }
    let changes = ValueChanges(self, before: shownView, after: view)
    if difference == nil {
      numbers = []
      try refreshRegistered(view)
    }
    let snapshot = part.parent == nil ? view.snapshot : nil
    generation = snapshot.map { part.group.token($0, of: part.model) }
    let directories = currentDirectories()
    for number in numbers { try look(at: number, directories[number.entity], view, changes) }
    let all = lists
    for list in all {
      list.mustFetch =
        difference == nil || list.query.isNamedAnew
        || list.query.fetchesAgain
          && (part.parent != nil || !list.query.askedEntities.isDisjoint(with: touched))
    }
    let tellings = try all.compactMap { list in
      try list.update { number in
        guard difference == nil || numbers.contains(number) else { return false }
        return try changes.isUpdated(number, list.query)
      }
    }
    for number in numbers { shown[number] = nil }
    if difference == nil { shown = [:] }
    for number in numbers {
      if let object = registered(number) { try show(object) }
    }
    if difference == nil {
      for object in part.changedObjects where object.source === part { try show(object) }
    }
    (noted, renumbered, isAllNoted, isChangedAbove) = ([], [:], false, false)
    shownView = view
    return tellings
  }

  /// The objects whose rows, or members, two generations hold differently; `nil` if that cannot be
  /// told, or if they are so many that the lists are fetched again in less time.
  private func rowDifference(to view: StoreView) throws -> Set<ObjectNumber>? {
    guard part.parent == nil else { return [] }
    guard let shownView, shownView !== view else { return shownView == nil ? nil : [] }
    guard let source = shownView.snapshot, let target = view.snapshot, shownView.isCurrent else {
      return nil
    }
    guard source.generation != target.generation else { return [] }
    var difference = RowDifference(part.model)
    let isAll = try difference.take(
      part.store, from: source, to: target, while: cheaperThanFetching(view))
    return isAll ? Set(difference.numbers) : nil
  }

  private func currentDirectories() -> [Int: ListDirectory] {
    if let directories { return directories }
    var lists: [Int: [LiveList]] = [:]
    for list in self.lists where !list.query.fetchesAgain {
      for entity in list.query.entities { lists[entity, default: []].append(list) }
    }
    let new = lists.mapValues { ListDirectory($0) }
    directories = new
    return new
  }

  /// The lists that have an object, or may have it now.
  private func candidates(
    for number: ObjectNumber, _ storage: EntityStorage, _ directory: ListDirectory,
    _ view: StoreView
  ) throws -> [LiveList] {
    if directory.namesAll { return directory.all }
    var search = ListDirectory.Search(directory)
    if let values = shown[number] ?? nil { search.add { values[$0] } }
    if !number.isTemporary {
      for view in [shownView, view] {
        _ = try view?.withRecord(number, storage) { record in
          try search.add { try storage.value($0, record) }
        }
      }
    }
    if let object = registered(number), object.hasChanges, !object.isDeleted {
      try search.add { try object.storedValue(storage.entity.properties[$0]) }
    }
    return search.lists
  }

  /// Asks the lists of an object's entity about it.
  private func look(
    at number: ObjectNumber, _ directory: ListDirectory?, _ view: StoreView,
    _ changes: ValueChanges
  ) throws {
    lookCount += 1
    guard let storage = part.model.storage(of: number) else { return }
    let lists = try directory.map { try candidates(for: number, storage, $0, view) } ?? []
    askedCount += lists.count
    let isUpdated = { (list: LiveList) in try changes.isUpdated(number, list.query) }
    var isRow = false
    if !number.isTemporary, part.parent == nil {
      _ = try view.withRecord(number, storage) { record in
        isRow = true
        // As a fetch does: what is here is brought up to date.
        if let object = registered(number), !object.isFault || object.isGivenUp {
          _ = try part.realise(number, storage, record)
        }
        // Most have no changes, which is asked once for all lists.
        let isChanged = registered(number)?.hasChanges == true
        for list in lists where !isChanged || !list.query.includesPendingChanges {
          try list.note(number, try list.query.keys(number, storage, record)) {
            try isUpdated(list)
          }
        }
      }
    }
    if isRow, registered(number)?.hasChanges != true { return }
    for list in lists {
      if let object = changedObject(number, list.query) {
        let keys = object.isDeleted ? nil : try list.query.keys(object)
        try list.note(number, keys) { try isUpdated(list) }
      } else if !isRow {
        list.note(number, nil) { false }
      }
    }
  }

  // MARK: Objects

  func registered(_ number: ObjectNumber) -> ManagedObject? {
    part.registered[number]?.takeUnretainedValue()
  }

  /// The object that counts instead of its row.
  func changedObject(_ number: ObjectNumber, _ query: LiveQuery) -> ManagedObject? {
    guard query.includesPendingChanges, let object = registered(number), object.hasChanges else {
      return nil
    }
    return object
  }

  /// Takes down what an object is in the lists.
  private func show(_ object: ManagedObject) throws {
    guard object.hasChanges, object.source === part else { return }
    shown[object.number] = .some(object.isDeleted ? nil : try object.columnValues())
  }

  /// What was shown of an object with changes; `nil` if it had none.
  func shownValues(_ number: ObjectNumber) -> [StoredValue]?? { shown[number] }

  /// The number that a reference has now.
  func currentNumber(_ bits: Int64) -> Int64 {
    renumbered[ObjectNumber(bits: bits)]?.bits ?? bits
  }

  func id(_ number: ObjectNumber) -> ManagedObjectID { ManagedObjectID(number, part.model.space) }

  /// Loads objects that are to be looked at, in the order of their rows.
  ///
  /// - Returns: The objects, for who asked to hold them.
  func load(_ numbers: [ObjectNumber]) -> [ManagedObject] {
    guard part.parent == nil, let shownView else { return [] }
    var loaded: [ManagedObject] = []
    do {
      for (_, some) in Dictionary(grouping: numbers.filter { !$0.isTemporary }, by: \.entity) {
        guard let storage = part.model.storage(of: some[0]) else { continue }
        let sorted = some.sorted()
        try shownView.objects(storage)?.forEach(of: sorted.map(\.row)) { position, value in
          _ = try value?.withRecord(storage.layouts) { record in
            try part.realise(sorted[position], storage, record).map { loaded.append($0) }
          }
        }
      }
    } catch {
      part.noteUnreadable(error)
    }
    return loaded
  }
}
