package tools

import (
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"
)

// maxOutput bounds what is kept of each output of a command: half of it from the
// beginning, half from the end.
const maxOutput = 30_000

// output keeps the beginning and the end of what is written to it.
type output struct {
	mu         sync.Mutex
	head, tail []byte
	size       int64
}

// Write never fails.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := len(p)
	o.size += int64(n)
	room := min(maxOutput/2-len(o.head), len(p))
	o.head = append(o.head, p[:room]...)
	o.tail = append(o.tail, p[room:]...)
	if extra := len(o.tail) - maxOutput/2; extra > maxOutput {
		o.tail = append(o.tail[:0], o.tail[extra:]...)
	}
	return n, nil
}

// String is what was written, as text that any host can show: bytes that are no
// UTF-8, and NUL, become U+FFFD.
func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	head, tail := o.head, o.tail
	if o.size > maxOutput {
		head, tail = wholeRunes(head, tail[len(tail)-maxOutput/2:])
	}
	var b strings.Builder
	b.Write(head)
	if cut := o.size - int64(len(head)+len(tail)); cut > 0 {
		fmt.Fprintf(&b, "\n… %d bytes cut …\n", cut)
	}
	b.Write(tail)
	return strings.ReplaceAll(strings.ToValidUTF8(b.String(), "\uFFFD"), "\x00", "\uFFFD")
}

// wholeRunes drops the characters that a cut between head and tail went through.
func wholeRunes(head, tail []byte) ([]byte, []byte) {
	for i := 1; i <= min(utf8.UTFMax, len(head)); i++ {
		if last := head[len(head)-i:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				head = head[:len(head)-i]
			}
			break
		}
	}
	for i := 1; i < utf8.UTFMax && len(tail) > 0 && !utf8.RuneStart(tail[0]); i++ {
		tail = tail[1:]
	}
	return head, tail
}
