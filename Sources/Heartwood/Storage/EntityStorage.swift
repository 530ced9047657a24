/// Where the objects of an entity are in a store, and how their records are read.
final class EntityStorage: Sendable {
  let entity: EntityDescription
  /// The number of the entity in the store.
  let number: Int
  let layouts: [RecordLayout]
  /// For each layout, the property of each field; `nil` where the class has none any more.
  let properties: [[PropertyDescription?]]
  /// The field of each property by slot, for one layout after the other; -1 where there is none.
  private let fields: [Int]
  /// For each layout, how an object is filled from a record.
  let fillers: [ObjectFiller]
  /// The keyspace of its records, by the number of the row.
  let keyspace: String
  /// The numbers of its properties in the store, by slot.
  let propertyNumbers: [Int: UInt16]
  /// The keyspaces of the indexes the entity declares, by their position.
  let indexKeyspaces: [String]

  init(_ entity: EntityDescription, _ stored: StoredModel.StoredEntity) throws {
    self.entity = entity
    indexKeyspaces = try entity.indexes.filter { $0.entity === entity }
      .map { try $0.keyspace(stored) }
    number = stored.number
    let propertyNumbers = Dictionary(
      uniqueKeysWithValues: entity.properties.compactMap { property in
        (try? stored.number(of: property)).map { (property.slot, $0) }
      })
    keyspace = "objects.\(stored.number)"
    self.propertyNumbers = propertyNumbers
    let byNumber = Dictionary(
      entity.properties.compactMap { property in
        propertyNumbers[property.slot].map { ($0, property) }
      }, uniquingKeysWith: { first, _ in first })
    let layouts = stored.layouts.enumerated().map { number, columns in
      RecordLayout(number: UInt16(number), columns.map { ($0.property, $0.form) })
    }
    let properties = layouts.map { layout in layout.fields.map { byNumber[$0.property] } }
    let missing = properties.map { present in
      let slots = Set(present.compactMap { $0?.slot })
      return entity.columns.filter { !slots.contains($0.slot) }
    }
    self.layouts = layouts
    self.properties = properties
    fields = properties.flatMap { present in
      entity.properties.map { property in present.firstIndex { $0 === property } ?? -1 }
    }
    fillers = layouts.indices.map {
      ObjectFiller(layouts[$0], properties[$0], missing: missing[$0])
    }
  }

  /// The field of a property in a layout; `nil` if it has none.
  func field(of slot: Int, layout: Int) -> Int? {
    let field = fields[layout * entity.properties.count + slot]
    return field < 0 ? nil : field
  }

  /// The name of a property, by its number in the store; `nil` if the class has none any more.
  func propertyName(_ number: UInt16) -> String? {
    entity.properties.first { propertyNumbers[$0.slot] == number }?.name
  }

  /// The record of an object's values, by slot.
  func record(_ values: [StoredValue], version: UInt64) -> [UInt8] {
    var builder = RecordBuilder(layouts[layouts.count - 1], version: version)
    for property in entity.columns { builder.append(values[property.slot]) }
    return builder.finish()
  }

  /// The values of a record by slot; those it has no field for are as in a new object.
  func values(_ view: RecordView) throws -> [StoredValue] {
    var values = entity.properties.map(\.initialValue)
    let properties = properties[Int(view.layout.number)]
    for (field, property) in properties.enumerated() {
      if let property { values[property.slot] = try view.value(field) }
    }
    return values
  }
}
