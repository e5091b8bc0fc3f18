package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"sync"
)

// ErrVersion says that another version of the program wrote the journal.
var ErrVersion = errors.New("the journal has another format version")

const chunkSize = 512 << 10

// Read gives the records of the journal at path in their order, nil for a
// damaged one. It returns how many bytes of whole lines it read, and how many
// there are with the torn line that a killed writer left, if any. Damage is no
// error; a missing journal is an empty one.
func Read(path string, visit func(*Record)) (whole, size int64, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, 0, nil
	}
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, 0, err
	}
	r := reader{src: f, visit: visit, chunkSize: int(min(info.Size()+1, chunkSize))}
	for !r.eof {
		if err := r.round(); err != nil {
			return 0, 0, fmt.Errorf("read journal %s: %w", path, err)
		}
	}
	return r.whole, r.size, nil
}

type reader struct {
	src         io.Reader
	visit       func(*Record)
	rest        []byte   // the line that the last chunk ended in
	chunks      []*chunk // used again in each round
	chunkSize   int
	whole, size int64
	eof         bool
}

type chunk struct {
	data    []byte
	records []Record
	order   []int // index of each record, -1 for damage
}

// round reads a chunk per processor and decodes them side by side, since
// decoding is most of the time that opening a long history takes.
func (r *reader) round() error {
	var wg sync.WaitGroup
	n := 0
	for ; n < runtime.GOMAXPROCS(0) && !r.eof; n++ {
		if n == len(r.chunks) {
			r.chunks = append(r.chunks, new(chunk))
		}
		if err := r.next(r.chunks[n]); err != nil {
			wg.Wait()
			return err
		}
		wg.Go(r.chunks[n].decode)
	}
	wg.Wait()
	for _, c := range r.chunks[:n] {
		for _, at := range c.order {
			if at < 0 {
				r.visit(nil)
				continue
			}
			record := &c.records[at]
			if record.Type == Head && record.Version != Version {
				return fmt.Errorf("%w: %d", ErrVersion, record.Version)
			}
			r.visit(record)
		}
	}
	return nil
}

// next fills c with whole lines and keeps the line that the chunk ends in.
func (r *reader) next(c *chunk) error {
	c.data = append(c.data[:0], r.rest...)
	had := len(c.data)
	c.data = slices.Grow(c.data, r.chunkSize)[:had+r.chunkSize]
	n, err := io.ReadFull(r.src, c.data[had:])
	c.data = c.data[:had+n]
	r.size += int64(n)
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		r.eof = true
	case err != nil:
		return err
	}
	end := bytes.LastIndexByte(c.data, '\n') + 1
	if r.eof && unterminated(c.data[end:]) {
		end = len(c.data)
	}
	r.rest = append(r.rest[:0], c.data[end:]...)
	r.whole += int64(end)
	c.data = c.data[:end]
	return nil
}

// unterminated tells a last record whose line feed alone is missing or damaged
// from a torn one.
func unterminated(line []byte) bool {
	if len(line) == 0 {
		return false
	}
	_, whole := checked(line)
	_, hit := checked(line[:len(line)-1])
	return whole || hit
}

func (c *chunk) decode() {
	c.records, c.order = c.records[:0], c.order[:0]
	for line := range bytes.SplitSeq(c.data, []byte{'\n'}) {
		if len(line) == 0 || c.add(line) {
			continue
		}
		frames, damaged := salvage(line)
		for _, frame := range frames {
			damaged = !c.add(frame) || damaged
		}
		if damaged {
			c.order = append(c.order, -1)
		}
	}
}

func (c *chunk) add(line []byte) bool {
	c.records = append(c.records, Record{})
	last := len(c.records) - 1
	if !parseFrame(line, &c.records[last]) {
		c.records = c.records[:last]
		return false
	}
	c.order = append(c.order, last)
	return true
}
