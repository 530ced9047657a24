import Heartwood

/// Three versions of a model of contacts.
///
/// - Version 1 has two attributes for a contact's name.
/// - Version 2 also has an attribute for the full name. Friends, previously a to-one relationship,
///   are a to-many relationship.
/// - Version 3 has only the full name. Phone numbers, previously integers, are strings.
enum Contacts {
  enum V1 {
    final class Contact: ManagedObject {
      @Attribute var first: String = ""
      @Attribute var last: String = ""
      @Attribute var phone: Int = 0
      @ToOne var friend: Contact?
    }
    static let schema = Schema(Contact.self)
  }

  enum V2 {
    final class Contact: ManagedObject {
      @Attribute var first: String = ""
      @Attribute var last: String = ""
      @Attribute var phone: Int = 0
      @Attribute var name: String = ""
      @Attribute var phoneText: String = ""
      @ToMany(inverse: \Contact.fans, renamedFrom: "friend") var friends: Set<Contact>
      @ToMany var fans: Set<Contact>
    }
    static let schema = Schema(version: 2, Contact.self)
  }

  enum V3 {
    final class Contact: ManagedObject {
      @Attribute(renamedFrom: "phoneText") var phone: String = ""
      @Attribute var name: String = ""
      @Attribute var stars: Int = 3
      @ToMany(inverse: \Contact.fans) var friends: Set<Contact>
      @ToMany var fans: Set<Contact>
      override class var entity: Entity {
        Entity("Contact") {
          Index(\Contact.name)
          Unique(\Contact.phone)
        }
      }
    }
    final class Circle: ManagedObject { @Attribute var name: String = "" }
    static let schema = Schema(version: 3, Contact.self, Circle.self)
  }

  /// The expected values of a contact in version 3.
  struct Row: Equatable {
    var phone: String
    var friends: Set<String>
    var fans: Set<String>
  }

  static let stages: [MigrationStage] = [
    .custom(
      from: V1.schema, to: V2.schema,
      willMigrate: { context in
        for contact in try context.fetch(FetchRequest<V1.Contact>()) where contact.first.isEmpty {
          context.delete(contact)
        }
      },
      didMigrate: { context in
        for contact in try context.fetchBatched(FetchRequest<V2.Contact>()) {
          contact.name = "\(contact.first) \(contact.last)"
          contact.phoneText = "+\(contact.phone)"
        }
      }),
    .lightweight(to: V3.schema),
  ]

  /// Creates a store of version 1 in which each contact is the friend of the next one.
  ///
  /// The store contains one more contact, which has no first name. The stages delete this contact.
  ///
  /// - Returns: The expected content of the store in version 3, by name.
  static func fill(_ store: EvolvingStore, count: Int) throws -> [String: Row] {
    try store.open(V1.schema) { context in
      var contacts: [V1.Contact] = []
      for number in 0..<count {
        let contact = V1.Contact(context: context)
        contact.first = "F\(number)"
        contact.last = "L\(number % 3)"
        contact.phone = number * 11
        contact.friend = contacts.last
        contacts.append(contact)
      }
      V1.Contact(context: context).last = "nobody"
    }
    func name(_ number: Int) -> String { "F\(number) L\(number % 3)" }
    var rows: [String: Row] = [:]
    for number in 0..<count {
      rows[name(number)] = Row(
        phone: "+\(number * 11)", friends: number > 0 ? [name(number - 1)] : [],
        fans: number + 1 < count ? [name(number + 1)] : [])
    }
    return rows
  }

  /// Returns the contacts in a context of version 3, by name.
  static func rows(_ context: ManagedObjectContext) throws -> [String: Row] {
    var rows: [String: Row] = [:]
    for contact in try context.fetch(FetchRequest<V3.Contact>()) {
      rows[contact.name] = Row(
        phone: contact.phone, friends: Set(contact.friends.map(\.name)),
        fans: Set(contact.fans.map(\.name)))
    }
    return rows
  }
}
