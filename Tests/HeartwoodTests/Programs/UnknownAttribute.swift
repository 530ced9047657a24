// error: requires that 'Place' conform to 'AttributeValue'
import Heartwood

struct Place {
  var latitude = 0.0
}

/// An attribute is of a kind that can be stored.
final class Note: ManagedObject {
  @Attribute var place: Place = Place()
}
