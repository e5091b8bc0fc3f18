package tools

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"takeback/engine"
)

// digest tells contents apart: SHA-256.
type digest [sha256.Size]byte

func digestOf(raw []byte) digest { return sha256.Sum256(raw) }

// knowledge is what the model has seen: the content of each file when it was last
// read or written through the tools. Content and not the time of change decides whether a
// file is still the same: a checkout or a formatter that changes nothing is no
// reason to read again, and a change within the clock's grain is one.
type knowledge struct {
	mu   sync.Mutex
	seen map[string]digest // by real path, so that a file seen under another spelling is the same file
}

func (k *knowledge) learn(path string, d digest) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.seen == nil {
		k.seen = make(map[string]digest)
	}
	k.seen[engine.RealPath(path)] = d
}

func (k *knowledge) of(path string) (digest, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	d, ok := k.seen[engine.RealPath(path)]
	return d, ok
}

func (k *knowledge) forget(path string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.seen, engine.RealPath(path))
}

// openFile opens a regular file, or a link to one, for reading. It looks at the
// file first, since opening alone already disturbs some devices, and never waits for
// the writer of a pipe that has taken the file's place in between.
func openFile(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, pathError(path, err)
	}
	if !info.Mode().IsRegular() {
		return nil, refuse("%s is %s, not a file.", path, kind(info.Mode()))
	}
	f, err := os.OpenFile(path, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, pathError(path, err)
	}
	if info, err = f.Stat(); err == nil && !info.Mode().IsRegular() {
		err = refuse("%s is %s, not a file.", path, kind(info.Mode()))
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// target looks at a path that is to be written. There is no info if nothing stands
// there. What is not a plain file is refused, above all a link: the file that would
// change has another name than the one that was asked for and permitted.
func target(path string) (fs.FileInfo, error) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, pathError(path, err)
	case info.Mode().Type() == fs.ModeSymlink:
		to, err := filepath.EvalSymlinks(path)
		if err != nil {
			to, _ = os.Readlink(path) // a dangling link
		}
		return nil, refuse("%s is a symbolic link to %s and was not written. If that file is meant, name it instead.", path, to)
	case !info.Mode().IsRegular():
		return nil, refuse("%s is %s, not a file, and was not written.", path, kind(info.Mode()))
	}
	return info, nil
}

// stored is what a file holds.
type stored struct {
	raw    []byte // its first bytes, up to the limit of load
	size   int64
	digest digest
}

func (s *stored) whole() bool { return int64(len(s.raw)) == s.size }

// text is the text of a file, if it was kept whole and is text.
func (s *stored) text() (string, bool) {
	if !s.whole() {
		return "", false
	}
	text, err := formatOf(s.raw).decode(s.raw)
	return text, err == nil
}

// inItsFormat encodes text as the file is encoded; in UTF-8 where the file is not text.
// The byte order mark is the file's: the model may or may not have repeated it.
func (s *stored) inItsFormat(text string) ([]byte, error) {
	if _, ok := s.text(); s.whole() && !ok {
		return []byte(text), nil
	}
	f := formatOf(s.raw)
	if f.mark != "" {
		text = strings.TrimPrefix(text, "\uFEFF")
	}
	return f.encode(text)
}

// load reads the file at path and keeps up to limit bytes of it.
func load(ctx context.Context, path string, limit int64) (*stored, error) {
	f, err := openFile(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()

	hash := sha256.New()
	content := io.TeeReader(reader{ctx, f}, hash)
	var raw bytes.Buffer
	kept, err := io.Copy(&raw, io.LimitReader(content, limit))
	if err != nil {
		return nil, pathError(path, err)
	}
	rest, err := io.Copy(io.Discard, content)
	if err != nil {
		return nil, pathError(path, err)
	}
	return &stored{raw.Bytes(), kept + rest, digest(hash.Sum(nil))}, nil
}

// unchanged checks that path still holds want, or nothing if want is nil.
func unchanged(ctx context.Context, path string, want *digest) error {
	info, err := target(path)
	if err != nil {
		return err
	}
	same := info == nil && want == nil
	if info != nil && want != nil {
		now, err := load(ctx, path, 0)
		if err != nil {
			return err
		}
		same = now.digest == *want
	}
	if !same {
		return refuse("%s was not written: another program changed it at this moment. Read it and try again.", path)
	}
	return nil
}

// reader is r until ctx ends.
type reader struct {
	ctx context.Context
	r   io.Reader
}

func (r reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}

// pathError words an error of the file system for the model.
func pathError(path string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return refuse("%s does not exist.", path)
	case errors.Is(err, syscall.ENOTDIR):
		return refuse("%s cannot exist: a file stands where one of its folders would be.", path)
	case errors.Is(err, fs.ErrPermission):
		return refuse("%s may not be accessed: permission denied.", path)
	}
	return refuse("%s: %w.", path, err)
}

// kind names what stands at a path.
func kind(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "a folder"
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "a special file"
}
