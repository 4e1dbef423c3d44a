package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// npm writes the package p20export, and one with the program for every target. npm installs
// the one for its system, because the others do not fit "os" and "cpu".
func (r *release) npm() error {
	licence, err := os.ReadFile("LICENSE")
	if err != nil {
		return err
	}
	manifest, err := r.filled("", "packaging/npm/platform.json")
	if err != nil {
		return err
	}
	var platforms []string
	for _, t := range r.targets {
		text := strings.NewReplacer("@PLATFORM@", t.npm, "@OS@", t.node[0], "@CPU@", t.node[1]).Replace(string(manifest[0].data))
		program := r.programs[t]
		program.name = "bin/" + program.name
		files := []file{{"package.json", []byte(text), 0o644}, program, {"LICENSE", licence, 0o644}, r.notices}
		name := fmt.Sprintf("p20export-%s-%s.tgz", t.npm, r.version)
		if err := writeTar(filepath.Join(r.out, name), under("package/", files), r.at); err != nil {
			return err
		}
		platforms = append(platforms, fmt.Sprintf("\n    %q: %q", "@p20export/"+t.npm, r.version))
	}
	files, err := r.filled("", "packaging/npm/package.json", "packaging/npm/index.js", "packaging/npm/index.d.ts", "packaging/npm/README.md")
	if err != nil {
		return err
	}
	files[0].data = bytes.ReplaceAll(files[0].data, []byte("@PLATFORMS@"), []byte("{"+strings.Join(platforms, ",")+"\n  }"))
	launcher, err := r.filled("bin/", "packaging/npm/bin/p20export.js")
	if err != nil {
		return err
	}
	launcher[0].mode = 0o755
	files = append(append(files, launcher...), file{"LICENSE", licence, 0o644})
	return writeTar(filepath.Join(r.out, fmt.Sprintf("p20export-%s.tgz", r.version)), under("package/", files), r.at)
}
