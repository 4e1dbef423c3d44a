package event

import (
	"slices"
	"strings"

	"github.com/p20export/p20export/internal/jsonvalue"
	"github.com/p20export/p20export/internal/strictjson"
)

// Content is the content of a user or tool message: a text, or a list of parts.
type Content struct {
	// Text is the content if Parts is nil.
	Text string
	// Parts may be empty, which is different from nil.
	Parts []Part
}

// Part is a part of a content: a *TextPart, *MediaPart, *BinaryPart or *UnknownPart.
type Part interface {
	// PartType returns the type of the part as it is written, such as "image".
	PartType() string

	record
}

// TextPart is a text.
type TextPart struct {
	ID   Optional[string]
	Text string
	// Metadata is any value except null.
	Metadata JSON
	// Extra has the members that AG-UI does not define. See Base.
	Extra JSON
}

// The types of MediaPart.
const (
	MediaImage    = "image"
	MediaAudio    = "audio"
	MediaVideo    = "video"
	MediaDocument = "document"
)

var mediaKinds = []string{MediaImage, MediaAudio, MediaVideo, MediaDocument}

// MediaPart is an image, a recording, a video or a document.
type MediaPart struct {
	// Type is MediaImage, MediaAudio, MediaVideo or MediaDocument.
	Type   string
	ID     Optional[string]
	Source Source
	// Metadata is any value except null.
	Metadata JSON
	// Extra has the members that AG-UI does not define. See Base.
	Extra JSON
}

// The types of Source.
const (
	SourceData = "data"
	SourceURL  = "url"
	SourceFile = "file"
)

// Source says where the bytes of a MediaPart are.
type Source struct {
	// Type is SourceData, SourceURL or SourceFile.
	Type string
	// Value is the bytes in Base64, a URL, or an id that a provider gave to a file.
	Value string
	// MIMEType is required for SourceData.
	MIMEType Optional[string]
	// Provider, of SourceFile, names who gave the id.
	Provider Optional[string]
	// Extra has the members that AG-UI does not define. See Base.
	Extra JSON
}

// BinaryPart is a part of AG-UI 0.x. A tolerant decode makes a MediaPart of it, unless
// it has only an ID.
type BinaryPart struct {
	MIMEType string
	// At least one of ID, URL and Data is not empty. Data is in Base64.
	ID, URL, Data, Filename Optional[string]
	Extra                   JSON
}

// UnknownPart is a part that AG-UI does not define. Only a tolerant decode returns it.
type UnknownPart struct {
	// JSON is the part, which can be any value.
	JSON JSON
}

// PartType returns text.
func (*TextPart) PartType() string { return "text" }

// PartType returns p.Type.
func (p *MediaPart) PartType() string { return p.Type }

// PartType returns binary.
func (*BinaryPart) PartType() string { return "binary" }

// PartType returns the type of the part, or "" if it is not a string.
func (p *UnknownPart) PartType() string {
	kind, _ := p.JSON.Get("type")
	text, _ := kind.Text()
	return text
}

func (p *TextPart) extra() *JSON    { return &p.Extra }
func (p *MediaPart) extra() *JSON   { return &p.Extra }
func (p *BinaryPart) extra() *JSON  { return &p.Extra }
func (p *UnknownPart) extra() *JSON { return &p.JSON }
func (s *Source) extra() *JSON      { return &s.Extra }

func (p *TextPart) visit(f *fields) {
	may(f, "id", &p.ID, text)
	must(f, "text", &p.Text, text)
	mayList(f, "metadata", &p.Metadata, anyJSON)
}

func (p *MediaPart) visit(f *fields) {
	may(f, "id", &p.ID, text)
	must(f, "source", &p.Source, source)
	mayList(f, "metadata", &p.Metadata, anyJSON)
}

func (p *BinaryPart) visit(f *fields) {
	must(f, "mimeType", &p.MIMEType, text)
	may(f, "id", &p.ID, text)
	may(f, "url", &p.URL, text)
	may(f, "data", &p.Data, text)
	may(f, "filename", &p.Filename, text)
	if f.d != nil && p.ID.Value+p.URL.Value+p.Data.Value == "" {
		f.d.report(refused, "", f.start, "has no id, url or data")
	}
}

func (p *UnknownPart) visit(*fields) {}

var (
	sourceKinds              = []string{SourceData, SourceURL, SourceFile}
	source      kind[Source] = &recordKind[Source, *Source]{what: "Source"}
	sourceType  kind[string] = textKind{values: sourceKinds}
)

func (s *Source) visit(f *fields) {
	must(f, "type", &s.Type, sourceType)
	must(f, "value", &s.Value, text)
	switch {
	case s.Type != SourceData || f.table != nil:
		may(f, "mimeType", &s.MIMEType, text)
	case f.d != nil || s.MIMEType.Present:
		must(f, "mimeType", &s.MIMEType.Value, text)
		s.MIMEType.Present = true
	}
	if s.Type == SourceFile || f.table != nil {
		may(f, "provider", &s.Provider, text)
	}
}

// contentKind is a text or a list of parts.
type contentKind struct{ notNull }

var partList kind[[]Part] = &listKind[Part]{of: partKind{}, what: "parts"}

func (contentKind) String() string { return "a string or an array of parts" }

func (contentKind) read(d *decoder, v strictjson.Value) (c Content, ok bool) {
	switch v.Kind {
	case strictjson.String:
		c.Text, _ = v.Text()
		return c, true
	case strictjson.ArrayStart:
		c.Parts, ok = partList.read(d, v)
		c.Parts = upgradeBinary(c.Parts)
		return c, ok
	}
	d.wrongKind(v, "a string or an array")
	return c, false
}

func (contentKind) append(dst []byte, c Content) []byte {
	if c.Parts == nil {
		return jsonvalue.AppendString(dst, c.Text)
	}
	return partList.append(dst, c.Parts)
}

// partKind is a part of a content.
type partKind struct{ notNull }

func (partKind) String() string { return "a part" }

func (partKind) read(d *decoder, v strictjson.Value) (Part, bool) {
	mark := d.mark()
	unknown := &UnknownPart{v.Raw}
	f := d.enter(v)
	if f == nil {
		return unknown, d.absorb(mark, MalformedMember, v.Start)
	}
	defer f.leave()
	kind, _ := f.find("type")
	var p Part
	switch from, _ := f.object.Get("source"); {
	case kind.Is("text"):
		p = new(TextPart)
	case kind.Is("binary"):
		p = new(BinaryPart)
		d.report(BinaryContent, "", v.Start, "is a binary part, which AG-UI 1.0 removed")
	case slices.ContainsFunc(mediaKinds, kind.Is) && !unknownSource(from):
		name, _ := kind.Text()
		p = &MediaPart{Type: name}
	default:
		d.report(UnknownMember, "", v.Start, "is of a type that AG-UI does not define, or has such a source")
		d.setFatal(false, untyped(kind, from))
		return unknown, true
	}
	before := d.refused
	p.visit(f)
	*p.extra() = f.rest(true)
	if d.refused > before && d.absorb(mark, MalformedMember, v.Start) {
		if kind.Is("binary") {
			d.setFatal(false, false)
		}
		return unknown, true
	}
	return p, d.refused == before
}

// untyped reports whether a part that the reference client removes has no type, or is a part
// of a known type whose source has none: the specification refuses it.
func untyped(kind, source strictjson.Value) bool {
	if !slices.ContainsFunc(mediaKinds, kind.Is) {
		return kind.Kind != strictjson.String
	}
	name, _ := JSON(source.Raw).Get("type")
	_, ok := name.Text()
	return !ok
}

// unknownSource reports whether v is an object without a known type. The reference client
// removes a part with such a source.
func unknownSource(v strictjson.Value) bool {
	if v.Kind != strictjson.ObjectStart {
		return false
	}
	kind, _ := JSON(v.Raw).Get("type")
	name, _ := kind.Text()
	return !slices.Contains(sourceKinds, name)
}

func (partKind) append(dst []byte, p Part) []byte {
	if p == nil {
		return append(dst, "null"...)
	}
	if unknown, ok := p.(*UnknownPart); ok {
		return anyJSON.append(dst, unknown.JSON)
	}
	f := fields{out: append(dst, `{"type":`...), more: true}
	f.out = jsonvalue.AppendString(f.out, p.PartType())
	p.visit(&f)
	return append(appendMembers(f.out, true, *p.extra()), '}')
}

// attachment identifies a MediaPart, to find equal ones.
type attachment struct{ kind, source, value, mimeType, filename string }

// upgradeBinary replaces each BinaryPart with Data or a URL by a MediaPart, or removes it
// if the content already has an equal MediaPart, as the reference client does.
func upgradeBinary(parts []Part) []Part {
	if !slices.ContainsFunc(parts, func(p Part) bool { _, ok := p.(*BinaryPart); return ok }) {
		return parts
	}
	modern := make(map[attachment]bool)
	for _, p := range parts {
		if m, ok := p.(*MediaPart); ok && m.Source.MIMEType.Present {
			a := attachment{m.Type, m.Source.Type, m.Source.Value, m.Source.MIMEType.Value, ""}
			modern[a] = true
			name, _ := m.Metadata.Get("filename")
			a.filename, _ = name.Text()
			modern[a] = true
		}
	}
	upgraded := []Part{}
	for _, p := range parts {
		b, ok := p.(*BinaryPart)
		if !ok || b.Data.Value+b.URL.Value == "" {
			upgraded = append(upgraded, p)
		} else if m := b.upgrade(); !modern[attachment{m.Type, m.Source.Type, m.Source.Value, b.MIMEType, b.Filename.Value}] {
			upgraded = append(upgraded, m)
		}
	}
	return upgraded
}

// upgrade returns b, which has Data or a URL, as a MediaPart. Its ID and its unknown keys
// are lost, because they may mean something else in a MediaPart.
func (b *BinaryPart) upgrade() *MediaPart {
	m := &MediaPart{Type: MediaDocument}
	for _, kind := range []string{MediaImage, MediaAudio, MediaVideo} {
		if strings.HasPrefix(b.MIMEType, kind+"/") {
			m.Type = kind
		}
	}
	m.Source = Source{Type: SourceData, Value: b.Data.Value, MIMEType: Some(b.MIMEType)}
	if b.Data.Value == "" {
		m.Source.Type, m.Source.Value = SourceURL, b.URL.Value
	}
	if b.Filename.Value != "" {
		m.Metadata = append(append(JSON(`{"filename":`), quote(b.Filename.Value)...), '}')
	}
	return m
}
