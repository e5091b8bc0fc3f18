package journal

import (
	"fmt"
	"os"
	"sync"

	"takeback/filehistory/internal/disk"
)

// Writer appends to a journal. Only the holder of the store's lock has one.
type Writer struct {
	fs   *disk.FS
	file *os.File

	mu     sync.Mutex
	size   int64
	synced int64
	// What was written since the last flush that succeeded. A kernel that fails
	// to flush forgets that the pages were changed, and a second flush would
	// succeed without writing them: they have to be written again.
	pending []byte
	again   bool
	torn    bool // part of a record that could not be written stands behind size
}

// Append opens the journal at path for appending behind its whole lines, and
// begins it if there is none.
func Append(d *disk.FS, path string, whole, size int64) (*Writer, error) {
	f, err := d.OpenPrivate(path)
	if err != nil {
		return nil, err
	}
	w := &Writer{fs: d, file: f, size: whole, synced: whole}
	if err := w.begin(size); err != nil {
		f.Close()
		return nil, err
	}
	return w, nil
}

func (w *Writer) begin(size int64) error {
	if size > w.size { // a torn line: nothing relies on a record whose writer died writing it
		if err := w.fs.Truncate(w.file, w.size); err != nil {
			return err
		}
	}
	if w.size == 0 {
		return w.Add(&Record{Type: Head, Version: Version})
	}
	var last [1]byte
	if _, err := w.file.ReadAt(last[:], w.size-1); err != nil {
		return err
	}
	if last[0] == '\n' {
		return nil
	}
	// The line feed of the last record is missing, or was hit by damage.
	return w.write([]byte{'\n'})
}

// Add appends records in one write. They are safe from a kill of the process at
// once, from a loss of power after [Writer.Sync].
func (w *Writer) Add(records ...*Record) error {
	var b []byte
	for _, r := range records {
		var err error
		if b, err = appendFrame(b, r); err != nil {
			return err
		}
	}
	return w.write(b)
}

func (w *Writer) write(b []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(b) == 0 {
		return nil
	}
	if err := w.cut(); err != nil {
		return fmt.Errorf("append to journal: %w", err)
	}
	if err := w.fs.Write(w.file, b, w.size); err != nil {
		w.torn = true
		_ = w.cut() // if this fails too, the next write tries again
		return fmt.Errorf("append to journal: %w", err)
	}
	w.size += int64(len(b))
	w.pending = append(w.pending, b...)
	return nil
}

// cut removes what a failed write left, whole records of the same batch perhaps.
func (w *Writer) cut() error {
	if !w.torn {
		return nil
	}
	if err := w.fs.Truncate(w.file, w.size); err != nil {
		return err
	}
	w.torn = false
	return nil
}

// Sync flushes what was added. Callers that wait for each other share one flush.
func (w *Writer) Sync() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.synced == w.size {
		return nil
	}
	if w.again {
		if err := w.fs.Write(w.file, w.pending, w.synced); err != nil {
			return fmt.Errorf("append to journal: %w", err)
		}
	}
	if err := w.fs.Sync(w.file); err != nil {
		w.again = true
		return fmt.Errorf("flush journal: %w", err)
	}
	w.again = false
	w.synced, w.pending = w.size, w.pending[:0]
	return nil
}

// StillThere fails if the journal was removed, or replaced by another one.
func (w *Writer) StillThere() error { return disk.StillThere(w.file) }

// Close flushes and closes.
func (w *Writer) Close() error {
	err := w.Sync()
	if cerr := w.file.Close(); err == nil {
		err = cerr
	}
	return err
}
