package envelope

import "github.com/p20export/p20export/internal/strictjson"

// The pieces of an event's JSON text. They were read strictly (RFC 8259): valid
// UTF-8, no name twice in one object.
type (
	// Value is a JSON value where it stands in the text. Its Kind is one of those
	// below, and 0 for a value that is absent.
	Value = strictjson.Value
	// Member is a name and a value of an object.
	Member = strictjson.Member
	// Object has the members of a JSON object, and finds them by name.
	Object = strictjson.Object
	// Kind tells values apart.
	Kind = strictjson.Kind
)

// The kinds of value.
const (
	ObjectValue = strictjson.ObjectStart
	ArrayValue  = strictjson.ArrayStart
	StringValue = strictjson.String
	NumberValue = strictjson.Number
	TrueValue   = strictjson.True
	FalseValue  = strictjson.False
	NullValue   = strictjson.Null
)
