package atomicfile

import (
	"context"
	"os"
	"path/filepath"
)

// File is a file to be written. Same compares it with an existing file of that name.
type File struct {
	Name string
	Data []byte
	Same SameFunc
}

// Set is a number of files of one directory. Commit writes all of them or none. They get
// their names in order, so a file exists only if the files before it exist.
type Set struct {
	// Err is the result of Commit. If it matches an *UnsyncedError, the files are written.
	Err error
	// Left are the temporary names of files that could not be removed.
	Left []string

	in     *Directory
	size   int
	files  []File  // to be written by Commit, if they are not staged
	staged []Named // without names, and not synced
}

// Prepare writes the files of a set without names, so that Commit can sync many of them
// together. The caller must pass the set to Commit, or discard it. If the last file
// exists, Prepare writes nothing and keeps the data for Commit. For a set without files,
// Commit only syncs the directory.
func (d *Directory) Prepare(files ...File) *Set {
	s := &Set{in: d}
	for _, f := range files {
		s.size += len(f.Data)
	}
	if len(files) == 0 {
		return s
	}
	if _, err := os.Lstat(filepath.Join(d.path, files[len(files)-1].Name)); err == nil {
		s.files = files
		return s
	}
	s.Err = s.stage(files, d.stageUnsynced)
	return s
}

// Size returns the number of bytes of the files.
func (s *Set) Size() int { return s.size }

// Files returns the number of open files, which Commit closes.
func (s *Set) Files() int { return len(s.staged) }

// Discard removes the files of a set that Commit has not written.
func (s *Set) Discard() {
	for _, f := range s.staged {
		f.Discard()
	}
	s.staged = nil
}

// stageUnsynced is like Stage, but does not sync the file.
func (d *Directory) stageUnsynced(data []byte) (*Staged, error) {
	s, err := d.createUnsynced(0o666, writing(data))
	if err == nil {
		s.size = int64(len(data))
	}
	return s, err
}

// stage stages all files, or none if there is an error.
func (s *Set) stage(files []File, stage func(data []byte) (*Staged, error)) error {
	for _, f := range files {
		one, err := stage(f.Data)
		if err != nil {
			s.Discard()
			return err
		}
		s.staged = append(s.staged, Named{one, f.Name, f.Same})
	}
	return nil
}

// Commit writes sets of files and makes them durable: it syncs the content of all
// files, then gives them their names, and then syncs each directory once. It sets Err
// of each set. A set that fails does not affect the others.
//
// Commit locks one directory at a time, as Publish does, and then calls check with its
// name. If check returns an error, nothing is written to that directory.
func Commit(ctx context.Context, check func(dir string) error, sets ...*Set) {
	syncContent(sets)
	var dirs []*Directory
	byDir := make(map[*Directory][]*Set)
	for _, s := range sets {
		if byDir[s.in] == nil {
			dirs = append(dirs, s.in)
		}
		byDir[s.in] = append(byDir[s.in], s)
	}
	for _, d := range dirs {
		d.publishSets(ctx, check, byDir[d])
	}
	parents := make(map[string]error)
	for _, d := range dirs {
		d.syncSets(byDir[d], parents)
	}
}

// minSyncFileSystem is the least number of files for which one call of syncFileSystem is
// used instead of a sync of each. For fewer files, waiting for the files of other
// programs may take longer.
const minSyncFileSystem = 24

// syncContent makes the content of all staged files durable. It discards the sets with a
// file for which that fails.
func syncContent(sets []*Set) {
	files := make(map[uint64]int) // by file system
	first := make(map[uint64]*Directory)
	devices := make(map[*Directory]uint64)
	for _, s := range sets {
		on, ok := devices[s.in]
		if !ok {
			on = device(s.in.file)
			devices[s.in] = on
		}
		files[on] += len(s.staged)
		// The directory opened first was open when the files were created, so its
		// descriptor reports the errors of all.
		if d := first[on]; d == nil || s.in.opened.Before(d.opened) {
			first[on] = s.in
		}
	}
	synced := make(map[uint64]bool)
	for on, d := range first {
		// An error is reported once. It may be about a file of a later Commit.
		if files[on] >= minSyncFileSystem && !d.syncFailed {
			synced[on] = syncFileSystem(d.file) == nil
			d.syncFailed = !synced[on]
		}
	}
	for _, s := range sets {
		if synced[devices[s.in]] {
			continue
		}
		for _, f := range s.staged {
			if err := f.file.Sync(); err != nil {
				s.Err = nameDirectory(s.in.name, s.in.path, err)
				s.Discard()
				break
			}
		}
	}
}

// publishSets gives the files of the sets their names.
func (d *Directory) publishSets(ctx context.Context, check func(string) error, sets []*Set) {
	err := d.lock(ctx)
	if err == nil {
		defer unlock(d.file)
		err = check(d.name)
	}
	for _, s := range sets {
		if s.Err == nil {
			s.Err = err
		}
		if s.Err == nil {
			s.Err = s.publish()
		}
		s.Discard()
		s.files = nil
	}
}

// publish gives the files their names in a locked directory. If all files of a set whose
// data was kept exist, it writes nothing.
func (s *Set) publish() error {
	if s.files != nil {
		all := true
		for _, f := range s.files {
			all = all && s.in.has(f.Name, f.Data, f.Same)
		}
		if all {
			return nil
		}
		if err := s.stage(s.files, s.in.Stage); err != nil {
			return err
		}
	}
	err := s.in.publishAll(s.staged)
	if err == nil {
		s.Left = LeftoverNames(s.staged...)
	}
	return err
}

// syncSets makes the names of the files durable, and those of the directories that
// CreateDirectory created. parents has the results for the directories that contain
// those, and syncSets adds to it.
func (d *Directory) syncSets(sets []*Set, parents map[string]error) {
	synced := false
	var err error
	for _, s := range sets {
		if s.Err != nil {
			continue
		}
		if !synced {
			synced = true
			err = d.syncNames(parents)
		}
		s.Err = err
	}
}

func (d *Directory) syncNames(parents map[string]error) error {
	if err := d.Sync(); err != nil {
		return err
	}
	for _, dir := range d.unsynced {
		parent := filepath.Dir(dir)
		err, ok := parents[parent]
		if !ok {
			err = WrapUnsynced(parent, SyncDir(parent))
			parents[parent] = err
		}
		if err != nil {
			return err
		}
	}
	d.unsynced = nil
	return nil
}
