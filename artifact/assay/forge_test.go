package assay

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"slices"
	"strconv"
	"strings"

	"github.com/klauspost/compress/flate"

	"github.com/p20export/p20export/digest"
)

// object is a JSON object with raw names and values. Names may be repeated.
type object []pair

type pair struct{ name, value string }

// set replaces the value of a name, or appends the member.
func (o *object) set(name, value string) {
	quoted := strconv.Quote(name)
	for i := range *o {
		if (*o)[i].name == quoted {
			(*o)[i].value = value
			return
		}
	}
	o.add(quoted, value)
}

func (o *object) add(name, value string) { *o = append(*o, pair{name, value}) }

func (o *object) remove(name string) {
	*o = slices.DeleteFunc(*o, func(p pair) bool { return p.name == strconv.Quote(name) })
}

// get returns the raw value of a name, or the empty string.
func (o object) get(name string) string {
	for _, p := range o {
		if p.name == strconv.Quote(name) {
			return p.value
		}
	}
	return ""
}

func (o object) String() string {
	var b strings.Builder
	for i, p := range o {
		b.WriteByte("{,"[min(i, 1)])
		b.WriteString(p.name + ":" + p.value)
	}
	if len(o) == 0 {
		b.WriteByte('{')
	}
	return b.String() + "}"
}

// values returns the object's values as an array.
func (o object) values(names ...string) string {
	var values []string
	for _, name := range names {
		value := o.get(name)
		if value == "" {
			value = "null"
		}
		values = append(values, value)
	}
	return "[" + strings.Join(values, ",") + "]"
}

// forge builds a bundle of three events from the inside out. Each step has an optional
// hook that changes its result. The values that later steps compute, such as hashes,
// match the changed results.
type forge struct {
	events   []object
	stale    bool                          // do not update the content hashes
	lines    func(lines []string) []string // with their line feeds
	manifest func(m *object)
	text     func(manifest string) string
	members  func([]forgedMember) []forgedMember
	archive  func([]byte) []byte
	gzip     []byte // header; nil for that of the writer
	level    int    // of compression; 0 stores
	dict     []byte // preset dictionary of the compressor
	deflated func([]byte) []byte
	file     func([]byte) []byte
}

type forgedMember struct {
	header [tarBlock]byte
	data   []byte
}

// newMember returns a member with the writer's header.
func newMember(name, data string) forgedMember {
	return forgedMember{tarHeader(name, int64(len(data))), []byte(data)}
}

// edit changes a header and updates its checksum.
func (m *forgedMember) edit(change func(h []byte)) {
	change(m.header[:])
	copy(m.header[148:], "        ")
	sum := 0
	for _, c := range m.header {
		sum += int(c)
	}
	copy(m.header[148:], fmt.Sprintf("%07o\x00", sum))
}

func newForge() *forge {
	f := &forge{level: flate.BestCompression}
	for i := range 3 {
		var e object
		e.set("assaycontenthash", "")
		e.set("assaygit", `"sample"`)
		e.set("assaypii", "false")
		e.set("assayproducer", `"assay-example"`)
		e.set("assayproducerversion", `"0.1.0"`)
		e.set("assayrunid", `"run"`)
		e.set("assaysecrets", "false")
		e.set("assayseq", strconv.Itoa(i))
		e.set("data", fmt.Sprintf(`{"n":%d,"text":"héllo"}`, i))
		e.set("datacontenttype", `"application/json"`)
		e.set("id", fmt.Sprintf(`"run:%d"`, i))
		e.set("source", `"urn:example:source"`)
		e.set("specversion", `"1.0"`)
		e.set("time", `"2026-04-14T20:10:00Z"`)
		e.set("type", `"example.type"`)
		f.events = append(f.events, e)
	}
	return f
}

// each changes every event.
func (f *forge) each(name, value string) {
	for i := range f.events {
		f.events[i].set(name, value)
	}
}

// contentHash returns the content hash of an event, or a wrong hash if the event cannot
// be decoded.
func contentHash(e object) string {
	var input object
	for _, name := range []string{"data", "datacontenttype", "specversion", "subject", "type"} {
		if value := e.get(name); value != "" && (value != "null" || name == "data") {
			input.set(name, value)
		}
	}
	c, err := canonical([]byte(input.String()))
	if err != nil {
		return string(digest.Of(nil))
	}
	return string(digest.Of(c))
}

func (f *forge) bytes() []byte {
	var lines []string
	root := ""
	for i := range f.events {
		e := &f.events[i]
		if !f.stale {
			e.set("assaycontenthash", strconv.Quote(contentHash(*e)))
		}
		hash := e.get("assaycontenthash")
		root += strings.Trim(hash, `"`) + "\n"
		lines = append(lines, e.String()+"\n")
	}
	if f.lines != nil {
		lines = f.lines(lines)
	}
	events := strings.Join(lines, "")
	quoted := strconv.Quote(string(digest.Of([]byte(root))))
	var m object
	m.set("algorithms", `{"canon":"jcs-rfc8785","hash":"sha256","root":"sha256(concat(content_hash + \"\\n\"))"}`)
	m.set("bundle_id", quoted)
	m.set("event_count", strconv.Itoa(len(f.events)))
	m.set("files", fmt.Sprintf(`{"events.ndjson":{"bytes":%d,"path":"events.ndjson","sha256":"%s"}}`, len(events), digest.Of([]byte(events))))
	m.set("producer", `{"git":"sample","name":"assay-example","version":"0.1.0"}`)
	m.set("run_id", `"run"`)
	m.set("run_root", quoted)
	m.set("schema_version", "1")
	if f.manifest != nil {
		f.manifest(&m)
	}
	manifest := m.String()
	if f.text != nil {
		manifest = f.text(manifest)
	}
	members := []forgedMember{newMember("manifest.json", manifest), newMember("events.ndjson", events)}
	if f.members != nil {
		members = f.members(members)
	}
	var archive []byte
	for _, m := range members {
		archive = append(archive, m.header[:]...)
		archive = append(archive, m.data...)
		archive = append(archive, make([]byte, -len(m.data)&(tarBlock-1))...)
	}
	archive = append(archive, make([]byte, 2*tarBlock)...)
	if f.archive != nil {
		archive = f.archive(archive)
	}
	return f.zip(archive)
}

func (f *forge) zip(archive []byte) []byte {
	header := f.gzip
	if header == nil {
		header = []byte("\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff")
	}
	var deflated bytes.Buffer
	w, err := flate.NewWriterDict(&deflated, f.level, f.dict)
	if err != nil {
		panic(err)
	}
	w.Write(archive)
	w.Close()
	stream := deflated.Bytes()
	if f.deflated != nil {
		stream = f.deflated(stream)
	}
	file := slices.Concat(header, stream, little(crc32.ChecksumIEEE(archive)), little(uint32(len(archive))))
	if f.file != nil {
		file = f.file(file)
	}
	return file
}

func little(n uint32) []byte { return []byte{byte(n), byte(n >> 8), byte(n >> 16), byte(n >> 24)} }

// headerSum returns the checksum at the end of a gzip header.
func headerSum(header string) string {
	sum := crc32.ChecksumIEEE([]byte(header))
	return string([]byte{byte(sum), byte(sum >> 8)})
}
