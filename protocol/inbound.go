package protocol

import "github.com/goccy/go-json/jsontext"

// Inbound is a line that the host sent: one of [User], [ControlRequest],
// [ControlResponse], [ControlCancel], [Environment], [KeepAlive], [Unknown].
type Inbound interface{ inbound() }

// User is a message from the host.
type User struct {
	UUID            string         // "" if the host gave none
	Message         Message        // decoded
	Raw             jsontext.Value // the message member as it came, for the replay and the transcript
	ParentToolUseID *string
	Priority        string // "now", "next", "later" or ""
	ShouldQuery     *bool  // nil means yes
	IsSynthetic     bool
	Origin          jsontext.Value
}

// ControlRequest asks for something and is answered exactly once.
type ControlRequest struct {
	ID      string
	Subtype string         // "" where the request is missing or has none
	Request jsontext.Value // the request member; nil where it is missing
}

// ControlResponse answers a question that takeback put to the host.
type ControlResponse struct {
	RequestID string
	Response  jsontext.Value
	Error     string // set, and IsError true, if the host answered with an error
	IsError   bool
}

// ControlCancel withdraws a request.
type ControlCancel struct{ RequestID string }

// Environment sets variables for what runs from now on.
type Environment struct{ Variables map[string]string }

// KeepAlive says nothing.
type KeepAlive struct{}

// Unknown is a well-formed line of a type this version does not know.
type Unknown struct {
	Type string
	Raw  jsontext.Value
}

func (User) inbound()            {}
func (ControlRequest) inbound()  {}
func (ControlResponse) inbound() {}
func (ControlCancel) inbound()   {}
func (Environment) inbound()     {}
func (KeepAlive) inbound()       {}
func (Unknown) inbound()         {}
