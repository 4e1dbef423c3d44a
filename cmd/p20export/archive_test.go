package main

import (
	"archive/tar"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// gotar FILE MEMBERS writes an archive. Each line of the file MEMBERS is one member:
//
//	file NAME SOURCE
//	symlink NAME TARGET
//	link NAME TARGET
//	dir NAME
//	fifo NAME
//
// The content of a file is that of SOURCE.
func gotar(ts *testscript.TestScript, _ bool, args []string) {
	out, err := os.Create(ts.MkAbs(args[0]))
	ts.Check(err)
	defer out.Close()
	w := tar.NewWriter(out)
	types := map[string]byte{"file": tar.TypeReg, "symlink": tar.TypeSymlink, "link": tar.TypeLink, "dir": tar.TypeDir, "fifo": tar.TypeFifo}
	for line := range strings.Lines(ts.ReadFile(args[1])) {
		words := append(strings.Fields(line), "", "")
		h := &tar.Header{Typeflag: types[words[0]], Name: words[1], Mode: 0o644}
		data := ""
		if words[0] == "file" {
			data = ts.ReadFile(words[2])
			h.Size = int64(len(data))
		} else {
			h.Linkname = words[2]
		}
		ts.Check(w.WriteHeader(h))
		_, err := w.Write([]byte(data))
		ts.Check(err)
	}
	ts.Check(w.Close())
}

// unpackrows ROWS DIR writes the texts in the rows of freeze --inline to the files to which
// freeze -o DIR would write them. It removes the first element of the path of a capture if
// that is caps, and the extension .sse.
func unpackrows(ts *testscript.TestScript, _ bool, args []string) {
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		var row struct {
			Capture   string
			Artifact  string `json:"artifact_json"`
			Envelope  string `json:"envelope_ndjson"`
			Record    string `json:"record_json"`
			Signature string `json:"signature_json"`
		}
		ts.Check(json.Unmarshal([]byte(line), &row))
		name := filepath.Join(ts.MkAbs(args[1]), strings.TrimSuffix(strings.TrimPrefix(row.Capture, "caps/"), ".sse"))
		ts.Check(os.MkdirAll(filepath.Dir(name), 0o755))
		for suffix, text := range map[string]string{".artifact.json": row.Artifact, ".envelope.ndjson": row.Envelope, ".record.json": row.Record} {
			if text == "" {
				ts.Check(fmt.Errorf("%s has no text for %s", row.Capture, suffix))
			}
			ts.Check(os.WriteFile(name+suffix, []byte(text), 0o644))
		}
		if row.Signature != "" {
			ts.Check(os.WriteFile(name+".record.dsse.json", []byte(row.Signature), 0o644))
		}
	}
}
