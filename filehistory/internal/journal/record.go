// Package journal is the append-only file of what a session did to its files.
// The table of records stands in the documentation of package filehistory.
package journal

import (
	"io/fs"
	"unicode/utf8"
)

// Version is written at the head of each journal. A reader refuses others.
const Version = 1

// Type says what a record is about.
type Type string

const (
	Head       Type = "head"
	Opened     Type = "opened" // a process begins to write; ID names it
	Checkpoint Type = "checkpoint"
	Before     Type = "before"
	After      Type = "after"
	Uncovered  Type = "uncovered"
	Rewind     Type = "rewind"
	RewindEnd  Type = "rewound"
	Folder     Type = "folder" // what a folder on the way to a path is like
	Alias      Type = "alias"  // ID is what checkpoint Target is called in a fork
)

// Record is one line. Which fields it has depends on its type; Type stays first,
// as a reader looks for it behind damage.
type Record struct {
	Type    Type   `json:"r"`
	Version int    `json:"v,omitzero"`
	Time    int64  `json:"t,omitzero"` // Unix time in milliseconds
	ID      string `json:"id,omitempty"`
	Label   string `json:"label,omitempty"`

	Change  int64  `json:"n,omitzero"` // ties an After to its Before
	Path    Path   `json:",inline"`
	By      string `json:"by,omitempty"`
	State   State  `json:"s,omitzero"`
	Parent  bool   `json:"parent,omitzero"`  // a folder that the change would have to make
	Rewound bool   `json:"rewound,omitzero"` // made by the newest Rewind record
	Up      int    `json:"up,omitzero"`      // its temporary file lies in the Up-th folder above

	What   string `json:"what,omitempty"`
	Reason string `json:"why,omitempty"`

	Target string `json:"to,omitempty"`   // the id that a rewind went to, or that an alias stands for
	Undoes string `json:"undo,omitempty"` // the rewind that it took back
	Done   int    `json:"done,omitzero"`  // how many paths a rewind changed
}

// Path is a file name: text where it is valid UTF-8, else bytes.
type Path struct {
	Text  string `json:"p,omitempty"`
	Bytes []byte `json:"p64,omitempty"`
}

// NewPath chooses the form.
func NewPath(path string) Path {
	if utf8.ValidString(path) {
		return Path{Text: path}
	}
	return Path{Bytes: []byte(path)}
}

func (p Path) String() string {
	if p.Text != "" {
		return p.Text
	}
	return string(p.Bytes)
}

// Kind says what stood at a path.
type Kind string

const (
	Absent  Kind = "absent"
	File    Kind = "file"
	Dir     Kind = "dir"
	Link    Kind = "link"
	Special Kind = "special" // a pipe, a socket, a device: nothing that could be kept
	Lost    Kind = "lost"    // something, not captured: see Why
)

// State is what stood at a path, and where its bytes lie. Absent, empty and not
// captured are three different states, and none follows from a missing field.
type State struct {
	Kind   Kind              `json:"k"`
	Mode   fs.FileMode       `json:"m,omitzero"` // without type bits
	Size   int64             `json:"z,omitzero"`
	Hash   Hash              `json:"h,omitzero"`
	Pack   string            `json:"pack,omitempty"` // empty: a file of its own
	Offset int64             `json:"at,omitzero"`
	Link   []byte            `json:"link,omitempty"`
	UID    int               `json:"u,omitzero"`
	GID    int               `json:"g,omitzero"`
	Xattrs map[string][]byte `json:"x,omitempty"`
	Why    string            `json:"why,omitempty"`

	// What lstat told, to know the file again.
	Dev   uint64 `json:"d,omitzero"`
	Ino   uint64 `json:"i,omitzero"`
	Links uint64 `json:"l,omitzero"`
	Mtime int64  `json:"mt,omitzero"`
	Ctime int64  `json:"ct,omitzero"`
}

// Hash is a SHA-256. The zero hash means: not known.
type Hash [32]byte

// Known says whether h was computed.
func (h Hash) Known() bool { return h != Hash{} }
