import Foundation
import Heartwood

final class Quake: ManagedObject {
  @Attribute var magnitude: Double = 0
  @Attribute var network: String = ""
  @Attribute var time: Date = .distantPast
}

@MainActor func follow(_ container: PersistentContainer) async throws {
  var ids: [ManagedObjectID] = []

  let controller = FetchedResultsController(
    fetchRequest: FetchRequest<Quake>(
      where: #Predicate { $0.magnitude >= 4.5 }, sort: [SortDescriptor(\.time, order: .reverse)]),
    context: container.viewContext, sectionedBy: \.network)
  try controller.performFetch()
  for await change in controller.changes {
    ids = ids.applying(change.difference) ?? ids
  }
}

func show(_ controller: FetchedResultsController<Quake>) {
  let list = controller.results
  for quake in list.prefix(10) { print(quake.magnitude) }
  for section in list.sections { print(section.name ?? "", section.count) }
}

@MainActor func observe(_ container: PersistentContainer) {
  container.viewContext.tracksObservation = true
}
