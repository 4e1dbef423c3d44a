package assay

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/finding"
)

// Deviation is a property of a bundle that the reference verifier accepts and that the
// writer of this package never produces. The reference's own writer can produce some
// deviations, such as a manifest with another producer than the events.
type Deviation struct {
	Event   int    // line of events.ndjson, from 0; -1 if it is not about an event
	Pointer string // JSON Pointer into the event or the manifest; may be empty
	Message string
}

// maxDeviations bounds how many deviations are listed.
const maxDeviations = 100

// maxInteger is the largest integer that all JSON readers represent exactly (RFC 8259
// §6).
const maxInteger = 1<<53 - 1

// noter returns a function that the decoders call to report deviations.
func (v *verifier) noter() func(pointer, message string) {
	if !v.Strict {
		return nil
	}
	return func(pointer, message string) { v.deviate(pointer, "%s", message) }
}

func (v *verifier) deviate(pointer, format string, args ...any) {
	if len(v.verified.Deviations) == maxDeviations {
		v.verified.UnlistedDeviations++
		return
	}
	// A name in a bundle can be as long as a line.
	pointer = strings.Clone(string(finding.Pointer(pointer).Bounded()))
	v.verified.Deviations = append(v.verified.Deviations, Deviation{v.line, pointer, fmt.Sprintf(format, args...)})
}

// require reports a deviation if a condition is false.
func (v *verifier) require(holds bool, pointer, message string) {
	if v.Strict && !holds {
		v.deviate(pointer, "%s", message)
	}
}

func (v *verifier) gzip(header [10]byte) {
	v.require(string(header[:]) == "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff", "", "the gzip header differs from the expected one: no name, no time, best compression, unknown system")
}

func (v *verifier) header(m *tarMember) {
	v.require(m.raw == tarHeader(m.name, m.size), "", "the tar header of "+m.name+" differs from the expected one")
}

func (v *verifier) padding(t *tarReader, seen []string) {
	if v.Strict && t.dirty {
		v.deviate("", "the padding of %s is not zero", seen[len(seen)-1])
	}
}

// endBlocks checks that rest, the number of zero bytes after the first block of zeros,
// is one block.
func (v *verifier) endBlocks(ended bool, rest int64) {
	v.require(ended && rest == tarBlock, "", "the archive does not end with exactly two blocks of zeros")
}

func (v *verifier) manifestBytes(raw []byte) {
	if !v.Strict {
		return
	}
	c, err := canonical(raw)
	v.require(err == nil && bytes.Equal(c, raw), "", "the manifest is not canonical JSON")
}

// manifestClaims checks the values of the manifest that verification ignores.
func (v *verifier) manifestClaims() {
	m := v.verified.Manifest
	v.require(m.Algorithms.Canon == canonAlgorithm, "/algorithms/canon", "is not "+canonAlgorithm)
	v.require(m.Algorithms.Hash == hashAlgorithm, "/algorithms/hash", "is not "+hashAlgorithm)
	v.require(m.Algorithms.Root == rootAlgorithm, "/algorithms/root", "is not "+rootAlgorithm)
	v.require(len(m.Files) == 1, "/files", "does not have exactly one file, "+eventsName)
	v.require(m.Files[eventsName].Path == eventsName, "/files/"+eventsName+"/path", "is not "+eventsName)
	v.require(strings.HasPrefix(m.Files[eventsName].SHA256, digest.Prefix), "/files/"+eventsName+"/sha256", "does not name the algorithm")
	v.require(m.Producer == v.producer, "/producer", "is not the producer of the first event")
}

// eventLine checks an accepted line and its event for deviations.
func (v *verifier) eventLine(line []byte, e *event) {
	if !v.Strict {
		return
	}
	c, err := canonical(lineContent(line))
	v.require(err == nil && bytes.Equal(append(c, '\n'), line), "", "the line is not canonical JSON followed by a line feed")
	if v.line == 0 {
		v.producer = e.producer
	} else {
		v.require(!e.at.before(v.last), "/time", "is before the time of the previous event")
	}
	v.last = e.at
	v.require(e.time == e.at.String(), "/time", "is not in UTC with Z and as few fraction digits of 0, 3, 6 or 9 as possible")
	v.require(e.contentType == dataContentType, "/datacontenttype", "is not "+dataContentType)
	for _, f := range []struct{ name, value string }{
		{"type", e.kind}, {"assayrunid", e.runID}, {"assayproducer", e.producer.Name},
		{"assayproducerversion", e.producer.Version}, {"assaygit", e.producer.Git},
	} {
		v.require(f.value != "", "/"+f.name, "is empty")
	}
	odd := strings.Contains(e.runID, "/") || strings.Contains(e.runID, "..") || strings.ContainsFunc(e.runID, unicode.IsControl)
	v.require(!odd, "/assayrunid", "contains a slash, two dots or a control character, which Assay's stores refuse")
	v.require(e.semanticDigest.set == e.digestFormat.set, "/assaysemanticdigest", "must be present if and only if assaydigestprofile is")
	if i, ok := bigInteger(e.data); ok {
		v.deviate(string(i), "is an integer beyond ±%d, which some JSON readers do not represent exactly", int64(maxInteger))
	}
}

// bigInteger returns a pointer to the first integer in the data that exceeds
// maxInteger.
func bigInteger(data jsontext.Value) (jsontext.Pointer, bool) {
	d := jsontext.NewDecoder(bytes.NewReader(data))
	for {
		t, err := d.ReadToken()
		if err != nil {
			return "", false
		}
		if t.Kind() != '0' || strings.ContainsAny(t.String(), ".eE") {
			continue
		}
		if n, err := strconv.ParseInt(t.String(), 10, 64); err != nil || n > maxInteger || n < -maxInteger {
			return "/data" + d.StackPointer(), true
		}
	}
}
