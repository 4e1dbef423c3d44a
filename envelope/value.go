package envelope

import "github.com/p20export/p20export/internal/strictjson"

// The pieces of an event's JSON text. They were read strictly (RFC 8259): valid
// UTF-8, no name twice in one object.
type (
	// Value is a JSON value where it stands in the text: Raw is its text and Start
	// the offset of that. Its Kind is 0 where the value is absent. Text returns
	// the value of a string, and whether it is valid Unicode; Is compares it with
	// a string.
	Value = strictjson.Value
	// Member is a Name and a Value of an object.
	Member = strictjson.Member
	// Object has the members of a JSON object. Get finds one by its name, All and
	// Names range over them in order, and Len counts them.
	Object = strictjson.Object
	// Kind says what a value is, one of the constants of this package.
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
