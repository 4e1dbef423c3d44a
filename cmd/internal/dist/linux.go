package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// packages writes the Debian and RPM packages, with nfpm.
func (r *release) packages() error {
	nfpm := filepath.Join(r.out, ".work", "nfpm")
	if _, err := r.output(nil, "go", "build", "-modfile=internal/tools/go.mod", "-o", nfpm, "github.com/goreleaser/nfpm/v2/cmd/nfpm"); err != nil {
		return err
	}
	for _, t := range r.targets {
		if t.os != "linux" {
			continue
		}
		stage := filepath.Join(r.out, ".work", "stage-"+t.arch)
		if err := r.stage(stage, t); err != nil {
			return err
		}
		for _, kind := range []string{"deb", "rpm"} {
			env := []string{"NFPM_ARCH=" + t.arch, "NFPM_VERSION=" + r.version}
			if _, err := r.output(env, "env", "-C", stage, nfpm, "package", "--config", "nfpm.yaml", "--packager", kind, "--target", r.out); err != nil {
				return err
			}
		}
	}
	return nil
}

// stage writes the files of the packages into a directory.
func (r *release) stage(dir string, t target) error {
	var files []file
	for _, part := range []struct{ pattern, directory string }{
		{"packaging/linux/nfpm.yaml", ""}, {"packaging/linux/*.sh", "scripts/"}, {"packaging/linux/*.conf", "conf/"},
		{"packaging/linux/*.service", "systemd/"}, {"packaging/linux/*.timer", "systemd/"},
	} {
		list, err := glob(part.pattern, part.directory)
		if err != nil {
			return err
		}
		files = append(files, list...)
	}
	program := r.programs[t]
	program.name = "bin/" + program.name
	files = append(files, program)
	for _, f := range r.shared {
		switch {
		case strings.HasPrefix(f.name, "man/"):
			files = append(files, file{name: "man/" + filepath.Base(f.name) + ".gz", data: compressed(f.data), mode: 0o644})
		case strings.HasPrefix(f.name, "completions/"):
			files = append(files, f)
		case f.name == "CHANGELOG.md":
			files = append(files, file{name: "doc/changelog.gz", data: compressed(f.data), mode: 0o644})
		case f.name == "LICENSE":
			files = append(files, file{name: "doc/copyright", data: f.data, mode: 0o644})
		case f.name == r.notices.name:
			files = append(files, file{name: "doc/" + f.name, data: f.data, mode: 0o644})
		default:
			return fmt.Errorf("%s has no place in the packages", f.name)
		}
	}
	for _, f := range files {
		path := filepath.Join(dir, f.name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, f.data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// compressed returns data compressed with gzip, without a time or name (Debian policy 12.1).
func compressed(data []byte) []byte {
	var out bytes.Buffer
	z, _ := gzip.NewWriterLevel(&out, gzip.BestCompression)
	z.Write(data)
	z.Close()
	return out.Bytes()
}
