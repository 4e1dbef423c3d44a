package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
)

// pins reads the packages that a harness chose: those of requirements.in, or of
// package.json.
func pins(dir string) ([]string, error) {
	data, err := os.ReadFile(filepath.Join(dir, "requirements.in"))
	if err == nil {
		return pythonPins(string(data)), nil
	}
	if data, err = os.ReadFile(filepath.Join(dir, "package.json")); err != nil {
		return nil, fmt.Errorf("%s has neither requirements.in nor package.json", dir)
	}
	var p struct {
		Dependencies map[string]string `json:"dependencies"`
	}
	if err := json.Unmarshal(data, &p); err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	var list []string
	for name, version := range p.Dependencies {
		list = append(list, name+" "+version)
	}
	slices.Sort(list)
	return list, nil
}

func pythonPins(text string) (list []string) {
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		if name, version, ok := strings.Cut(strings.TrimSpace(line), "=="); ok {
			list = append(list, name+" "+version)
		}
	}
	slices.Sort(list)
	return list
}
