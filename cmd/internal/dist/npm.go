package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// typescriptDir has the sources of the client package for TypeScript.
const typescriptDir = "clients/typescript"

// npm writes the packages p20export and @p20export/client, and one with the program for every
// target. npm installs the one for its system, because the others do not fit "os" and "cpu".
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
	if err := writeTar(filepath.Join(r.out, fmt.Sprintf("p20export-%s.tgz", r.version)), under("package/", files), r.at); err != nil {
		return err
	}
	files, err = r.client()
	if err != nil {
		return err
	}
	files = append(files, file{"LICENSE", licence, 0o644})
	return writeTar(filepath.Join(r.out, fmt.Sprintf("p20export-client-%s.tgz", r.version)), under("package/", files), r.at)
}

// client returns the files of @p20export/client. Its package.json works in a clone, with 0.0.0
// as the version of the package and of those with the program.
func (r *release) client() ([]file, error) {
	list, err := glob(typescriptDir+"/package.json", "")
	if err != nil {
		return nil, err
	}
	if n := bytes.Count(list[0].data, []byte(`"0.0.0"`)); n != 1+len(targets) {
		return nil, fmt.Errorf("%s/package.json has 0.0.0 %d times; it has to have it as its version and as that of %d packages", typescriptDir, n, len(targets))
	}
	list[0].data = bytes.ReplaceAll(list[0].data, []byte(`"0.0.0"`), fmt.Appendf(nil, "%q", r.version))
	readme, err := glob(typescriptDir+"/README.md", "")
	if err != nil {
		return nil, err
	}
	list = append(list, readme...)
	source := os.DirFS(typescriptDir)
	err = fs.WalkDir(source, "src", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(name, ".js") && !strings.HasSuffix(name, ".d.ts") {
			return err
		}
		data, err := fs.ReadFile(source, name)
		list = append(list, file{name, data, 0o644})
		return err
	})
	return list, err
}
