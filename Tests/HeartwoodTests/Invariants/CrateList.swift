import Foundation
import Heartwood

/// A live list, and a copy of it that is maintained from its changes.
final class CrateList<Element: CrateObject> {
  private let controller: FetchedResultsController<Element>
  private let context: ManagedObjectContext
  private var copy: [ManagedObjectID] = []
  /// A description of the defect in a reported change, or `nil`.
  private var defect: String?

  init(
    _ request: FetchRequest<Element>, _ context: ManagedObjectContext,
    sectionedBy path: PartialKeyPath<Element>? = nil
  ) throws {
    self.context = context
    controller = FetchedResultsController(
      fetchRequest: request, context: context, sectionedBy: path)
    try controller.performFetch()
    copy = controller.objectIDs
    controller.changeHandler = { [weak self] in self?.follow($0) }
  }

  private func follow(_ change: ResultsChange) {
    if change.difference.isEmpty, change.updated.isEmpty, change.sectionDifference.isEmpty {
      defect = "an empty change"
    }
    guard let next = copy.applying(change.difference) else {
      defect = "a difference that cannot be applied"
      return
    }
    copy = next
    let moved = change.difference.map { step in
      switch step {
      case .insert(_, let id, _), .remove(_, let id, _): id
      }
    }
    if !Set(moved).isDisjoint(with: change.updated) { defect = "an update of a moved object" }
    if !Set(copy).isSuperset(of: change.updated) { defect = "an update of an unlisted object" }
  }

  /// Expects the list to equal a fetch, and the copy to equal the list.
  func check() throws {
    // Read the list first, because a fetch rereads objects.
    let request = controller.fetchRequest
    let (listedIDs, foundIDs) = (controller.objectIDs, try context.fetchObjectIDs(request))
    let (listed, found) = (controller.fetchedObjects, try context.fetch(request))
    let details = "\(CrateText.list(listed)) instead of \(CrateText.list(found))"
    if controller.sectionKeyPath == nil {
      try expect(listedIDs == foundIDs, "IDs of lists equal fetches", details)
      try expect(listed == found, "lists equal fetches", details)
    } else {
      let isSame = Set(listed) == Set(found) && listed.count == found.count
      try expect(isSame, "lists with sections equal fetches", details)
      try checkSections(found)
    }
    try expect(controller.count == found.count, "counts of lists equal fetches", details)
    try expect(defect == nil, "changes of lists fit", defect ?? "")
    let names = copy.map { CrateText.name(context.object(ManagedObject.self, with: $0)) }
    try expect(
      copy == controller.objectIDs, "changes of lists are complete", "\(names); \(details)")
  }

  private func checkSections(_ found: [Element]) throws {
    let listed = controller.sections.flatMap(\.objects)
    let numbers = controller.sections.compactMap(\.objects.first?.number)
    try expect(numbers == Set(numbers).sorted(), "sections are in order", "\(numbers)")
    for number in numbers {
      let members = listed.filter { $0.number == number }
      let expected = found.filter { $0.number == number }
      try expect(
        members == expected, "sections equal fetches",
        "\(number): \(CrateText.list(members)) instead of \(CrateText.list(expected))")
    }
  }
}

/// The live lists of a context, which have a compound sort order, sections, or a limited range.
final class CrateLists {
  private let items: CrateList<CrateItem>
  private let filled: CrateList<Crate>
  private let range: CrateList<CrateTag>

  init(_ context: ManagedObjectContext) throws {
    let two = 2
    items = try CrateList(
      FetchRequest(
        where: #Predicate { $0.number >= two },
        sort: [SortDescriptor(\.text), SortDescriptor(\.number, order: .reverse)]),
      context)
    filled = try CrateList(
      FetchRequest(where: #Predicate { $0.items.count > 0 }, sort: [SortDescriptor(\.text)]),
      context, sectionedBy: \.number)
    range = try CrateList(
      FetchRequest(
        sort: [SortDescriptor(\.number), SortDescriptor(\.text)], limit: 4, offset: 1),
      context)
  }

  func check() throws {
    try items.check()
    try filled.check()
    try range.check()
  }
}
