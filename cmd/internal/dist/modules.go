package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
)

// A module is one that is linked into a program. The standard library is the module "stdlib",
// as SBOMs and databases of vulnerabilities call it.
type module struct {
	path, version, sum string
	main               bool
}

const stdlib = "stdlib"

// modules returns the modules that are linked into a program, this one first.
func modules(program string) ([]module, error) {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return nil, err
	}
	list := []module{{path: info.Main.Path, version: info.Main.Version, main: true}, {path: stdlib, version: info.GoVersion}}
	for _, m := range info.Deps {
		if m.Replace != nil {
			return nil, fmt.Errorf("%s is replaced by %s: nobody can build the same from the module proxy", m.Path, m.Replace.Path)
		}
		list = append(list, module{path: m.Path, version: m.Version, sum: m.Sum})
	}
	return list, nil
}

// listLinked finds the modules that are linked into the program for any target, except this
// one, also those that are not being built: the notices are the same in all archives.
func (r *release) listLinked() error {
	seen := map[module]bool{{path: stdlib, version: runtime.Version()}: true}
	for _, t := range targets {
		const format = "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Sum}}{{end}}{{end}}"
		out, err := r.output(t.env(), "go", "list", "-deps", "-f", format, "./cmd/p20export")
		if err != nil {
			return err
		}
		for line := range strings.Lines(out) {
			if f := strings.Fields(line); len(f) == 3 {
				seen[module{path: f[0], version: f[1], sum: f[2]}] = true
			}
		}
	}
	r.linked = slices.SortedFunc(maps.Keys(seen), func(a, b module) int { return cmp.Compare(a.path, b.path) })
	for _, t := range r.targets {
		for _, m := range r.modules[t] {
			if !m.main && !seen[m] {
				return fmt.Errorf("the program for %s has %s %s, which go list does not name", t, m.path, m.version)
			}
		}
	}
	return nil
}

// directory returns the directory of a module's source.
func (r *release) directory(m module) (string, error) {
	if m.path == stdlib {
		return r.output(nil, "go", "env", "GOROOT")
	}
	text, err := r.output(nil, "go", "mod", "download", "-json", m.path+"@"+m.version)
	if err != nil {
		return "", err
	}
	var found struct{ Dir, Sum string }
	if err := json.Unmarshal([]byte(text), &found); err != nil {
		return "", err
	}
	if found.Sum != m.sum {
		return "", fmt.Errorf("%s: the sum is %s, and that of the linked module %s", m.path, found.Sum, m.sum)
	}
	return found.Dir, nil
}

// licence returns the SPDX identifier of a licence's text, or "". The texts are recognized by
// sentences that only they have; which of them a module may have is decided here as well.
func licence(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	has := func(s string) bool { return strings.Contains(text, s) }
	switch {
	case has("Apache License Version 2.0, January 2004"):
		return "Apache-2.0"
	case has("Permission is hereby granted, free of charge, to any person obtaining a copy"):
		return "MIT"
	case has("Permission to use, copy, modify, and/or distribute this software for any purpose"), has("Permission to use, copy, modify, and distribute this software for any purpose"):
		return "ISC"
	case has("Redistribution and use in source and binary forms") && (has("Neither the name") || has("may not be used to endorse") || has("may be used to endorse")):
		return "BSD-3-Clause"
	case has("Redistribution and use in source and binary forms"):
		return "BSD-2-Clause"
	case has("This is free and unencumbered software released into the public domain"):
		return "Unlicense"
	}
	return ""
}

// legal reports whether a file at the root of a module is a licence or belongs to one.
func legal(name string) bool {
	name = strings.ToUpper(name)
	for _, prefix := range []string{"LICENSE", "LICENCE", "UNLICENSE", "COPYING", "NOTICE", "PATENTS"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// readLegal returns the licences of a module and what belongs to them, and their SPDX
// identifiers. It is an error if a module has none that is known.
func (r *release) readLegal(m module) (files []file, ids []string, err error) {
	dir, err := r.directory(m)
	if err != nil {
		return nil, nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil, err
	}
	for _, e := range entries {
		if !e.Type().IsRegular() || !legal(e.Name()) {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, nil, err
		}
		files = append(files, file{name: e.Name(), data: data})
		if id := licence(string(data)); id != "" && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil, nil, fmt.Errorf("%s %s has no licence that is known to permit its distribution in %s", m.path, m.version, dir)
	}
	return files, ids, nil
}

// collectNotices writes the licences of everything that is linked.
func (r *release) collectNotices() error {
	if err := r.listLinked(); err != nil {
		return err
	}
	var text bytes.Buffer
	text.WriteString("p20export contains the Go standard library, the modules of Go below, and files of the modules of npm after them, under these licences.\n")
	for _, m := range r.linked {
		files, ids, err := r.readLegal(m)
		if err != nil {
			return err
		}
		r.licences[m] = ids
		name := m.path + " " + m.version
		if m.path == stdlib {
			name = "the Go standard library " + m.version
		}
		writeNotice(&text, name, ids, files)
	}
	var err error
	if r.embedded, err = readEmbedded(windowModules); err != nil {
		return err
	}
	for _, m := range r.embedded {
		writeNotice(&text, m.name+" "+m.version, m.ids, []file{m.licence})
	}
	r.notices = file{name: "THIRD-PARTY-NOTICES.txt", data: text.Bytes(), mode: 0o644}
	return nil
}

// writeNotice writes the licences of a module, and what belongs to them.
func writeNotice(text *bytes.Buffer, name string, ids []string, files []file) {
	fmt.Fprintf(text, "\n%s\n%s (%s)\n", strings.Repeat("=", 80), name, strings.Join(ids, ", "))
	for _, f := range files {
		fmt.Fprintf(text, "\n%s\n%s\n%s\n", f.name, strings.Repeat("-", len(f.name)), bytes.TrimSpace(bytes.ReplaceAll(f.data, []byte("\r\n"), []byte("\n"))))
	}
}

// An in-toto subject or resource descriptor.
type resource struct {
	Name   string            `json:"name,omitempty"`
	URI    string            `json:"uri,omitempty"`
	Digest map[string]string `json:"digest,omitempty"`
}

func hexOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// published returns the files that were written, sorted by name.
func (r *release) published() (list []file, err error) {
	entries, err := os.ReadDir(r.out)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		data, err := os.ReadFile(filepath.Join(r.out, e.Name()))
		if err != nil {
			return nil, err
		}
		list = append(list, file{name: e.Name(), data: data})
	}
	return list, nil
}

// provenance states how the files were built, as an in-toto Statement with a SLSA provenance
// v1. It has no times and no id of the invocation, because every build of the commit is the
// same; a builder that signs it vouches for its own.
func (r *release) provenance() error {
	files, err := r.published()
	if err != nil {
		return err
	}
	var subjects []resource
	for _, f := range files {
		subjects = append(subjects, resource{Name: f.name, Digest: map[string]string{"sha256": hexOf(f.data)}})
	}
	materials := []resource{{URI: "git+" + repository, Digest: map[string]string{"gitCommit": r.commit}}}
	for _, m := range r.linked {
		uri := purl(m)
		var sums map[string]string
		if m.sum != "" {
			sums = map[string]string{"dirHash": strings.TrimPrefix(m.sum, "h1:")}
			raw, err := base64Of(sums["dirHash"])
			if err != nil {
				return err
			}
			sums["dirHash"] = hex.EncodeToString(raw)
		}
		materials = append(materials, resource{URI: uri, Digest: sums})
	}
	var names []string
	for _, t := range r.targets {
		names = append(names, t.String())
	}
	statement := struct {
		Type          string     `json:"_type"`
		Subject       []resource `json:"subject"`
		PredicateType string     `json:"predicateType"`
		Predicate     any        `json:"predicate"`
	}{"https://in-toto.io/Statement/v1", subjects, "https://slsa.dev/provenance/v1", map[string]any{
		"buildDefinition": map[string]any{
			"buildType":            repository + "/blob/main/docs/releases.md#make-dist",
			"externalParameters":   map[string]any{"source": "git+" + repository, "commit": r.commit, "version": r.version},
			"internalParameters":   map[string]any{"targets": names},
			"resolvedDependencies": materials,
		},
		"runDetails": map[string]any{"builder": map[string]any{"id": repository + "/blob/main/docs/releases.md#builder"}},
	}}
	text, err := json.Marshal(statement, json.Deterministic(true))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.out, fmt.Sprintf("p20export_%s.intoto.jsonl", r.version)), append(text, '\n'), 0o644)
}

// digests writes the digests of all files, as sha256sum does.
func (r *release) digests() error {
	if err := os.RemoveAll(filepath.Join(r.out, ".work")); err != nil {
		return err
	}
	files, err := r.published()
	if err != nil {
		return err
	}
	var text bytes.Buffer
	for _, f := range files {
		fmt.Fprintf(&text, "%s  %s\n", hexOf(f.data), f.name)
	}
	return os.WriteFile(filepath.Join(r.out, sumsName), text.Bytes(), 0o644)
}
