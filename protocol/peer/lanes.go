package peer

// The bounds of the lanes. The stream lane holds at least one frame, however
// long; the reply lane holds all, until the host counts as dead.
const (
	maxStreamFrames = 256
	maxStreamBytes  = 4 << 20
	maxReplyBytes   = 64 << 20
)

// lane is a queue of encoded frames.
type lane struct {
	frames []*outgoing
	bytes  int
}

// outgoing is a frame that waits to be written.
type outgoing struct{ line []byte }

func (l *lane) push(f *outgoing) {
	l.frames = append(l.frames, f)
	l.bytes += len(f.line)
}

// pop takes the first frame, nil if there is none.
func (l *lane) pop() *outgoing {
	if len(l.frames) == 0 {
		return nil
	}
	f := l.frames[0]
	l.frames[0] = nil
	l.frames = l.frames[1:]
	l.bytes -= len(f.line)
	return f
}

// remove takes f out, and tells whether it was there.
func (l *lane) remove(f *outgoing) bool {
	for i := range l.frames {
		if l.frames[i] == f {
			l.frames = append(l.frames[:i], l.frames[i+1:]...)
			l.bytes -= len(f.line)
			return true
		}
	}
	return false
}

// hasRoom tells whether a stream lane takes a frame of n bytes.
func (l *lane) hasRoom(n int) bool {
	return len(l.frames) == 0 || len(l.frames) < maxStreamFrames && l.bytes+n <= maxStreamBytes
}
