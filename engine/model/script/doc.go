// Package script is a model that plays scripts: no network, no chance, the same
// answers every time. Tests, demonstrations and first steps run on it.
//
// # Format
//
// A turn is a JSON array of steps. A script file is an array of turns; the n-th
// prompt of a conversation plays the n-th turn, and past the last one the model
// answers that the script is over. Without a file each prompt brings its own turn: a
// prompt whose text is an array of steps plays it, any other is answered with a
// sentence that quotes it.
//
// The steps:
//
//	{"text": "Hello."}                      text, streamed a few words at a time
//	{"thinking": "Hm.", "signature": "s"}   a thinking block; the signature may be left out
//	{"tool": "Write", "input": {…}}         a tool call; "id" sets its id
//	{"tool": "Write", "input": {…}, "cut": true}   the stream breaks off in the middle of the input
//	{"delay_ms": 50}                        a pause, also in the middle of a text
//	{"error": {"status": 529}}              the request fails; see below
//	{"cut": true}                           the stream breaks off
//	{"hang": true}                          nothing more comes until the request is cancelled
//	{"stop": "max_tokens"}                  the stop reason of this message
//	{"usage": {"input_tokens": 7, …}}       the usage of this message
//	{"echo": "conversation"}                text: what the model was sent, as JSON; also "system" and "tools"
//
// Text steps that follow one another, also across a pause, make one block. A message
// of the model ends with its tool calls: calls in a row are made at once, in
// parallel, and the steps after them are the next message, given when their results
// are there. So
//
//	[{"text": "Writing."},
//	 {"tool": "Write", "input": {"file_path": "a", "content": "1"}},
//	 {"tool": "Write", "input": {"file_path": "b", "content": "2"}},
//	 {"text": "Both written."}]
//
// is two messages. A turn that ends with a tool call is closed with "Done.".
//
// The members of an error are "status" (an HTTP status, required), "type" and
// "message" as the Messages API has them (each status brings its own), "retry_after"
// in seconds, and "times": so often the request fails, then it goes on. The model
// itself passes over an error with "times", since whoever asks it does not retry; a
// server that plays the script counts. After the first content of a message the status
// has been sent already, and the error comes as an event of the stream.
//
// # Where a conversation stands
//
// The model keeps no state: the messages of the request tell where it stands, so a
// conversation goes on after it was resumed, forked or cut back. A prompt is a user message
// without tool results, other than the note that a request was interrupted; its text
// is its last text block, since notes for the model may precede it. Which message of
// the turn comes next follows from the number of tool results since the prompt, and not
// from the number of messages, since resuming may merge or split these.
package script
