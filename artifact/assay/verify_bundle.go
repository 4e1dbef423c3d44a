package assay

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/p20export/p20export/digest"
)

// verifier is the state of one verification.
type verifier struct {
	Options
	verified Verified
	line     int      // the event of deviations, or -1
	last     instant  // the time of the previous event
	producer Producer // of the first event
}

// bundle reads the gzip member and its content. The second result is the error of
// Options.Entry.
func (v *verifier) bundle(r *bufio.Reader) (*Refusal, error) {
	v.line = -1
	member := newGzipMember(r, v.Limits.Decoded)
	archive := &tarReader{r: member}
	v.gzip(member.header)
	refusal, err := v.members(archive)
	if refusal != nil || err != nil {
		return refusal, err
	}
	if refusal := v.trailer(member, archive.ended); refusal != nil {
		return refusal, nil
	}
	if _, err := r.Peek(1); err == nil {
		return refuse(integrityGzip, "Data after the end of the gzip stream"), nil
	}
	return nil, nil
}

// members reads the members of the archive: the manifest and the events.
func (v *verifier) members(archive *tarReader) (*Refusal, error) {
	var seen []string
	for {
		m, err := archive.next()
		v.padding(archive, seen)
		if err == io.EOF {
			break
		} else if err != nil {
			return refuseRead(err, integrityTar, fmt.Sprintf("Entry #%d", len(seen))), nil
		}
		if r := v.admit(m, seen); r != nil {
			return r, nil
		}
		v.header(m)
		seen = append(seen, m.name)
		if m.name == manifestName {
			if r := v.manifest(archive); r != nil {
				return r, nil
			}
			continue
		}
		if r, err := v.events(archive, m.size); r != nil || err != nil {
			return r, err
		}
	}
	if !slices.Contains(seen, eventsName) {
		return refuse(contractMissing, "Missing events.ndjson"), nil
	}
	return nil, nil
}

// admit checks a member's size, name and order.
func (v *verifier) admit(m *tarMember, seen []string) *Refusal {
	limit := v.Limits.Events
	if m.name == manifestName {
		limit = v.Limits.Manifest
	}
	switch {
	case m.size > limit:
		return refuse(limitFileSize, "A declared member size exceeds the configured maximum of %d bytes", limit)
	case strings.HasPrefix(m.name, "/") || slices.Contains(strings.Split(m.name, "/"), ".."):
		return refuse(securityPathInvalid, "Invalid path component in %q", m.name)
	case m.name != manifestName && m.name != eventsName:
		return refuse(contractUnexpected, "Unexpected file %q", m.name)
	case slices.Contains(seen, m.name):
		return refuse(contractDuplicate, "Duplicate file %q", m.name)
	case len(seen) == 0 && m.name != manifestName:
		return refuse(contractOrder, "First file must be 'manifest.json'")
	}
	return nil
}

func (v *verifier) manifest(r io.Reader) *Refusal {
	raw, err := io.ReadAll(r)
	if err != nil {
		return refuseRead(err, integrityIO, manifestName)
	}
	var refusal *Refusal
	v.verified.Manifest, refusal = readManifest(raw, v.Limits.Depth, v.noter())
	v.manifestBytes(raw)
	return refusal
}

// events reads events.ndjson, which has the given size.
func (v *verifier) events(r io.Reader, size int64) (*Refusal, error) {
	m := &v.verified.Manifest
	file, ok := m.Files[eventsName]
	if !ok {
		return refuse(contractMissing, "Manifest missing 'events.ndjson'"), nil
	}
	if uint64(size) != file.Bytes {
		return refuse(integrityFileSize, "events.ndjson size mismatch: expected %d, got %d", file.Bytes, size), nil
	}
	input := newLineReader(r, v.Limits.Line)
	reader := newEventReader(v.Limits.Depth, v.noter())
	sum, root := digest.Hash(), digest.Hash()
	source := ""
	for n := 0; ; n++ {
		line, err := input.next()
		if err == io.EOF {
			break
		}
		v.line = n
		refusal := refuseLine(err, v.Limits.Line)
		if refusal == nil {
			sum.Write(line)
			refusal = v.checkLine(n, line, reader, &source)
		}
		if refusal != nil {
			refusal.Event = n
			return refusal, nil
		}
		e := &reader.event
		io.WriteString(root, e.contentHash.text+"\n")
		v.verified.Events++
		v.verified.EventsBytes += int64(len(line))
		if v.Entry != nil {
			if err := v.Entry(e.entry(len(lineContent(line)))); err != nil {
				return nil, err
			}
		}
	}
	v.line = -1
	return v.totals(file, string(digest.Sum(sum)), string(digest.Sum(root))), nil
}

// checkLine decodes a line and checks it against the previous lines.
func (v *verifier) checkLine(n int, line []byte, reader *eventReader, source *string) *Refusal {
	if n == 0 && bytes.HasPrefix(line, []byte("\xef\xbb\xbf")) {
		return refuse(contractJSON, "BOM not allowed in NDJSON")
	}
	if n >= v.Limits.Lines {
		return refuse(limitEvents, "Event count exceeds the configured maximum of %d", v.Limits.Lines)
	}
	e, refusal := reader.read(lineContent(line))
	if refusal != nil {
		return refusal
	}
	if n == 0 {
		*source = e.source
	}
	switch {
	case n == 0 && e.seq != 0:
		return refuse(contractStart, "First event must have seq=0, got %d", e.seq)
	case e.seq != uint64(n):
		return refuse(contractGap, "Sequence gap")
	case e.runID != v.verified.Manifest.RunID:
		return refuse(contractRunID, "Inconsistent run_id")
	case e.source != *source:
		return refuse(contractEvent, "seq=%d: all events must carry the same source", n)
	case !strings.Contains(e.source, ":") || e.source[0] == ':':
		return refuse(contractEvent, "seq=%d: source must be a URI (e.g. urn:assay:..., https://...)", n)
	case strings.Contains(e.runID, ":"):
		return refuse(contractEvent, "seq=%d: run_id cannot contain colons", n)
	case e.id != fmt.Sprintf("%s:%d", e.runID, n):
		return refuse(contractEvent, "Event id does not match the run_id:seq contract at seq=%d", n)
	}
	v.eventLine(line, e)
	return nil
}

// totals compares the manifest with the totals of the events.
func (v *verifier) totals(file File, sum, root string) *Refusal {
	m := &v.verified.Manifest
	expected := file.SHA256
	if !strings.HasPrefix(expected, digest.Prefix) {
		expected = digest.Prefix + expected
	}
	v.verified.RunRoot = root
	switch {
	case uint64(v.verified.EventsBytes) != file.Bytes:
		return refuse(integrityFileSize, "events.ndjson byte mismatch: expected %d, got %d", file.Bytes, v.verified.EventsBytes)
	case sum != expected:
		return refuse(integrityFileHash, "events.ndjson hash mismatch")
	case v.verified.Events == 0:
		return refuse(contractEvent, "a bundle must carry at least one event")
	case uint64(v.verified.Events) != m.EventCount:
		return refuse(contractGap, "Event count mismatch")
	case root != m.RunRoot:
		return refuse(integrityRunRoot, "Run root mismatch")
	case root != m.BundleID:
		return refuse(contractBundleID, "bundle_id must equal run_root")
	}
	v.manifestClaims()
	return nil
}

// trailer reads the bytes after the end of the archive.
func (v *verifier) trailer(r io.Reader, ended bool) *Refusal {
	buf := make([]byte, 8<<10)
	total := int64(0)
	for {
		n, err := r.Read(buf)
		if !zero(buf[:n]) {
			return refuse(integrityTar, "%v", errTarTrailer)
		}
		total += int64(n)
		if err == io.EOF {
			break
		} else if err != nil {
			return refuseRead(err, integrityGzip, "Gzip trailer")
		}
	}
	v.endBlocks(ended, total)
	return nil
}
