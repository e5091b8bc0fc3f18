package script

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/goccy/go-json/jsontext"
	json "github.com/goccy/go-json/v2"

	"takeback/protocol"
)

// Script is a sequence of turns. The zero value takes each turn from its prompt.
type Script struct {
	fromFile bool
	turns    [][]step
}

type step struct {
	Text      *string         `json:"text"`
	Thinking  *string         `json:"thinking"`
	Signature string          `json:"signature"`
	Tool      *string         `json:"tool"`
	Input     jsontext.Value  `json:"input"`
	ID        string          `json:"id"`
	DelayMS   *int            `json:"delay_ms"`
	Error     *Failure        `json:"error"`
	Cut       bool            `json:"cut"`
	Hang      bool            `json:"hang"`
	Stop      *string         `json:"stop"`
	Usage     *protocol.Usage `json:"usage"`
	Echo      *string         `json:"echo"`
}

var echoes = []string{"conversation", "system", "tools"}

// Load reads a script file. With no file, each prompt is its own script.
func Load(file string) (Script, error) {
	if file == "" {
		return Script{}, nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return Script{}, fmt.Errorf("script: %w", err)
	}
	p := newParser(data)
	turns, err := p.turns()
	if err != nil {
		return Script{}, fmt.Errorf("script %s: line %d: %w", file, p.line(err), err)
	}
	return Script{fromFile: true, turns: turns}, nil
}

// parseTurn reads the turn that a prompt brings along.
func parseTurn(prompt string) ([]step, error) {
	p := newParser([]byte(prompt))
	steps, err := p.steps()
	if err == nil {
		err = p.end()
	}
	return steps, err
}

// parser reads value by value, so that it knows on which line a wrong step stands.
type parser struct {
	data []byte
	dec  *jsontext.Decoder
	at   int64 // where the step being read begins
}

func newParser(data []byte) *parser {
	return &parser{data: data, dec: jsontext.NewDecoder(bytes.NewReader(data))}
}

func (p *parser) turns() ([][]step, error) {
	if err := p.open("a script is an array of turns"); err != nil {
		return nil, err
	}
	var turns [][]step
	for p.dec.PeekKind() != ']' {
		steps, err := p.steps()
		if err != nil {
			return nil, fmt.Errorf("turn %d: %w", len(turns)+1, err)
		}
		turns = append(turns, steps)
	}
	if _, err := p.dec.ReadToken(); err != nil {
		return nil, err
	}
	return turns, p.end()
}

func (p *parser) steps() ([]step, error) {
	if err := p.open("a turn is an array of steps"); err != nil {
		return nil, err
	}
	var steps []step
	for p.dec.PeekKind() != ']' {
		value, err := p.dec.ReadValue()
		if err != nil {
			return nil, err
		}
		p.at = p.dec.InputOffset() - int64(len(value))
		s, err := parseStep(value)
		if err != nil {
			return nil, fmt.Errorf("step %d: %w", len(steps)+1, err)
		}
		steps = append(steps, s)
	}
	_, err := p.dec.ReadToken()
	return steps, err
}

func (p *parser) open(rule string) error {
	token, err := p.dec.ReadToken()
	p.at = p.dec.InputOffset()
	switch {
	case errors.Is(err, io.EOF):
		return fmt.Errorf("%s, this is empty", rule)
	case err == nil && token.Kind() != '[':
		return fmt.Errorf("%s, this is %s", rule, token)
	}
	return err
}

func (p *parser) end() error {
	if rest := bytes.TrimSpace(p.data[p.dec.InputOffset():]); len(rest) > 0 {
		p.at = int64(len(p.data) - len(rest))
		return errors.New("something follows the closing bracket")
	}
	return nil
}

// line is the line of the file that err is about.
func (p *parser) line(err error) int {
	at := p.at
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		at = syntax.ByteOffset
	}
	return 1 + bytes.Count(p.data[:at], []byte("\n"))
}

func parseStep(value jsontext.Value) (step, error) {
	var s step
	err := json.Unmarshal(value, &s, json.RejectUnknownMembers(true))
	if semantic, ok := errors.AsType[*json.SemanticError](err); ok {
		key := strings.ReplaceAll(strings.TrimPrefix(string(semantic.JSONPointer), "/"), "/", ".")
		switch {
		case errors.Is(err, json.ErrUnknownName):
			return s, fmt.Errorf("unknown key %q", key)
		case key == "":
			return s, fmt.Errorf("a step is an object, this is %s", value)
		}
		return s, fmt.Errorf("the value of %q has the wrong type", key)
	}
	if err != nil {
		return s, err
	}
	return s, s.check()
}

// check refuses what would otherwise be played as something the author did not mean.
func (s *step) check() error {
	var kinds []string
	for kind, set := range map[string]bool{
		"text": s.Text != nil, "thinking": s.Thinking != nil, "tool": s.Tool != nil,
		"delay_ms": s.DelayMS != nil, "error": s.Error != nil, "hang": s.Hang, "cut": s.Cut && s.Tool == nil,
		"stop": s.Stop != nil, "usage": s.Usage != nil, "echo": s.Echo != nil,
	} {
		if set {
			kinds = append(kinds, kind)
		}
	}
	slices.Sort(kinds)
	switch {
	case len(kinds) == 0:
		return errors.New("it does nothing: it needs one of text, thinking, tool, delay_ms, error, cut, hang, stop, usage, echo")
	case len(kinds) > 1:
		return fmt.Errorf("it is several steps in one: %s", strings.Join(kinds, ", "))
	case s.Signature != "" && s.Thinking == nil:
		return errors.New(`"signature" belongs to "thinking"`)
	case (s.ID != "" || s.Input != nil) && s.Tool == nil:
		return errors.New(`"id" and "input" belong to "tool"`)
	case s.Tool != nil && (*s.Tool == "" || s.Input.Kind() != '{'):
		return errors.New(`"tool" needs a name, and an object as its "input"`)
	case s.DelayMS != nil && *s.DelayMS < 0:
		return errors.New(`"delay_ms" is negative`)
	case s.Error != nil && (s.Error.Status < 400 || s.Error.Status > 599):
		return errors.New(`"error" needs a "status" from 400 to 599`)
	case s.Echo != nil && !slices.Contains(echoes, *s.Echo):
		return fmt.Errorf(`"echo" is one of %s`, strings.Join(echoes, ", "))
	}
	return nil
}
