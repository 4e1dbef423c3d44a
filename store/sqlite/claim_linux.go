package sqlite

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/p20export/p20export/store"
)

// A claim says at which path this process uses a file, and whether it leads. It is locks of the
// file itself, which has one inode whatever its path is, beyond all bytes that SQLite locks. They
// belong to an open file (F_OFD_SETLK), and end with it. Closing a file also gives up all locks
// that SQLite has on it in this process, so a claim is closed after all connections of the
// process to the file.
type claim struct {
	file  *os.File // nil where the file system has no locks
	inode inode
	place uint64
	users int
	leads bool
}

type inode struct{ device, number uint64 }

// claims has the claims of this process.
var claims struct {
	mu sync.Mutex
	of map[inode]*claim
}

const (
	// leadByte is the byte that the leader locks, and placeBytes those of places.
	leadByte   = 1 << 62
	placeStart = leadByte + 1
	placeBytes = 1 << 40
)

var errElsewhere = errors.New("the file is open at another path, through a bind mount, a hard link, or because it was moved: each path has a write-ahead log of its own, and entries would be lost. Use one path")

// claimFile claims a file for its path, which only has to be readable if reads is set. The caller
// must release the claim.
func claimFile(path string, reads bool) (*claim, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	place, err := placeOf(path)
	if err != nil {
		return nil, err
	}
	claims.mu.Lock()
	defer claims.mu.Unlock()
	id := inodeOf(info)
	if c := claims.of[id]; c != nil {
		if c.place != place {
			return nil, errElsewhere
		}
		c.users++
		return c, nil
	}
	flags := os.O_RDWR
	if reads {
		flags = os.O_RDONLY
	}
	f, err := os.OpenFile(path, flags, 0)
	if err != nil {
		return nil, err
	}
	if opened, err := f.Stat(); err != nil || inodeOf(opened) != id {
		return nil, errors.Join(errors.New("the file was replaced while it was opened"), err, f.Close())
	}
	c := &claim{file: f, inode: id, place: place, users: 1}
	if err := c.mark(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if claims.of == nil {
		claims.of = map[inode]*claim{}
	}
	claims.of[id] = c
	return c, nil
}

// mark locks the byte of the place, and looks for locks of others. Of two that come at the same
// time, at least one sees the other.
func (c *claim) mark() error {
	err := fcntl(c.file, unix.F_OFD_SETLK, unix.Flock_t{Type: unix.F_RDLCK, Start: placeStart + int64(c.place), Len: 1}, nil)
	if unsupported(err) {
		return nil
	}
	for _, others := range []unix.Flock_t{
		{Start: placeStart, Len: int64(c.place)},
		{Start: placeStart + int64(c.place) + 1, Len: placeBytes - int64(c.place)},
	} {
		if err != nil {
			return err
		}
		if others.Len == 0 {
			continue // it would mean all that follows
		}
		others.Type = unix.F_WRLCK
		err = fcntl(c.file, unix.F_OFD_GETLK, others, func(found unix.Flock_t) error {
			if found.Type != unix.F_UNLCK {
				return errElsewhere
			}
			return nil
		})
	}
	return err
}

// lead makes this claim the one that leads, unless another one does.
func (c *claim) lead() error {
	claims.mu.Lock()
	defer claims.mu.Unlock()
	if c.leads {
		return store.ErrLeased
	}
	err := fcntl(c.file, unix.F_OFD_SETLK, unix.Flock_t{Type: unix.F_WRLCK, Start: leadByte, Len: 1}, nil)
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
		return store.ErrLeased
	}
	if err != nil && !unsupported(err) {
		return err
	}
	c.leads = true
	return nil
}

// follow ends lead.
func (c *claim) follow() error {
	claims.mu.Lock()
	defer claims.mu.Unlock()
	c.leads = false
	if err := fcntl(c.file, unix.F_OFD_SETLK, unix.Flock_t{Type: unix.F_UNLCK, Start: leadByte, Len: 1}, nil); !unsupported(err) {
		return err
	}
	return nil
}

// release gives the claim back. All connections of the user must be closed.
func (c *claim) release() error {
	claims.mu.Lock()
	defer claims.mu.Unlock()
	if c.users--; c.users > 0 {
		return nil
	}
	delete(claims.of, c.inode)
	return c.file.Close()
}

// fcntl locks a part of a file, or looks for a lock.
func fcntl(f *os.File, command int, lock unix.Flock_t, found func(unix.Flock_t) error) error {
	lock.Whence = io.SeekStart
	for {
		err := unix.FcntlFlock(f.Fd(), command, &lock)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err == nil && found != nil {
			err = found(lock)
		}
		return err
	}
}

// unsupported reports whether an error means that the file system has no such locks.
func unsupported(err error) bool {
	return errors.Is(err, errors.ErrUnsupported) || errors.Is(err, unix.ENOLCK) || errors.Is(err, unix.EINVAL)
}

// placeOf returns a number below placeBytes that stands for the directory of a path, whatever its
// own path is, and the name in it.
func placeOf(path string) (uint64, error) {
	info, err := os.Stat(filepath.Dir(path))
	if err != nil {
		return 0, err
	}
	id := inodeOf(info)
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %d %s", id.device, id.number, filepath.Base(path)))
	return binary.BigEndian.Uint64(sum[:]) % placeBytes, nil
}

func inodeOf(info fs.FileInfo) inode {
	s := info.Sys().(*syscall.Stat_t)
	return inode{uint64(s.Dev), s.Ino}
}
