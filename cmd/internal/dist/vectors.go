package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/klauspost/compress/zstd"
)

// vectorsVersion has the version of the vectors, and the digest of their manifest's files.
const vectorsVersion = "schema/vectors/version.txt"

// manifested is a file in the manifest of the vectors.
type manifested struct {
	Name   string `json:"name"`
	Bytes  int    `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// vectorFiles returns what an implementer needs: the contract, the vectors, the runner and the
// reference, without their tests.
func vectorFiles() (files []file, err error) {
	const root = "schema/vectors"
	err = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name := filepath.ToSlash(strings.TrimPrefix(path, root+string(filepath.Separator)))
		python := strings.HasSuffix(name, ".py") && !strings.Contains(name, "test_") && (name == "run.py" || strings.HasPrefix(name, "reference/"))
		if !python && (!strings.HasPrefix(name, "cases/") || !strings.HasSuffix(name, ".json")) {
			return nil
		}
		data, err := os.ReadFile(path)
		files = append(files, file{name, data, 0o644})
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"docs/contract.md", "LICENSE"} {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		files = append(files, file{filepath.Base(name), data, 0o644})
	}
	return sorted(files), nil
}

// vectors writes the archive of the vectors with its manifest, and a wheel with the same. They
// have a version of their own, which changes when one of their files does.
func (r *release) vectors() error {
	files, err := vectorFiles()
	if err != nil {
		return err
	}
	var list []manifested
	all := sha256.New()
	for _, f := range files {
		m := manifested{f.name, len(f.data), hexOf(f.data)}
		list = append(list, m)
		fmt.Fprintf(all, "%s  %s\n", m.SHA256, m.Name)
	}
	digest := hex.EncodeToString(all.Sum(nil))
	stated, err := os.ReadFile(vectorsVersion)
	if err != nil {
		return err
	}
	version, known, _ := strings.Cut(strings.TrimSpace(string(stated)), " ")
	if known != digest {
		return fmt.Errorf("the vectors changed since version %s: raise the version in %s, and write the digest %s after it", version, vectorsVersion, digest)
	}
	manifest, err := json.Marshal(map[string]any{"version": version, "digest": "sha256:" + digest, "files": list}, json.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		return err
	}
	archived := append(files, file{"manifest.json", append(manifest, '\n'), 0o644})
	path := filepath.Join(r.out, "p20export-vectors_"+version+".tar.zst")
	if err := writeCompressed(path, under("p20export-vectors-"+version+"/", archived), r.at, func(w io.Writer) (io.WriteCloser, error) {
		return zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithEncoderConcurrency(1))
	}); err != nil {
		return err
	}
	return r.vectorsWheel(version, archived)
}

// vectorsWheel writes the wheel of the vectors.
func (r *release) vectorsWheel(version string, files []file) error {
	module, err := glob("packaging/python/p20export_vectors/*.py", "p20export_vectors/")
	if err != nil {
		return err
	}
	metadata, err := os.ReadFile("packaging/python/METADATA-vectors")
	if err != nil {
		return err
	}
	licence, err := os.ReadFile("LICENSE")
	if err != nil {
		return err
	}
	info := fmt.Sprintf("p20export_vectors-%s.dist-info/", version)
	files = append(append(module, under("p20export_vectors/", sorted(files))...),
		file{info + "licenses/LICENSE", licence, 0o644}, file{info + "METADATA", metadata, 0o644},
		file{info + "WHEEL", []byte("Wheel-Version: 1.0\nGenerator: p20export\nRoot-Is-Purelib: true\nTag: py3-none-any\n"), 0o644})
	for i := range files {
		files[i].data = bytes.ReplaceAll(files[i].data, []byte("@VECTORS@"), []byte(version))
	}
	return r.wheel(fmt.Sprintf("p20export_vectors-%s-py3-none-any.whl", version), info, files)
}

// wheel writes a wheel with a RECORD of its files.
func (r *release) wheel(name, info string, files []file) error {
	var list strings.Builder
	for _, f := range files {
		sum := sha256.Sum256(f.data)
		fmt.Fprintf(&list, "%s,sha256=%s,%d\n", f.name, base64.RawURLEncoding.EncodeToString(sum[:]), len(f.data))
	}
	fmt.Fprintf(&list, "%sRECORD,,\n", info)
	return writeZip(filepath.Join(r.out, name), append(files, file{info + "RECORD", []byte(list.String()), 0o644}), r.at)
}
