package capture

import (
	"errors"
	"hash"
	"io"
	"runtime"
	"sync"

	"github.com/p20export/p20export/digest"
)

// response reads the stored response into blocks. It counts and hashes the bytes.
//
// If the response is long, another goroutine, the hasher, hashes each block after it was
// split: whoever called next is done with a block when it calls next again. The hasher
// returns the block to be filled again. If reads of r never wait, a third goroutine, the
// filler, fills blocks before they are needed. There are at most maxBlocks blocks, so
// nobody gets far ahead.
type response struct {
	r    io.Reader
	n    int64
	hash hash.Hash
	head []byte // the first bytes, up to maxHead
	eof  bool   // r returned io.EOF

	from   int64       // hashBesideFrom, except in tests
	block  []byte      // the block for the next read, or of the last one
	filled int         // bytes in the block that the hasher must hash
	blocks int         // number of blocks in use; only the filler uses it while there is one
	todo   chan []byte // filled blocks; nil if there is no hasher
	hashed chan []byte // blocks that the hasher returns; closed when it ends
	ahead  chan fill   // nil if there is no filler; closed when it ends
	err    error       // of the filler's last read
}

// fill is the result of a read by the filler.
type fill struct {
	block []byte
	n     int // bytes in block
	err   error
}

// maxHead is the number of bytes needed to detect a compression.
const maxHead = 4

func newResponse(r io.Reader) *response {
	return &response{r: r, hash: digest.Hash(), from: hashBesideFrom}
}

// next implements blocks. It returns a part of a block.
func (m *response) next() []byte {
	switch {
	case m.err != nil:
		return nil // the filler has ended
	case m.ahead != nil:
		m.todo <- m.block[:m.filled]
		f := <-m.ahead
		m.block, m.filled, m.err = f.block, f.n, f.err
		return m.block[:m.filled]
	case m.block == nil:
		m.block, m.blocks = newBlock(bufferBytes), 1
	case m.filled+bufferBytes > len(m.block):
		m.todo <- m.block[:m.filled]
		m.block, m.filled = m.free(), 0
	}
	return m.block[m.filled:][:bufferBytes]
}

// free returns a block that is free, or waits until the hasher returns one. It returns nil
// if the hasher has ended.
func (m *response) free() []byte {
	if m.blocks == maxBlocks {
		return <-m.hashed
	}
	select {
	case b := <-m.hashed:
		return b
	default:
		m.blocks++
		return newBlock(blockBytes)
	}
}

// Read reads into p, which must be what next returned, or the rest of it. After the
// hasher was started, it must not be the rest.
func (m *response) Read(p []byte) (int, error) {
	n, err := len(p), m.err
	if m.ahead == nil {
		n, err = read(m.r, p)
	}
	m.n += int64(n)
	m.eof = m.eof || err == io.EOF
	if missing := maxHead - len(m.head); missing > 0 {
		m.head = append(m.head, p[:min(n, missing)]...)
	}
	switch {
	case m.ahead != nil:
		return n, err
	case m.todo != nil:
		m.filled += n
		return n, err
	}
	m.hash.Write(p[:n])
	if m.n >= m.from && runtime.GOMAXPROCS(0) > 1 {
		m.start()
	}
	return n, err
}

// read reads from r, and returns errCount if r violates the rules of io.Reader.
func read(r io.Reader, p []byte) (int, error) {
	n, err := r.Read(p)
	if n < 0 || n > len(p) {
		return 0, errCount
	}
	return n, err
}

// errCount reports a reader that violates the rules of io.Reader.
var errCount = errors.New("capture: a reader returned an impossible count")

// start starts the hasher, and the filler if reads of r never wait.
func (m *response) start() {
	m.todo, m.hashed = make(chan []byte, maxBlocks), make(chan []byte, maxBlocks)
	go func(hash hash.Hash, todo <-chan []byte, hashed chan<- []byte) {
		for b := range todo {
			hash.Write(b)
			hashed <- b[:cap(b)]
		}
		close(hashed)
	}(m.hash, m.todo, m.hashed)
	if neverWaits(m.r) {
		m.ahead = make(chan fill, maxBlocks)
		go m.fill(m.ahead)
	}
}

// fill reads into blocks until an error, or until the hasher has ended. It is the filler.
func (m *response) fill(ahead chan<- fill) {
	defer close(ahead)
	for {
		f := fill{block: m.free()}
		if f.block == nil {
			return
		}
		for range maxEmptyReads {
			if f.n, f.err = read(m.r, f.block); f.n > 0 || f.err != nil {
				break
			}
		}
		if f.n == 0 && f.err == nil {
			f.err = io.ErrNoProgress
		}
		ahead <- f
		if f.err != nil {
			return
		}
	}
}

// join waits until every byte that Read returned is hashed, and ends the goroutines. The
// bytes of the last read remain valid. If there was a filler, the rest of the response
// must not be read.
func (m *response) join() {
	if m.todo == nil {
		return
	}
	close(m.todo)
	if m.ahead != nil {
		for f := range m.ahead {
			putBlock(f.block)
		}
	}
	for b := range m.hashed {
		putBlock(b)
	}
	m.hash.Write(m.block[:m.filled])
	m.todo, m.ahead, m.filled, m.blocks = nil, nil, 0, 1
}

// drain reads and hashes the rest of the response.
func (m *response) drain() error {
	for !m.eof {
		if _, err := m.Read(m.next()); err != nil && err != io.EOF {
			return err
		}
	}
	m.join()
	return nil
}

// digest returns the digest of the bytes that were read.
func (m *response) digest() digest.Digest {
	m.join()
	return digest.Sum(m.hash)
}

// close ends the hasher and releases the memory. The bytes of the last read are no
// longer valid.
func (m *response) close() {
	m.join()
	if m.block != nil {
		putBlock(m.block)
		m.block, m.blocks = nil, 0
	}
}

// reader returns a reader of the response that copies its bytes.
func (m *response) reader() io.Reader { return &responseReader{m: m} }

type responseReader struct {
	m    *response
	rest []byte // of the block
	err  error
}

func (r *responseReader) Read(p []byte) (int, error) {
	if len(r.rest) == 0 && r.err == nil {
		var n int
		block := r.m.next()
		n, r.err = r.m.Read(block)
		r.rest = block[:n]
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	if len(r.rest) > 0 {
		return n, nil
	}
	return n, r.err
}

// smallBlocks and largeBlocks keep blocks between captures.
var smallBlocks, largeBlocks sync.Pool // of *[bufferBytes]byte and *[blockBytes]byte

// newBlock returns a block of bufferBytes or blockBytes.
func newBlock(size int) []byte {
	if size == bufferBytes {
		if b, ok := smallBlocks.Get().(*[bufferBytes]byte); ok {
			return b[:]
		}
	} else if b, ok := largeBlocks.Get().(*[blockBytes]byte); ok {
		return b[:]
	}
	return make([]byte, size)
}

// putBlock keeps a block of newBlock for another capture.
func putBlock(b []byte) {
	if len(b) == bufferBytes {
		smallBlocks.Put((*[bufferBytes]byte)(b))
	} else {
		largeBlocks.Put((*[blockBytes]byte)(b))
	}
}
