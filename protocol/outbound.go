package protocol

import "github.com/goccy/go-json/jsontext"

// Frame is one line on stdout. Members that never vary, such as "type", are no
// fields: nobody can forget or mistake them.
type Frame interface {
	// constants are those members, in JSON.
	constants() string
}

// Init opens every turn.
type Init struct {
	Cwd               string      `json:"cwd"`
	SessionID         string      `json:"session_id"`
	Tools             []string    `json:"tools"`
	MCPServers        []MCPServer `json:"mcp_servers"`
	Model             string      `json:"model"`
	PermissionMode    string      `json:"permissionMode"`
	SlashCommands     []string    `json:"slash_commands"`
	APIKeySource      string      `json:"apiKeySource"`
	ClaudeCodeVersion string      `json:"claude_code_version"`
	OutputStyle       string      `json:"output_style"`
	Agents            []string    `json:"agents"`
	Skills            []string    `json:"skills"`
	Plugins           []struct{}  `json:"plugins"`
	UUID              string      `json:"uuid"`
}

// MCPServer is one entry of [Init].
type MCPServer struct {
	Name   string `json:"name"`
	Status string `json:"status"`
}

// UserFrame is a replayed prompt (IsReplay) or a message with tool results.
type UserFrame struct {
	Message         jsontext.Value `json:"message"`
	ParentToolUseID *string        `json:"parent_tool_use_id"`
	SessionID       string         `json:"session_id"`
	UUID            string         `json:"uuid"`
	Timestamp       string         `json:"timestamp"`
	IsReplay        bool           `json:"isReplay,omitzero"`
	IsSynthetic     bool           `json:"isSynthetic,omitzero"`
	ToolUseResult   jsontext.Value `json:"tool_use_result,omitzero"`
	Origin          jsontext.Value `json:"origin,omitzero"`
}

// Assistant carries one content block of the model's message.
type Assistant struct {
	Message         AssistantMessage `json:"message"`
	ParentToolUseID *string          `json:"parent_tool_use_id"`
	SessionID       string           `json:"session_id"`
	UUID            string           `json:"uuid"`
	Error           string           `json:"error,omitzero"` // why the model failed: rate_limit, server_error, …
}

// AssistantMessage is the model's message as the API shapes it.
type AssistantMessage struct {
	Type         string  `json:"type"` // message, whatever stands here
	Role         string  `json:"role"` // assistant, whatever stands here
	ID           string  `json:"id"`
	Model        string  `json:"model"`
	Content      Content `json:"content"`
	StopReason   *string `json:"stop_reason"`
	StopSequence *string `json:"stop_sequence"`
	Usage        Usage   `json:"usage"`
}

// StreamEvent passes on an event of the model's stream as it came.
type StreamEvent struct {
	Event           jsontext.Value `json:"event"`
	ParentToolUseID *string        `json:"parent_tool_use_id"`
	SessionID       string         `json:"session_id"`
	UUID            string         `json:"uuid"`
}

// Result ends a turn. Subtype success has a Result; the error subtypes have Errors.
type Result struct {
	Subtype           string                `json:"subtype"` // success, error_during_execution, error_max_turns
	IsError           bool                  `json:"is_error"`
	DurationMS        int64                 `json:"duration_ms"`
	DurationAPIMS     int64                 `json:"duration_api_ms"`
	NumTurns          int                   `json:"num_turns"`
	Result            *string               `json:"result,omitzero"`
	Errors            []string              `json:"errors,omitzero"` // mandatory on the error subtypes: TypeScript reads it unasked
	StopReason        *string               `json:"stop_reason"`
	SessionID         string                `json:"session_id"`
	TotalCostUSD      float64               `json:"total_cost_usd"`
	Usage             Usage                 `json:"usage"`
	ModelUsage        map[string]ModelUsage `json:"modelUsage"`
	PermissionDenials []PermissionDenial    `json:"permission_denials"`
	TerminalReason    string                `json:"terminal_reason,omitzero"`
	APIErrorStatus    *int                  `json:"api_error_status,omitzero"`
	UserMessageUUID   string                `json:"user_message_uuid,omitzero"`
	QueuedTurnCount   int                   `json:"queued_turn_count,omitzero"`
	UUID              string                `json:"uuid"`
}

// ModelUsage is what one model has cost the session so far.
type ModelUsage struct {
	InputTokens              int     `json:"inputTokens"`
	OutputTokens             int     `json:"outputTokens"`
	CacheReadInputTokens     int     `json:"cacheReadInputTokens"`
	CacheCreationInputTokens int     `json:"cacheCreationInputTokens"`
	WebSearchRequests        int     `json:"webSearchRequests"`
	CostUSD                  float64 `json:"costUSD"`
	ContextWindow            int     `json:"contextWindow"`
	MaxOutputTokens          int     `json:"maxOutputTokens"`
}

// PermissionDenial is a tool call that was not allowed.
type PermissionDenial struct {
	ToolName  string         `json:"tool_name"`
	ToolUseID string         `json:"tool_use_id"`
	ToolInput jsontext.Value `json:"tool_input"`
}

// Status tells what the session is at, and its permission mode when that changed.
type Status struct {
	Status         *string `json:"status"` // requesting, compacting or null
	PermissionMode string  `json:"permissionMode,omitzero"`
	SessionID      string  `json:"session_id"`
	UUID           string  `json:"uuid"`
}

// SessionState is sent at the two switches of a turn.
type SessionState struct {
	State       string `json:"state"` // idle, running, requires_action
	SDKHostOnly bool   `json:"sdk_host_only,omitzero"`
	SessionID   string `json:"session_id"`
	UUID        string `json:"uuid"`
}

// FilesRewound tells of a rewind to hosts that asked for such frames.
type FilesRewound struct {
	RewindReply
	UserMessageID string `json:"user_message_id"`
	SessionID     string `json:"session_id"`
	UUID          string `json:"uuid"`
}

// Reply answers a control request: with Response, or with Error.
type Reply struct {
	RequestID string
	Response  any    // nil is sent as {}
	Error     string // not "" makes it an error reply
	ErrorCode string
	Detail    any // an object whose members stand beside "error", or nil
}

// Question is a control request to the host.
type Question struct {
	RequestID string `json:"request_id"`
	Request   any    `json:"request"` // an object with a "subtype"
}

// CancelQuestion withdraws a [Question].
type CancelQuestion struct {
	RequestID string `json:"request_id"`
}

// RewindReply is the payload of a rewind_files reply.
type RewindReply struct {
	CanRewind    bool              `json:"canRewind"`
	Error        string            `json:"error,omitzero"`
	FilesChanged []string          `json:"filesChanged,omitzero"`
	Insertions   *int              `json:"insertions,omitzero"`
	Deletions    *int              `json:"deletions,omitzero"`
	SkippedLinks *int              `json:"skippedLinks,omitzero"` // only on a real rewind
	UndoID       string            `json:"undo_id,omitzero"`
	Conflicts    []PathNote        `json:"conflicts,omitzero"`
	Uncovered    []UncoveredChange `json:"uncovered,omitzero"`
	Problems     []PathNote        `json:"problems,omitzero"`
}

// PathNote is a path and what there is to say of it.
type PathNote struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// UncoveredChange is something that ran and may have changed files unseen.
type UncoveredChange struct {
	What   string `json:"what"`
	Reason string `json:"reason"`
}

func (*Init) constants() string           { return `"type":"system","subtype":"init"` }
func (*UserFrame) constants() string      { return `"type":"user"` }
func (*Assistant) constants() string      { return `"type":"assistant"` }
func (*StreamEvent) constants() string    { return `"type":"stream_event"` }
func (*Result) constants() string         { return `"type":"result"` }
func (*Status) constants() string         { return `"type":"system","subtype":"status"` }
func (*SessionState) constants() string   { return `"type":"system","subtype":"session_state_changed"` }
func (*FilesRewound) constants() string   { return `"type":"system","subtype":"files_rewound"` }
func (*Reply) constants() string          { return `"type":"control_response"` }
func (*Question) constants() string       { return `"type":"control_request"` }
func (*CancelQuestion) constants() string { return `"type":"control_cancel_request"` }
