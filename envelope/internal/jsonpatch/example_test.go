package jsonpatch_test

import (
	"fmt"

	"github.com/p20export/p20export/envelope/internal/jsonpatch"
	"github.com/p20export/p20export/internal/strictjson"
)

func ExampleDocument_Apply() {
	read := func(text string) strictjson.Value {
		v, err := strictjson.ReadText(new(strictjson.Object), new(strictjson.Decoder), []byte(text))
		if err != nil {
			panic(err)
		}
		return v
	}
	var d jsonpatch.Document
	if err := d.Reset(read(`{"tries": 1, "log": ["a"]}`)); err != nil {
		panic(err)
	}
	for _, patch := range []string{
		`[{"op": "test", "path": "/tries", "value": 1.0}, {"op": "add", "path": "/log/-", "value": "b"}]`,
		`[{"op": "replace", "path": "/tries", "value": 2}, {"op": "remove", "path": "/log/2"}]`,
	} {
		err := d.Apply(read(patch), jsonpatch.RFC6902, nil)
		fmt.Printf("%s %v\n", d.Append(nil), err)
	}
	// Output:
	// {"tries":1,"log":["a","b"]} <nil>
	// {"tries":1,"log":["a","b"]} operation 1 ("remove" "/log/2"): index 2 is beyond the end of the array
}
