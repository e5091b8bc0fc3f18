// Package engine runs a session: it takes what the host sends, runs turns, and answers.
//
// # Who runs
//
//	goroutine | how many | started by     | ends when                          | owns
//	reader    | 1        | peer.Serve     | stdin ends (nobody waits for it)   | the input
//	writer    | 1        | peer.Serve     | peer.Close, or stdout is gone      | stdout
//	actor     | 1        | the caller of  | input ended and all is answered,   | the queue, what runs
//	          |          | Run            | the context ends, the host is gone |
//	files     | 1        | Run            | Run returns                        | order of checkpoints, plans, rewinds
//	turn      | 0 or 1   | files          | its result is sent                 | the conversation, while it runs
//	tools     | ≤ 8      | turn           | before the turn goes on            | –
//
// A panic in a tool or a turn becomes an error result. Elsewhere it ends the process: the
// reader, the writer, the actor and the files goroutine hold what a half-done step would corrupt.
//
// The actor never blocks but in its select. A turn starts on the files goroutine, behind
// the checkpoint that it begins with: so a rewind that was asked for earlier is
// over by then, and one asked for later finds the checkpoint.
package engine
