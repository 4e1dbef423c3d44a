package inputs

import (
	"bytes"
	"context"
	"io"
	"os"
	"sync"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/atomicfile"
	"github.com/p20export/p20export/internal/humanize"
)

// storeLimits are the limits of a store, in bytes.
type storeLimits struct {
	// inMemory limits all contents in memory. Other contents are in a temporary file.
	inMemory int64
	// ahead limits the contents of inputs in the file. While they need more, nothing is
	// added, so that fast reading does not fill the disk.
	ahead int64
	// temporary limits all contents in the file, including those that wait for others.
	temporary int64
}

// defaultLimits returns the limits for an archive. Small captures stay in memory, and
// large ones do not fill the directory for temporary files.
func defaultLimits() storeLimits {
	return storeLimits{inMemory: 1 << 20, ahead: 256 << 20, temporary: 16 << 30}
}

// chunkBytes is the unit in which space of the temporary file is used again.
const chunkBytes = 64 << 10

// store keeps contents until they are released: small ones in memory, and others in one
// temporary file without a name. One goroutine adds contents; others may read and release
// them.
type store struct {
	limits   storeLimits
	buffer   []byte
	released chan struct{} // has an element after a release

	mu       sync.Mutex
	inMemory int64 // bytes
	inFile   int64 // bytes
	taken    int64 // bytes of inputs in the file
	memory   map[int32][]byte
	slots    int32 // how many contents were in memory
	file     *os.File
	// next is the number of the chunk of the file after each chunk, or endOfChain. The
	// chunks that can be used again are a chain too.
	next      []int32
	available int32
}

// endOfChain follows the last chunk of a content.
const endOfChain = -1

func newStore(limits storeLimits) *store {
	return &store{limits: limits, released: make(chan struct{}, 1), memory: make(map[int32][]byte), available: endOfChain}
}

// content is what a store keeps of one member. An archive can have many that wait, so it
// is small.
type content struct {
	size   int64
	first  int32 // the number in memory, or of the first chunk in the file
	inFile bool
}

// add keeps the next size bytes of r.
func (s *store) add(r io.Reader, size int64) (content, error) {
	if s.reserve(size) {
		return s.addToMemory(r, size)
	}
	c := content{first: endOfChain, inFile: true}
	if s.buffer == nil {
		s.buffer = make([]byte, chunkBytes)
	}
	for last := int32(endOfChain); c.size < size; {
		data := s.buffer[:min(size-c.size, chunkBytes)]
		_, err := io.ReadFull(r, data)
		if err == nil {
			last, err = s.append(&c, last, data)
		}
		if err != nil {
			s.release(c)
			return content{}, err
		}
	}
	return c, nil
}

// addToMemory is add for a content for which reserve returned true.
func (s *store) addToMemory(r io.Reader, size int64) (content, error) {
	data := make([]byte, size)
	_, err := io.ReadFull(r, data)
	s.mu.Lock()
	c := content{size: size, first: s.slots}
	s.memory[c.first] = data
	s.slots++
	s.mu.Unlock()
	if err != nil {
		s.release(c)
	}
	return c, err
}

// append appends a chunk to a content in the file whose last chunk is given. It returns
// the number of the new chunk.
func (s *store) append(c *content, last int32, data []byte) (int32, error) {
	chunk, err := s.allocate(int64(len(data)))
	if err != nil {
		return last, err
	}
	s.mu.Lock()
	if last == endOfChain {
		c.first = chunk
	} else {
		s.next[last] = chunk
	}
	s.mu.Unlock()
	c.size += int64(len(data))
	_, err = s.file.WriteAt(data, int64(chunk)*chunkBytes)
	return chunk, atomicfile.WrapUnnamed("", err)
}

// reserve reports whether a content fits in memory, and counts it if it does.
func (s *store) reserve(size int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.inMemory+size > s.limits.inMemory {
		return false
	}
	s.inMemory += size
	return true
}

// allocate returns the number of a chunk of the file for n bytes.
func (s *store) allocate(n int64) (chunk int32, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.inFile+n > s.limits.temporary {
		return 0, finding.New(finding.ArchiveLimit, "the captures that wait for their other files need more temporary space than %s", humanize.Bytes(s.limits.temporary))
	}
	if s.file == nil {
		if s.file, err = atomicfile.CreateUnnamed(""); err != nil {
			return 0, err
		}
	}
	s.inFile += n
	if chunk = s.available; chunk != endOfChain {
		s.available = s.next[chunk]
	} else {
		chunk = int32(len(s.next))
		s.next = append(s.next, endOfChain)
	}
	s.next[chunk] = endOfChain
	return chunk, nil
}

// release makes the space of a content available. The content must not be read again.
func (s *store) release(c content) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !c.inFile {
		delete(s.memory, c.first)
		s.inMemory -= c.size
		return
	}
	s.inFile -= c.size
	for chunk := c.first; chunk != endOfChain; {
		next := s.next[chunk]
		s.next[chunk], s.available = s.available, chunk
		chunk = next
	}
}

// newReader returns a reader of a content.
func (s *store) newReader(c content) *io.SectionReader {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !c.inFile {
		return io.NewSectionReader(bytes.NewReader(s.memory[c.first]), 0, c.size)
	}
	r := &chunkReader{file: s.file, size: c.size}
	for chunk := c.first; chunk != endOfChain; chunk = s.next[chunk] {
		r.chunks = append(r.chunks, chunk)
	}
	return io.NewSectionReader(r, 0, c.size)
}

// chunkReader reads a content in the file.
type chunkReader struct {
	file   *os.File
	size   int64
	chunks []int32
}

// ReadAt implements io.ReaderAt.
func (r *chunkReader) ReadAt(p []byte, offset int64) (n int, err error) {
	for n < len(p) && offset < r.size {
		at := offset % chunkBytes
		want := min(int64(len(p)-n), chunkBytes-at, r.size-offset)
		read, err := r.file.ReadAt(p[n:n+int(want)], int64(r.chunks[offset/chunkBytes])*chunkBytes+at)
		n, offset = n+read, offset+int64(read)
		if int64(read) < want {
			return n, atomicfile.WrapUnnamed("", err)
		}
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// take counts the bytes of an input in the file, and returns a function that releases
// its contents.
func (s *store) take(parts []part) (release func()) {
	var bytes int64
	for _, p := range parts {
		if p.inFile {
			bytes += p.size
		}
	}
	s.count(bytes)
	return func() {
		for _, p := range parts {
			s.release(p.content)
		}
		s.count(-bytes)
	}
}

// count adds to the bytes of inputs in the file.
func (s *store) count(bytes int64) {
	s.mu.Lock()
	s.taken += bytes
	s.mu.Unlock()
	if bytes < 0 {
		select {
		case s.released <- struct{}{}:
		default:
		}
	}
}

// wait waits until the inputs need less of the file than the limit.
func (s *store) wait(ctx context.Context) error {
	for {
		s.mu.Lock()
		taken := s.taken
		s.mu.Unlock()
		if taken <= s.limits.ahead {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-s.released:
		}
	}
}

// close removes the file.
func (s *store) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}
