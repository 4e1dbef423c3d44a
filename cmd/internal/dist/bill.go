package main

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const repository = "https://github.com/p20export/p20export"

// purl returns the package URL of a module.
func purl(m module) string { return "pkg:golang/" + m.path + "@" + m.version }

func base64Of(text string) ([]byte, error) { return base64.StdEncoding.DecodeString(text) }

type component struct {
	Type     string          `json:"type"`
	Ref      string          `json:"bom-ref"`
	Name     string          `json:"name"`
	Version  string          `json:"version"`
	Scope    string          `json:"scope,omitempty"`
	Hashes   []hash          `json:"hashes,omitempty"`
	Licences []licenceChoice `json:"licenses,omitempty"`
	PURL     string          `json:"purl"`
	// Properties has the sum of go.sum. It is not the digest of a file, so it is not one of Hashes.
	Properties []property `json:"properties,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type licenceChoice struct {
	License struct {
		ID string `json:"id"`
	} `json:"license"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// licencesOf returns licences by their SPDX identifiers.
func licencesOf(ids []string) []licenceChoice {
	list := make([]licenceChoice, len(ids))
	for i, id := range ids {
		list[i].License.ID = id
	}
	return list
}

// bill returns the modules of the program for a target, from its build information, and those of
// npm that it has as files, as CycloneDX 1.6 (ECMA-424).
func (r *release) bill(t target) ([]byte, error) {
	var all []component
	depends := map[string]any{}
	var others []string
	for _, m := range r.modules[t] {
		c := component{Type: "library", Ref: purl(m), Name: m.path, Version: m.version, Scope: "required", PURL: purl(m)}
		if m.sum != "" {
			c.Properties = []property{{"p20export:go.sum", m.sum}}
		}
		if m.main {
			c.Type, c.Scope, c.Version = "application", "", r.version
			c.Ref = purl(module{path: m.path, version: "v" + r.version})
			c.PURL = c.Ref
			c.Hashes = []hash{{"SHA-256", hexOf(r.programs[t].data)}}
			c.Licences = licencesOf([]string{"Apache-2.0"})
		} else {
			c.Licences = licencesOf(r.licences[m])
			others = append(others, c.Ref)
		}
		all = append(all, c)
	}
	for _, m := range r.embedded {
		all = append(all, component{Type: "library", Ref: m.purl(), Name: m.name, Version: m.version, Scope: "required", Licences: licencesOf(m.ids), PURL: m.purl()})
		others = append(others, m.purl())
	}
	depends["ref"], depends["dependsOn"] = all[0].Ref, others
	serial := sha256.Sum256([]byte(t.String() + hexOf(r.programs[t].data)))
	serial[6], serial[8] = serial[6]&0x0f|0x80, serial[8]&0x3f|0x80 // a UUID of version 8 (RFC 9562)
	id := hex.EncodeToString(serial[:16])
	return json.Marshal(map[string]any{
		"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
		"serialNumber": fmt.Sprintf("urn:uuid:%s-%s-%s-%s-%s", id[:8], id[8:12], id[12:16], id[16:20], id[20:]),
		"metadata":     map[string]any{"timestamp": r.at.Format("2006-01-02T15:04:05Z"), "component": all[0]},
		"components":   all[1:],
		"dependencies": []any{depends},
	}, json.Deterministic(true), jsontext.WithIndent("  "))
}

// bills writes the bill of materials of each program.
func (r *release) bills() error {
	for _, t := range r.targets {
		text, err := r.bill(t)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(r.out, fmt.Sprintf("p20export_%s_%s_%s.cdx.json", r.version, t.os, t.arch)), append(text, '\n'), 0o644); err != nil {
			return err
		}
	}
	return nil
}
