package jsonpatch

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkApply applies small patches to a document of 100,000 members or elements.
func BenchmarkApply(b *testing.B) {
	var object, array strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&object, `,"k%d":"some value %d"`, i, i)
		fmt.Fprintf(&array, `,"some value %d"`, i)
	}
	for _, bench := range []struct{ name, doc, patch string }{
		{"replace member", "{" + object.String()[1:] + "}", `[{"op":"replace","path":"/k500","value":1}]`},
		{"add and remove member", "{" + object.String()[1:] + "}", `[{"op":"add","path":"/x","value":1},{"op":"remove","path":"/x"}]`},
		{"move member", "{" + object.String()[1:] + "}", `[{"op":"move","from":"/k5","path":"/x"},{"op":"move","from":"/x","path":"/k5"}]`},
		{"failing", "{" + object.String()[1:] + "}", `[{"op":"remove","path":"/k7"},{"op":"remove","path":"/x"}]`},
		{"first element", "[" + array.String()[1:] + "]", `[{"op":"add","path":"/0","value":1},{"op":"remove","path":"/0"}]`},
		{"middle element", "[" + array.String()[1:] + "]", `[{"op":"add","path":"/50000","value":1},{"op":"remove","path":"/50000"}]`},
	} {
		for _, dialect := range []Dialect{RFC6902, Client} {
			b.Run(bench.name+"/"+dialect.String(), func(b *testing.B) {
				d := newDocument(b, bench.doc)
				patch := read(b, []byte(bench.patch))
				b.ReportAllocs()
				for b.Loop() {
					_ = d.Apply(patch, dialect, nil) // fails in one of them
				}
			})
		}
	}
}
