package journal

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"hash/crc32"

	"github.com/goccy/go-json/v2"
)

// A frame is eight hex digits of CRC-32C, a space, compact JSON and a line
// feed. JSON holds no bare line feed, so a reader finds the next frame again
// behind any damage; and the file can be read with the tools of the shell.
const headerSize = 9

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func appendFrame(b []byte, r *Record) ([]byte, error) {
	text, err := json.MarshalOf(*r)
	if err != nil {
		return nil, fmt.Errorf("encode %s record: %w", r.Type, err)
	}
	b = fmt.Appendf(b, "%08x ", crc32.Checksum(text, castagnoli))
	return append(append(b, text...), '\n'), nil
}

// parseFrame decodes a line without its line feed.
func parseFrame(line []byte, r *Record) bool {
	text, ok := checked(line)
	return ok && json.UnmarshalOf(text, r) == nil
}

func checked(line []byte) ([]byte, bool) {
	if len(line) < headerSize || line[headerSize-1] != ' ' {
		return nil, false
	}
	var sum [4]byte
	if _, err := hex.Decode(sum[:], line[:headerSize-1]); err != nil {
		return nil, false
	}
	text := line[headerSize:]
	want := uint32(sum[0])<<24 | uint32(sum[1])<<16 | uint32(sum[2])<<8 | uint32(sum[3])
	return text, crc32.Checksum(text, castagnoli) == want
}

// salvage finds whole frames in a damaged line: where the line feed between two
// of them was hit, both are still good. The second result says that something
// was lost all the same.
func salvage(line []byte) (frames [][]byte, damaged bool) {
	for start := 0; start < len(line); {
		end := frameEnd(line, start)
		if end < 0 {
			damaged = true
			start = nextFrame(line, start+1)
			continue
		}
		frames = append(frames, line[start:end])
		start = end + 1 // what stands in the place of the line feed
	}
	return frames, damaged
}

// frameEnd gives the end of the whole frame that begins at start, or -1. It
// looks only where another frame begins, so damage costs no quadratic search.
func frameEnd(line []byte, start int) int {
	for next := start; next < len(line); {
		next = nextFrame(line, next+1)
		for _, end := range []int{next - 1, next} {
			if end > start && end <= len(line) {
				if _, ok := checked(line[start:end]); ok {
					return end
				}
			}
		}
	}
	return -1
}

// opening begins the JSON of each record. It cannot stand inside of one, since
// quotes are escaped in there.
var opening = []byte(` {"r":"`)

// nextFrame gives the first position from on where a frame could begin, or the
// end of the line.
func nextFrame(line []byte, from int) int {
	for at := from; at < len(line); at++ {
		found := bytes.Index(line[at:], opening)
		if found < 0 {
			break
		}
		at += found
		if start := at - headerSize + 1; start >= from {
			return start
		}
	}
	return len(line)
}
