// error: requires that 'Place' conform to 'AttributeValue'
import Heartwood

struct Place {
  var latitude = 0.0
}

/// The type of an attribute must be one that can be stored.
final class Note: ManagedObject {
  @Attribute var place: Place = Place()
}
