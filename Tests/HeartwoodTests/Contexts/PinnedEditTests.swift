import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

/// Tests edits that equal the content of an older generation to which the context is then pinned.
@Suite("Edits read in an older generation")
struct PinnedEditTests {
  private func nodes(_ context: ManagedObjectContext) throws -> [MemberNode] {
    try context.fetch(FetchRequest<MemberNode>(sort: [SortDescriptor(\.id)]))
  }

  /// Reads all nodes and their members in the generation of another context.
  private func read(
    _ context: ManagedObjectContext, _ root: ManagedObjectContext, at other: ManagedObjectContext
  ) throws {
    try root.setQueryGenerationFrom(other.queryGenerationToken)
    for node in try nodes(context) {
      for link in MemberNode.Link.allCases { _ = node.loaded(link) }
      _ = (node.parent, node.lane)
    }
  }

  @Test(
    .evidence("QG-22"), arguments: MemberNode.Link.allCases,
    [[false, false], [true, false], [false, true], [true, true]])
  func `an edit to members is kept after both sides are read in an older generation`(
    link: MemberNode.Link, options: [Bool]
  ) throws {
    for isInChild in [false, true] {
      let (areLinked, isDirect) = (options[0], options[1])
      let fixture = try GraphFixture(Schema(MemberNode.self))
      let (writer, reader, root) = (fixture.context(), fixture.context(), fixture.context())
      for id in 0..<2 { MemberNode(context: writer).id = id }
      var all = try nodes(writer)
      if !areLinked { all[0].toggleLoaded(link, all[1]) }
      try writer.save()
      try reader.setQueryGenerationFrom(.current)
      #expect(try nodes(reader).count == 2)
      all[0].toggleLoaded(link, all[1])
      try writer.save()

      let context = isInChild ? ManagedObjectContext(parent: root) : root
      all = try nodes(context)
      #expect(all[0].hasDirect(link, all[1]) == areLinked)
      if isDirect {
        #expect(areLinked ? all[0].removeDirect(link, all[1]) : all[0].addDirect(link, all[1]))
      } else {
        all[0].toggleLoaded(link, all[1])
      }
      let expected = areLinked ? [] : [all[1]]
      try read(context, root, at: reader)
      #expect(all[0].loaded(link) == expected)
      try root.setQueryGenerationFrom(nil)
      context.refreshAllObjects()
      #expect(context.hasChanges && all[0].loaded(link) == expected)
      #expect(all[0].hasDirect(link, all[1]) != areLinked)
      try context.save()
      if isInChild { try root.save() }
      let saved = try nodes(reader.advanced())
      #expect(saved[0].loaded(link) == (areLinked ? [] : [saved[1]]))
    }
  }

  @Test(.evidence("QG-22"), arguments: [false, true])
  func `edits of values and deletions stay after an older generation was read`(
    isInChild: Bool
  ) throws {
    let fixture = try GraphFixture(Schema(MemberNode.self))
    let (root, reader) = (fixture.context(), fixture.context())
    for id in 0..<3 { MemberNode(context: root).id = id }
    try root.save()
    var all = try nodes(root)
    all[2].parent = all[0]
    try root.save()
    try reader.setQueryGenerationFrom(.current)
    #expect(try nodes(reader).count == 3)
    all[1].id = 5
    all[2].parent = all[1]
    MemberNode(context: root).id = 7
    try root.save()
    root.reset()

    let context = isInChild ? ManagedObjectContext(parent: root) : root
    all = try nodes(context)
    #expect(all.map(\.id) == [0, 2, 5, 7])
    (all[2].id, all[1].parent) = (1, all[0])
    context.delete(all[3])
    MemberNode(context: context).id = 9
    try read(context, root, at: reader)
    #expect(try nodes(context).map(\.id) == [0, 1, 2, 9])
    try root.setQueryGenerationFrom(nil)
    context.refreshAllObjects()
    #expect(all[2].id == 1 && all[1].parent === all[0] && all[3].isDeleted)
    #expect(all[0].children == [all[1]] && all[2].children == [])
    try context.save()
    if isInChild { try root.save() }
    let saved = try nodes(reader.advanced())
    #expect(saved.map(\.id) == [0, 1, 2, 9] && saved[2].parent === saved[0])
  }

  @Test(
    .evidence("QG-22"), arguments: MemberNode.Link.allCases,
    [[false, false], [true, false], [false, true], [true, true]])
  func `an edit made after a save stays after the generation before the save was read`(
    link: MemberNode.Link, options: [Bool]
  ) throws {
    for isInChild in [false, true] {
      let (areLinked, isDirect) = (options[0], options[1])
      func toggle(_ objects: [MemberNode]) {
        if !isDirect { return objects[0].toggleLoaded(link, objects[1]) }
        let isMember = objects[0].hasDirect(link, objects[1])
        #expect(
          isMember
            ? objects[0].removeDirect(link, objects[1]) : objects[0].addDirect(link, objects[1]))
      }
      let fixture = try GraphFixture(Schema(MemberNode.self))
      let (root, reader) = (fixture.context(), fixture.context())
      for id in 0..<2 { MemberNode(context: root).id = id }
      var all = try nodes(root)
      if areLinked { toggle(all) }
      try root.save()
      try reader.setQueryGenerationFrom(.current)
      #expect(try nodes(reader).count == 2)
      let context = isInChild ? fixture.child(of: root) : root
      all = try nodes(context)
      toggle(all)
      try context.save()
      if isInChild { try root.save() }
      // The edit restores the content of the reader's generation.
      toggle(all)
      let expected = areLinked ? [all[1]] : []
      try read(context, root, at: reader)
      #expect(all[0].loaded(link) == expected)
      try root.setQueryGenerationFrom(nil)
      context.refreshAllObjects()
      #expect(context.hasChanges && all[0].loaded(link) == expected)
      #expect(all[0].hasDirect(link, all[1]) == areLinked)
      try context.save()
      if isInChild { try root.save() }
      let saved = try nodes(reader.advanced())
      #expect(saved[0].loaded(link) == (areLinked ? [saved[1]] : []))
    }
  }

  @Test(.evidence("QG-22"), arguments: [false, true])
  func `both sides of an edit made after a save agree after an older generation was read`(
    isInChild: Bool
  ) throws {
    let fixture = try GraphFixture(Schema(MemberNode.self))
    let (root, reader) = (fixture.context(), fixture.context())
    for id in 0..<2 { MemberNode(context: root).id = id }
    var all = try nodes(root)
    all[1].parent = all[0]
    try root.save()
    try reader.setQueryGenerationFrom(.current)
    #expect(try nodes(reader).count == 2)
    let context = isInChild ? fixture.child(of: root) : root
    all = try nodes(context)
    all[1].parent = nil
    try context.save()
    if isInChild { try root.save() }
    all[1].parent = all[0]
    try root.setQueryGenerationFrom(reader.queryGenerationToken)
    #expect(all[0].children == [all[1]])
    try root.setQueryGenerationFrom(nil)
    context.refreshAllObjects()
    #expect(all[0].children == [all[1]] && all[1].parent === all[0] && context.hasChanges)
    try context.save()
    if isInChild { try root.save() }
    let saved = try nodes(reader.advanced())
    #expect(saved[0].children == [saved[1]] && saved[1].parent === saved[0])
  }
}

extension ManagedObjectContext {
  /// Returns this context after unpinning it and discarding its objects.
  fileprivate func advanced() throws -> ManagedObjectContext {
    try setQueryGenerationFrom(nil)
    reset()
    return self
  }
}
