package peer

import (
	"bufio"
	"errors"
	"io"
)

const (
	maxLine  = 256 << 20 // a longer line is skipped
	headLen  = 64 << 10  // what is kept of a line that is skipped
	bufKept  = 1 << 20   // a buffer that grew over this is given back after its line
	readSize = 64 << 10
)

// errLongLine comes with the head of a line that was skipped.
var errLongLine = errors.New("line too long")

// lineReader splits input at LF, and at nothing else: a host may send U+2028
// and its like raw. It is no bufio.Scanner, which cannot skip a line.
type lineReader struct {
	in  *bufio.Reader
	max int
	buf []byte // for a line that in does not hold whole
}

func newLineReader(in io.Reader, max int) *lineReader {
	return &lineReader{in: bufio.NewReaderSize(in, readSize), max: max}
}

// next gives the next line, which is valid until the next call, and its length
// without its LF. A last line may lack its LF. With errLongLine, the line is
// only its head.
func (r *lineReader) next() (line []byte, length int, err error) {
	if cap(r.buf) > bufKept {
		r.buf = nil
	}
	r.buf = r.buf[:0]
	for {
		part, err := r.in.ReadSlice('\n')
		if err == nil {
			part = part[:len(part)-1]
		}
		length += len(part)
		if err == nil && length == len(part) {
			if length > r.max {
				return part[:min(headLen, r.max)], length, errLongLine
			}
			return part, length, nil
		}
		r.keep(part, length)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && length == 0:
			return nil, 0, err
		case length > r.max:
			return r.buf, length, errLongLine
		}
		// An error after the last bytes comes back at the next call.
		return r.buf, length, nil
	}
}

// keep adds part to the line, of which length bytes are read by now.
func (r *lineReader) keep(part []byte, length int) {
	if length <= r.max {
		r.buf = append(r.buf, part...)
		return
	}
	head := min(headLen, r.max)
	if len(r.buf) < head {
		r.buf = append(r.buf, part[:min(len(part), head-len(r.buf))]...)
		return
	}
	if cap(r.buf) > bufKept {
		r.buf = append([]byte(nil), r.buf[:head]...)
	}
	r.buf = r.buf[:head]
}
