package assay

import (
	"strings"
	"unicode/utf8"
)

// Manifest is the content of manifest.json (bundle/writer_next/manifest.rs). Verify
// compares RunID, EventCount, RunRoot, BundleID and the digest and size of the events
// file with the events. It does not verify the other fields.
type Manifest struct {
	SchemaVersion uint64
	BundleID      string
	Producer      Producer
	RunID         string
	EventCount    uint64
	RunRoot       string
	Algorithms    Algorithms
	Files         map[string]File
}

// Algorithms describes the canonical form and the digests.
type Algorithms struct{ Canon, Hash, Root string }

// File describes a member of the bundle.
type File struct {
	Path   string
	SHA256 string
	Bytes  uint64
}

// readManifest checks and decodes manifest.json.
func readManifest(raw []byte, depth int, note func(pointer, message string)) (Manifest, *Refusal) {
	var m Manifest
	if !utf8.Valid(raw) {
		return m, refuse(contractJSON, "Invalid UTF-8 in manifest.json")
	}
	d := decoder{json: &jsonReader{}, depth: depth, note: note}
	var git maybe
	fields := []field{
		count("schema_version", 32, &m.SchemaVersion),
		text("bundle_id", &m.BundleID),
		d.nested("producer", "/producer", []field{text("name", &m.Producer.Name), text("version", &m.Producer.Version), optionalText("git", &git)}),
		text("run_id", &m.RunID),
		count("event_count", 64, &m.EventCount),
		text("run_root", &m.RunRoot),
		d.nested("algorithms", "/algorithms", []field{text("canon", &m.Algorithms.Canon), text("hash", &m.Algorithms.Hash), text("root", &m.Algorithms.Root)}),
		{name: "files", take: func(member jsonMember) error { return d.files(member, &m) }},
	}
	kind, members, err := d.json.read(raw, depth)
	if err == nil {
		err = d.decode(kind, members, "", fields)
	}
	if err != nil {
		return m, refuseJSON(err, "Manifest", depth)
	}
	if m.SchemaVersion != 1 {
		return m, refuse(contractVersion, "Unsupported schema version: %d", m.SchemaVersion)
	}
	m.Producer.Git = UnknownGit
	if git.set {
		m.Producer.Git = git.text
	}
	if git.set && git.text == UnknownGit {
		d.tell("/producer/git", "is unknown; an unknown commit must be omitted")
	}
	return m, nil
}

// files decodes the members of files, which must be an object.
func (d *decoder) files(member jsonMember, m *Manifest) error {
	j := &jsonReader{}
	kind, members, err := j.read(member.value, d.depth)
	if err != nil {
		return err
	} else if kind != '{' {
		return errType
	}
	m.Files = make(map[string]File, len(members))
	for _, member := range members {
		var f File
		pointer := "/files/" + escapePointer(member.name)
		fields := []field{text("path", &f.Path), text("sha256", &f.SHA256), count("bytes", 64, &f.Bytes)}
		if err := d.nested("", pointer, fields).take(member); err != nil {
			return err
		}
		m.Files[member.name] = f
	}
	return nil
}

// escapePointer escapes a name for a JSON Pointer (RFC 6901 §3).
func escapePointer(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}
