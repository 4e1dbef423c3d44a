package transfer

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/seal"
)

// decodeAll decodes a file and returns its head, its entries and its seals.
func decodeAll(r io.Reader) (h head, list []store.Entry, seals []store.Seal, err error) {
	d, err := newLimitedDecoder(r, 1<<20)
	for err == nil {
		var e *store.Entry
		if e, err = d.entry(); err == nil {
			list = append(list, *e)
		}
	}
	if err != io.EOF {
		return head{}, nil, nil, err
	}
	return d.head, list, d.seals, nil
}

// sealOf returns a seal of a thread by an unknown key.
func sealOf(thread string, size int64, token []byte) store.Seal {
	c := seal.Checkpoint{Origin: seal.OriginOf("o", store.Key{Thread: thread}), Size: size, Tenant: digest.Of(nil), Thread: digest.Of([]byte(thread)), Time: time.Unix(1e9, 0).UTC()}
	return store.Seal{Size: size, Checkpoint: []byte(c.String() + "\n\u2014 " + c.Origin + " AAAAAAA=\n"), Token: token}
}

// encodeAll encodes a thread.
func encodeAll(t testing.TB, h head, list []store.Entry, seals ...store.Seal) []byte {
	t.Helper()
	var out bytes.Buffer
	e, err := newEncoder(&out, h)
	for i := range list {
		if err == nil {
			err = e.entry(&list[i])
		}
	}
	for i := range seals {
		if err == nil {
			err = e.seal(&seals[i])
		}
	}
	if err == nil {
		err = e.end()
	}
	if err != nil || e.size != int64(out.Len()) {
		t.Fatal(err)
	}
	return out.Bytes()
}

// FuzzDecoder checks that what the decoder accepts is what the encoder writes, and that the
// size of reads does not matter. The last line is added to the input, so that its digest
// fits.
func FuzzDecoder(f *testing.F) {
	h := `{"schema":"p20export.log.v1","thread":"t","after":0}` + "\n"
	for _, line := range []string{
		`{"position":1,"stream":"s","kind":"input","arrived":"2026-01-02T03:04:05.000006Z","json":{"a": [1]}}`,
		`{"position":1,"stream":"s","kind":"event","text":" "}`,
		`{"position":1,"stream":"s","kind":"event","base64":"/w=="}`,
		`{"position":1,"stream":"s","kind":"event","json":` + strings.Repeat("[", 9999) + strings.Repeat("]", 9999) + `}`,
		`{"position":1,"stream":"s","kind":"event","text":"` + strings.Repeat("[", 10000) + strings.Repeat("]", 10000) + `"}`,
		`{"position":1,"stream":"\u0001\\","kind":"end","text":"eof"}`,
	} {
		f.Add(h+line+"\n", true)
	}
	f.Add(h, true)
	f.Add(h, false)
	for _, after := range []int64{0, 1} {
		entry := store.Entry{Position: after + 1, Stream: "s", Kind: store.End, Data: []byte("eof")}
		text := encodeAll(f, head{SealedSchema, "t", after}, []store.Entry{entry}, sealOf("t", 1, []byte("token")), sealOf("t", after+1, nil))
		f.Add(string(text[:bytes.LastIndex(text, []byte(`{"entries"`))]), true)
	}
	f.Fuzz(func(t *testing.T, text string, sealed bool) {
		if sealed {
			last, err := encode(tail{int64(strings.Count("\n"+text, "\n"+`{"position":`)), digest.Of([]byte(text))})
			if err != nil {
				t.Fatal(err)
			}
			text += string(last)
		}
		h, list, seals, err := decodeAll(strings.NewReader(text))
		_, slowly, _, again := decodeAll(iotest.OneByteReader(strings.NewReader(text)))
		if (err == nil) != (again == nil) || err != nil && err.Error() != again.Error() || len(list) != len(slowly) {
			t.Errorf("%v, in small reads %v", err, again)
		}
		if err != nil {
			if _, ok := errors.AsType[finding.Finding](err); !ok {
				t.Errorf("%v is not a finding", err)
			}
			return
		}
		if diff := cmp.Diff(text, string(encodeAll(t, h, list, seals...))); diff != "" {
			t.Error(diff)
		}
	})
}

// The seeds of the fuzz target that are valid are accepted.
func TestDecoderAccepts(t *testing.T) {
	list := []store.Entry{
		{Position: 8, Stream: "s", Kind: store.Event, Data: []byte(strings.Repeat("[", 9999) + strings.Repeat("]", 9999))},
		{Position: 9, Stream: "s", Kind: store.Event, Data: []byte(strings.Repeat("[", 10000) + strings.Repeat("]", 10000))},
		{Position: 10, Stream: "s", Kind: store.Event, Data: []byte(`{"a":1, "a":"\u0041"}`)},
		{Position: 11, Stream: "s", Kind: store.Event, Data: []byte("\x00\xff")},
		{Position: 12, Stream: "s", Kind: store.Event, Data: []byte{}},
	}
	want := head{SealedSchema, "t", 7}
	sealed := []store.Seal{sealOf("t", 7, nil), sealOf("t", 8, []byte{0xff}), sealOf("t", 12, nil)}
	text := encodeAll(t, want, list, sealed...)
	h, got, seals, err := decodeAll(bytes.NewReader(text))
	if err != nil || h != want {
		t.Fatal(h, err)
	}
	if diff := cmp.Diff(list, got) + cmp.Diff(sealed, seals); diff != "" {
		t.Error(diff)
	}
	for line, form := range map[int]string{1: `"json":[[`, 2: `"text":"[[`, 3: `"json":{"a":1, "a":"\u0041"}`, 4: `"base64":"AP8="`, 5: `"text":""`, 7: `"token":"/w=="}}`} {
		if got := string(bytes.Split(text, []byte("\n"))[line]); !strings.Contains(got, form) {
			t.Errorf("line %d has not %s: %.200s", line, form, got)
		}
	}
}

// A line has a limit, exactly, and so has the data of an entry.
func TestDecoderLimits(t *testing.T) {
	text := encodeAll(t, head{Schema, "t", 0}, []store.Entry{{Position: 1, Stream: "s", Kind: store.Event, Data: bytes.Repeat([]byte("x"), 1000)}})
	longest := 0
	for line := range bytes.Lines(text) {
		longest = max(longest, len(line))
	}
	for _, over := range []int{0, 1} {
		d, err := newLimitedDecoder(bytes.NewReader(text), longest-over)
		if err == nil {
			_, err = d.entry()
		}
		if f, ok := errors.AsType[finding.Finding](err); ok != (over == 1) || ok && (f.Code != finding.LogFileMalformed || f.Line != 2) {
			t.Errorf("with a limit of %d bytes for a line of %d: %v", longest-over, longest, err)
		}
	}
	seals := []store.Seal{sealOf("t", 1, []byte("token")), sealOf("t", 2, nil)}
	bytesOf := len(seals[0].Checkpoint) + len(seals[0].Token) + len(seals[1].Checkpoint)
	text = encodeAll(t, head{SealedSchema, "t", 1}, []store.Entry{{Position: 2, Stream: "s", Kind: store.End}}, seals...)
	for _, over := range []int{0, 1} {
		d, err := newDecoder(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		d.maxSeals = bytesOf - over
		for err == nil {
			_, err = d.entry()
		}
		if f, ok := errors.AsType[finding.Finding](err); ok != (over == 1) || ok && (f.Code != finding.LogFileMalformed || f.Line != 4) {
			t.Errorf("with a limit of %d bytes of seals: %v", d.maxSeals, err)
		}
	}
	// Errors of the reader are not findings.
	broken := errors.New("broken")
	if _, _, _, err := decodeAll(io.MultiReader(bytes.NewReader(text[:100]), iotest.ErrReader(broken))); err != broken {
		t.Error(err)
	}
}
