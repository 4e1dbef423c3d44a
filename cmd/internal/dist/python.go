package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// pythonDir has the sources of the Python package.
const pythonDir = "clients/python/"

// filled returns the files that match patterns, with @VERSION@ replaced.
func (r *release) filled(directory string, patterns ...string) (list []file, err error) {
	for _, p := range patterns {
		files, err := glob(p, directory)
		if err != nil {
			return nil, err
		}
		for i := range files {
			files[i].data = bytes.ReplaceAll(files[i].data, []byte("@VERSION@"), []byte(r.version))
		}
		list = append(list, files...)
	}
	return list, nil
}

// python writes a wheel for every target (the binary distribution format of PyPA's
// specifications), and the source distribution.
func (r *release) python() error {
	info := fmt.Sprintf("p20export-%s.dist-info/", r.version)
	module, err := r.filled("p20export/", pythonDir+"src/p20export/*.py", pythonDir+"src/p20export/py.typed")
	if err != nil {
		return err
	}
	page, err := r.filled("", pythonDir+"METADATA", pythonDir+"README.md", pythonDir+"entry_points.txt")
	if err != nil {
		return err
	}
	entryPoints := page[2]
	entryPoints.name = info + entryPoints.name
	metadata := slices.Concat(page[0].data, page[1].data)
	licence, err := os.ReadFile("LICENSE")
	if err != nil {
		return err
	}
	for _, t := range r.targets {
		wheel := "Wheel-Version: 1.0\nGenerator: p20export\nRoot-Is-Purelib: false\n"
		for tag := range strings.SplitSeq(t.wheel, ".") {
			wheel += "Tag: py3-none-" + tag + "\n"
		}
		bill, err := r.bill(t)
		if err != nil {
			return err
		}
		program := r.programs[t]
		program.name = fmt.Sprintf("p20export-%s.data/scripts/%s", r.version, program.name)
		files := append(append([]file{}, module...), program,
			file{info + "licenses/LICENSE", licence, 0o644},
			file{info + "licenses/" + r.notices.name, r.notices.data, 0o644},
			file{info + "sboms/p20export.cdx.json", bill, 0o644}, // PEP 770
			file{info + "METADATA", metadata, 0o644},
			file{info + "WHEEL", []byte(wheel), 0o644}, entryPoints)
		if err := r.wheel(fmt.Sprintf("p20export-%s-py3-none-%s.whl", r.version, t.wheel), info, files); err != nil {
			return err
		}
	}
	source, err := r.filled("", pythonDir+"pyproject.toml", pythonDir+"backend.py")
	if err != nil {
		return err
	}
	source = slices.Concat(source, page, under("src/", module), []file{{"PKG-INFO", metadata, 0o644}, {"LICENSE", licence, 0o644}, r.notices})
	name := "p20export-" + r.version
	return writeTar(filepath.Join(r.out, name+".tar.gz"), under(name+"/", source), r.at)
}
