/// Hides objects whose deletion has not been saved from relationships that others have filled.
extension ManagedObjectContext {
  /// Returns whether a relationship of `object` must omit `other`, because `other` was deleted in
  /// this context.
  ///
  /// The deleted object can still be among the stored members, because another context may have
  /// added it in the meantime.
  func forgets(
    _ other: ManagedObject, _ object: ManagedObject, _ property: PropertyDescription
  ) -> Bool {
    guard other.isDeleted,
      let inverse = object.entityDescription?.inverses[property.slot]?.property
    else { return false }
    switch inverse.options.deleteRule ?? .nullify {
    case .nullify, .cascade: return true
    case .deny, .noAction: return false
    }
  }

  /// Discards the loaded member lists that omit objects deleted in this context, so that the next
  /// use loads the complete lists.
  func showHiddenMembers() {
    for number in hidingMembers {
      guard let object = registeredObject(number), let entity = object.entityDescription else {
        continue
      }
      forgetMembers(of: object, entity)
      for property in entity.relationships where property.isOrdered {
        showHiddenMembers(of: object, property)
      }
    }
    hidingMembers = []
  }

  /// Adds the stored members that an edited list omits to the list again.
  private func showHiddenMembers(of object: ManagedObject, _ property: PropertyDescription) {
    guard let edit = object.changes?.members[property.slot], let base = edit.base,
      let mine = object.members(property)
    else { return }
    let theirs = base.map(\.number)
    let merge = ListMerge(base: nil, theirs: theirs, mine: mine.map(\.number), prefersMine: true)
    let shown = base.filter { !edit.removed.contains($0) && !forgets($0, object, property) } + mine
    let numbers = merge.merged(shown.map(\.number))
    object.setMembers(numbers.compactMap { self.object($0) }, property)
  }
}
