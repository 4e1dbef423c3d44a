package envelope

import "github.com/p20export/p20export/internal/strictjson"

// The JSON types of events. Events are read strictly (RFC 8259): they are valid
// UTF-8, and no object has the same key twice.
type (
	// Value is a JSON value and its place in the text: Raw is the text of the value
	// and Start its offset. Kind is 0 if there is no value. Text returns the value
	// of a string, and whether it is valid Unicode. Is compares the value with a
	// string.
	Value = strictjson.Value
	// Member is the Name and the Value of a member of an object.
	Member = strictjson.Member
	// Object is a JSON object. Get returns the value of a member, All and Names
	// iterate over the members in order, and Len returns their number. Index and At
	// find members by index, and Shape tells which objects have the same members.
	Object = strictjson.Object
	// Shape identifies the members of events that were read from one capture. Events
	// with the same shape, if it is not 0, have the same type, the same names in the
	// same order, and values of the same kinds.
	Shape = strictjson.Shape
	// Kind is the kind of a value, one of the constants of this package.
	Kind = strictjson.Kind
)

const (
	// Shapes is the number of shapes in use at a time. A caller can keep what it knows
	// about a shape in an array of this size, at the index shape % Shapes.
	Shapes = strictjson.Shapes
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
