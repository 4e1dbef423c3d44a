package assay

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/p20export/p20export/digest"
)

// The limits of a written bundle. The reference verifier accepts larger bundles, but
// Assay's commands show and lint refuse them.
const (
	MaxEvents      = 100_000
	MaxEventsBytes = 100 << 20
	// MaxLineBytes bounds the line of an event, without its newline.
	MaxLineBytes = 1 << 20
)

// The members of a bundle, in order.
const (
	manifestName = "manifest.json"
	eventsName   = "events.ndjson"
)

// Events is a sequence of events. It can be iterated several times with the same
// result. It ends with the first error.
type Events = iter.Seq2[Event, error]

// Bundle describes a written bundle.
type Bundle struct {
	// RunRoot is the digest of the content hashes of the events. It is the id of the
	// bundle, and does not depend on the run or the time.
	RunRoot digest.Digest
	Events  int
	// EventsBytes and EventsDigest are the size and the digest of the member
	// events.ndjson.
	EventsBytes  int64
	EventsDigest digest.Digest
}

// WriteBundle writes the events of a run as one bundle: a gzip stream of a tar archive
// of manifest.json and events.ndjson. The same run and events result in the same bytes.
// WriteBundle iterates over the events twice, because the manifest comes first and
// states their digest. It keeps one event in memory.
//
// WriteBundle returns an error if there are no events or if they exceed the limits of a
// bundle.
func WriteBundle(w io.Writer, run Run, events Events) (Bundle, error) {
	var none Bundle
	b, err := sum(run, events)
	if err != nil {
		return none, err
	}
	zip, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return none, err
	}
	zip.ModTime, zip.OS = time.Unix(0, 0), 255 // none and unknown
	archive := &tarWriter{w: zip}
	manifest := b.manifest(run)
	archive.member(manifestName, int64(len(manifest)))
	archive.Write(manifest)
	archive.member(eventsName, b.EventsBytes)
	hash := digest.Hash()
	if err := lines(io.MultiWriter(archive, hash), run, events); err != nil {
		return none, err
	}
	if digest.Sum(hash) != b.EventsDigest {
		return none, errors.New("the events changed while the bundle was written")
	}
	archive.close()
	return b, errors.Join(archive.err, zip.Close())
}

// sum computes the values of the events that the manifest states.
func sum(run Run, events Events) (Bundle, error) {
	b := Bundle{}
	root, hash := digest.Hash(), digest.Hash()
	var line []byte
	for e, err := range events {
		if err != nil {
			return b, err
		}
		content := e.ContentHash()
		io.WriteString(root, string(content)+"\n")
		line = e.appendLine(line[:0], run, b.Events, content)
		if len(line) > MaxLineBytes+1 {
			return b, fmt.Errorf("the line of event %d has %d bytes; the limit is %d", b.Events, len(line)-1, MaxLineBytes)
		}
		hash.Write(line)
		b.Events++
		b.EventsBytes += int64(len(line))
	}
	switch {
	case b.Events == 0:
		return b, errors.New("a bundle must contain at least one event")
	case b.Events > MaxEvents:
		return b, fmt.Errorf("there are %d events; the limit of a bundle is %d", b.Events, MaxEvents)
	case b.EventsBytes > MaxEventsBytes:
		return b, fmt.Errorf("the events have %d bytes; the limit of a bundle is %d", b.EventsBytes, MaxEventsBytes)
	}
	b.RunRoot, b.EventsDigest = digest.Sum(root), digest.Sum(hash)
	return b, nil
}

// lines writes events.ndjson.
func lines(w io.Writer, run Run, events Events) error {
	var line []byte
	sequence := 0
	for e, err := range events {
		if err != nil {
			return err
		}
		line = e.AppendLine(line[:0], run, sequence)
		sequence++
		if _, err := w.Write(line); err != nil {
			return err
		}
	}
	return nil
}

// manifest returns the bundle's manifest: canonical JSON without a newline.
func (b Bundle) manifest(run Run) []byte {
	m := []byte(`{"algorithms":{`)
	m = member(m, "canon", canonAlgorithm)
	m = member(m, "hash", hashAlgorithm)
	m = member(m, "root", rootAlgorithm)
	m = append(m, '}')
	m = member(m, "bundle_id", string(b.RunRoot))
	m = fmt.Appendf(m, `,"event_count":%d,"files":{"%s":{"bytes":%d`, b.Events, eventsName, b.EventsBytes)
	m = member(m, "path", eventsName)
	m = member(m, "sha256", string(b.EventsDigest))
	m = append(m, `}},"producer":{`...)
	if run.Producer.Git != UnknownGit {
		m = member(m, "git", run.Producer.Git)
	}
	m = member(m, "name", run.Producer.Name)
	m = member(m, "version", run.Producer.Version)
	m = append(m, '}')
	m = member(m, "run_id", run.ID)
	m = member(m, "run_root", string(b.RunRoot))
	return append(m, `,"schema_version":1}`...)
}

// The algorithms that a manifest names.
const (
	canonAlgorithm = "jcs-rfc8785"
	hashAlgorithm  = "sha256"
	rootAlgorithm  = `sha256(concat(content_hash + "\n"))`
)
