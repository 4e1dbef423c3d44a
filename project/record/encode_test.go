package record

import (
	"bytes"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
)

// Encode has the bytes of package json, for records with any values and any optional
// members, and fails for the same strings.
func TestEncodeIsJSON(t *testing.T) {
	valid := rapid.OneOf(rapid.String(), rapid.StringOf(rapid.RuneFrom([]rune("\x00\b\t\n\f\r\x1f\"\\/<&>\x7f\u2028é😀"))), rapid.Just(""))
	bytesOf := rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })
	number := rapid.Int64()
	encoded := 0
	rapid.Check(t, func(t *rapid.T) {
		text := valid
		if rapid.IntRange(0, 9).Draw(t, "kind") == 0 {
			text = rapid.OneOf(valid, bytesOf)
		}
		str := func() string { return text.Draw(t, "text") }
		num := func() int64 { return number.Draw(t, "number") }
		times := func() int { return rapid.IntRange(0, 3).Draw(t, "length") }
		r := &Record{Type: str(), Subject: []Subject{}, PredicateType: str(), Predicate: Predicate{
			Projection: Projection{project.Name(str()), int(num()), project.Selection(str()), project.Origin(str())},
			Profile:    artifact.Profile(str()),
			Tool:       Tool{str(), str()},
			Capture:    Source{digest.Digest(str()), num(), str(), digest.Digest(str()), int(num())},
			Events:     []project.Part{},
			Times:      Times{project.TimeSource(str()), str(), str()},
			Omissions:  []project.Omission{},
			Sizes:      Sizes{num(), int(num()), int(num())},
		}}
		for range times() {
			r.Subject = append(r.Subject, Subject{str(), SubjectDigest{str()}})
		}
		for range times() {
			r.Predicate.Events = append(r.Predicate.Events, project.Part{Part: str(), Ref: envelope.Ref{Index: int(num()), Offset: num(), Bytes: num(), Line: 1}})
		}
		for range times() {
			o := project.Omission{File: str(), Pointer: finding.Pointer(str()), Reason: finding.Code(str()), Count: int(num())}
			if index := int(num()); index%2 == 0 {
				o.EventIndex = &index
			}
			r.Predicate.Omissions = append(r.Predicate.Omissions, o)
		}
		for range times() {
			r.Predicate.Families.Add(str())
		}
		var want bytes.Buffer
		wantErr := json.MarshalWrite(&want, r, jsontext.WithIndent("  "))
		want.WriteByte('\n')
		got, err := r.Encode()
		if (err == nil) != (wantErr == nil) || err == nil && !bytes.Equal(got, want.Bytes()) {
			t.Fatalf("%s, %v\nwant %s, %v", got, err, want.Bytes(), wantErr)
		}
		if err == nil {
			encoded++
		}
	})
	if encoded < 50 {
		t.Errorf("%d records were encoded", encoded)
	}
}
