import Heartwood

/// Steps that change relationships.
extension CrateRun {
  /// The objects of a context, by class.
  private struct Content {
    var crates: [Crate] = []
    var items: [CrateItem] = []
    var tags: [CrateTag] = []
    var locks: [CrateLock] = []

    init(_ objects: [ManagedObject]) {
      crates = objects.compactMap { $0 as? Crate }
      items = objects.compactMap { $0 as? CrateItem }
      tags = objects.compactMap { $0 as? CrateTag }
      locks = objects.compactMap { $0 as? CrateLock }
    }
  }

  /// Changes a relationship from one of its sides.
  func relate(_ workspace: CrateWorkspace) throws {
    // Without a fetch, the objects may be older than others' changes, or faults.
    let content =
      isTrue(onceIn: 2)
      ? registered(workspace) : Content(try CrateText.objects(workspace.context))
    workspace.touch()
    let object: ManagedObject? =
      switch below(14) {
      case 0..<6: relateCrate(content)
      case 6, 7: relateItem(content)
      case 8..<13: relateTag(content)
      default: relateLock(content)
      }
    guard let object else { return }
    record("\(workspace.name): relate \(CrateText.line(object, withDerived: false))")
  }

  /// Returns the objects in the memory of a context that are neither deleted nor without a row.
  private func registered(_ workspace: CrateWorkspace) -> Content {
    let present = workspace.context.registeredObjects.filter {
      !$0.isDeleted && !($0.isFault && $0.isInserted)
    }
    return Content(present.sorted { $0.objectID.description < $1.objectID.description })
  }

  /// Relates two objects, saves the same change in another context, and sometimes undoes it.
  func shareChange(_ workspace: CrateWorkspace) throws {
    let content = registered(workspace)
    guard workspace.isRoot, let crate = one(content.crates.filter { !$0.isInserted }),
      let item = one(content.items.filter { !$0.isInserted }),
      let tag = one(content.tags.filter { !$0.isInserted }),
      let friend = one(content.tags.filter { !$0.isInserted })
    else { return }
    let link = below(6)
    func connect(_ crate: Crate, _ item: CrateItem, _ tag: CrateTag, _ friend: CrateTag) {
      switch link {
      case 0: crate.tags.insert(tag)
      case 1: tag.crates.insert(crate)
      case 2: tag.friends.insert(friend)
      case 3: item.crate = crate
      case 4: tag.parent = friend
      default: tag.mate = friend
      }
    }
    workspace.touch()
    record("\(workspace.name): share \(link) of \(CrateText.list([crate, item, tag, friend]))")
    connect(crate, item, tag, friend)
    let other = container.newContext()
    try withExtendedLifetime(other) {
      guard let crate = try other.existingObject(Crate.self, with: crate.objectID),
        let item = try other.existingObject(CrateItem.self, with: item.objectID),
        let tag = try other.existingObject(CrateTag.self, with: tag.objectID),
        let friend = try other.existingObject(CrateTag.self, with: friend.objectID)
      else { return }
      connect(crate, item, tag, friend)
      let hasChanges = other.hasChanges
      try other.save()
      if hasChanges { noteCommit(by: nil) }
    }
    if isTrue(onceIn: 2) { try undo(workspace) }
  }

  private func relateCrate(_ content: Content) -> Crate? {
    guard let crate = one(content.crates) else { return nil }
    switch below(6) {
    case 0: crate.items = some(content.items)
    case 1: crate.items.shuffle(using: &random)
    case 2:
      guard let item = one(content.items) else { return nil }
      crate.items.removeAll { $0 === item }
      crate.items.insert(item, at: below(crate.items.count + 1))
    case 3: crate.favourite = isTrue(onceIn: 3) ? nil : one(content.items)
    default:
      guard let tag = one(content.tags) else { return nil }
      if crate.tags.remove(tag) == nil { crate.tags.insert(tag) }
    }
    return crate
  }

  private func relateItem(_ content: Content) -> CrateItem? {
    guard let item = one(content.items) else { return nil }
    switch below(3) {
    case 0: item.tags = some(content.tags)
    default: item.crate = isTrue(onceIn: 4) ? nil : one(content.crates)
    }
    return item
  }

  private func relateTag(_ content: Content) -> CrateTag? {
    guard let tag = one(content.tags), let other = one(content.tags) else { return nil }
    switch below(8) {
    case 0: tag.crates = Set(some(content.crates))
    case 1: tag.items = some(content.items)
    case 2: tag.items.shuffle(using: &random)
    case 3: tag.friends = Set(some(content.tags))
    case 4: if tag.friends.remove(other) == nil { tag.friends.insert(other) }
    case 5: tag.mate = isTrue(onceIn: 4) ? nil : other
    case 6: tag.children = Set(some(content.tags))
    default: tag.parent = isTrue(onceIn: 4) ? nil : other
    }
    return tag
  }

  private func relateLock(_ content: Content) -> CrateLock? {
    guard let lock = one(content.locks) else { return nil }
    let tag = one(content.tags)
    switch below(3) {
    case 0: lock.tag = nil
    case 1: lock.tag = tag
    default: tag?.lock = lock
    }
    return lock
  }
}
