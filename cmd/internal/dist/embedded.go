package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/go-json-experiment/json"
)

// windowModules is the directory of the modules of npm that the program has as files.
const windowModules = "serve/window/modules"

// An embedded is a module of npm.
type embedded struct {
	name, version string
	ids           []string // the SPDX identifiers of its licence
	licence       file
}

// purl returns the package URL of the module.
func (m embedded) purl() string { return "pkg:npm/" + m.name + "@" + m.version }

// readEmbedded returns the modules in a directory such as windowModules, in the order of their
// names. It is an error if one has no licence that is known.
func readEmbedded(dir string) ([]embedded, error) {
	text, err := os.ReadFile(filepath.Join(dir, "package.json"))
	if err != nil {
		return nil, err
	}
	var list struct {
		Dependencies map[string]string `json:"dependencies"`
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, err
	}
	var all []embedded
	for _, name := range slices.Sorted(maps.Keys(list.Dependencies)) {
		data, err := os.ReadFile(filepath.Join(dir, name+".LICENSE"))
		if err != nil {
			return nil, err
		}
		id := licence(string(data))
		if id == "" {
			return nil, fmt.Errorf("%s has no licence that is known to permit its distribution in %s", name, dir)
		}
		all = append(all, embedded{name, list.Dependencies[name], []string{id}, file{name: "LICENSE", data: data}})
	}
	return all, nil
}
