package main

import (
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
)

// pins returns the packages that a harness pins in requirements.in, package.json or
// pom.xml.
func pins(dir string) ([]string, error) {
	for _, source := range []struct {
		name string
		read func(data []byte) ([]string, error)
	}{{"requirements.in", pythonPins}, {"package.json", nodePins}, {"pom.xml", mavenPins}} {
		data, err := os.ReadFile(filepath.Join(dir, source.name))
		if err != nil {
			continue
		}
		list, err := source.read(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Join(dir, source.name), err)
		}
		slices.Sort(list)
		return list, nil
	}
	return nil, fmt.Errorf("%s has neither requirements.in nor package.json nor pom.xml", dir)
}

func pythonPins(data []byte) (list []string, _ error) {
	for line := range strings.Lines(string(data)) {
		line, _, _ = strings.Cut(line, "#")
		if name, version, ok := strings.Cut(strings.TrimSpace(line), "=="); ok {
			list = append(list, name+" "+version)
		}
	}
	return list, nil
}

func nodePins(data []byte) (list []string, _ error) {
	var p struct {
		Dependencies map[string]string `json:"dependencies"`
	}
	if err := json.Unmarshal(data, &p); err != nil {
		return nil, err
	}
	for name, version := range p.Dependencies {
		list = append(list, name+" "+version)
	}
	return list, nil
}

func mavenPins(data []byte) (list []string, _ error) {
	var p struct {
		Dependencies []struct {
			Group    string `xml:"groupId"`
			Artifact string `xml:"artifactId"`
			Version  string `xml:"version"`
		} `xml:"dependencies>dependency"`
	}
	if err := xml.Unmarshal(data, &p); err != nil {
		return nil, err
	}
	for _, d := range p.Dependencies {
		list = append(list, d.Group+":"+d.Artifact+" "+d.Version)
	}
	return list, nil
}
