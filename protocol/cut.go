package protocol

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/goccy/go-json/jsontext"
)

// cuts are the things that a frame which is too long does without, the most
// dispensable first. Each makes a copy of the frame that keeps of every such
// thing about limit bytes; with a limit of 0, no more than a note.
var cuts = []func(f Frame, limit int) (Frame, error){
	cutResultBody,
	cutResultText,
	cutLists,
	cutText,
	cutContent,
}

// leastCut is where trying shorter and shorter pieces ends: below it, the notes
// on what was cut are longer than what is kept.
const leastCut = 256

func encodeCut(f Frame, max int) ([]byte, error) {
	var length int
	for _, cut := range cuts {
		var shorter Frame
		for limit := max / 2; ; limit /= 4 {
			if limit < leastCut {
				limit = 0
			}
			var err error
			if shorter, err = cut(f, limit); err != nil {
				return nil, fmt.Errorf("cut %T: %w", f, err)
			}
			if shorter == f {
				break // it has nothing of the kind
			}
			line, err := encode(shorter)
			if err != nil || len(line) <= max {
				return line, err
			}
			length = len(line)
			if limit == 0 {
				break
			}
		}
		f = shorter
	}
	return nil, &TooLongError{Len: length, Max: max}
}

// cutResultBody shortens what a tool tells the host beside its text.
func cutResultBody(f Frame, limit int) (Frame, error) {
	u, ok := f.(*UserFrame)
	if !ok || u.ToolUseResult == nil {
		return f, nil
	}
	shorter := *u
	var err error
	if limit == 0 {
		shorter.ToolUseResult, err = Marshal(note(len(u.ToolUseResult)))
	} else {
		shorter.ToolUseResult, err = shortenStrings(u.ToolUseResult, limit)
	}
	return &shorter, err
}

// cutResultText shortens the text of tool results.
func cutResultText(f Frame, limit int) (Frame, error) {
	if _, ok := f.(*UserFrame); !ok {
		return f, nil
	}
	return editMessage(f, func(content Content) (Content, error) {
		return content.edit(func(b *Block) error {
			if b.Type != "tool_result" {
				return nil
			}
			var err error
			b.Content, err = b.Content.shorten(limit)
			return err
		})
	})
}

// cutLists shortens the lists of an answer or of a frame that is no message. How
// long they were stands in a member "truncated".
func cutLists(f Frame, limit int) (Frame, error) {
	return editObject(f, func(object jsontext.Value) (jsontext.Value, error) {
		var members map[string]jsontext.Value
		if err := Unmarshal(object, &members); err != nil {
			return nil, err
		}
		lengths := map[string]int{}
		for name, value := range members {
			if value.Kind() != '[' || len(value) <= limit {
				continue
			}
			var list []jsontext.Value
			if err := Unmarshal(value, &list); err != nil {
				return nil, err
			}
			n := 0
			for size := 0; n < len(list) && size+len(list[n]) < limit; n++ {
				size += len(list[n]) + len(",")
			}
			lengths[name] = len(list)
			var err error
			if members[name], err = Marshal(list[:n]); err != nil {
				return nil, err
			}
		}
		if len(lengths) == 0 {
			return object, nil
		}
		var err error
		if members["truncated"], err = Marshal(lengths); err != nil {
			return nil, err
		}
		return Marshal(members)
	})
}

// cutText shortens what is left: replayed prompts, the model's text, tool
// inputs, every long string of an answer.
func cutText(f Frame, limit int) (Frame, error) {
	switch f := f.(type) {
	case *UserFrame, *Assistant:
		return editMessage(f, func(content Content) (Content, error) { return content.shorten(limit) })
	case *StreamEvent:
		shorter := *f
		var err error
		shorter.Event, err = shortenStrings(f.Event, limit)
		return &shorter, err
	}
	return editObject(f, func(object jsontext.Value) (jsontext.Value, error) { return shortenStrings(object, limit) })
}

// cutContent gives up the blocks of a message that has too many of them.
func cutContent(f Frame, limit int) (Frame, error) {
	return editMessage(f, func(content Content) (Content, error) {
		size := 0
		for i := range content {
			block, err := Marshal(content[i])
			if err != nil {
				return nil, err
			}
			if size += len(block) + len(","); size > limit {
				text := fmt.Sprintf("[takeback: %d more blocks are left out, they do not fit into one line]", len(content)-i)
				return append(content[:i:i], Text(text)...), nil
			}
		}
		return content, nil
	})
}

// editMessage gives a copy of f with its content edited, or f if it has none.
func editMessage(f Frame, edit func(Content) (Content, error)) (Frame, error) {
	switch f := f.(type) {
	case *Assistant:
		shorter := *f
		var err error
		shorter.Message.Content, err = edit(f.Message.Content)
		return &shorter, err
	case *UserFrame:
		var m Message
		if err := Unmarshal(f.Message, &m); err != nil {
			return nil, err
		}
		var err error
		if m.Content, err = edit(m.Content); err != nil {
			return nil, err
		}
		shorter := *f
		shorter.Message, err = Marshal(m)
		return &shorter, err
	}
	return f, nil
}

// object is a frame whose members are JSON already.
type object struct {
	constant string
	members  jsontext.Value
}

func (o *object) constants() string { return o.constant }

// MarshalJSON gives the members.
func (o *object) MarshalJSON() ([]byte, error) { return o.members, nil }

// editObject gives a copy of f with its payload edited: the response of a
// [Reply] or its detail, else all its members. Messages have none.
func editObject(f Frame, edit func(jsontext.Value) (jsontext.Value, error)) (Frame, error) {
	switch f := f.(type) {
	case *UserFrame, *Assistant, *StreamEvent:
		return f, nil
	case *Reply:
		shorter := *f
		payload := &shorter.Response
		if f.Error != "" {
			payload = &shorter.Detail
		}
		if *payload == nil {
			return f, nil
		}
		value, err := Marshal(*payload)
		if err != nil {
			return nil, err
		}
		*payload, err = edit(value)
		return &shorter, err
	}
	line, err := body(f)
	if err != nil {
		return nil, err
	}
	members, err := Marshal(line)
	if err != nil {
		return nil, err
	}
	members, err = edit(members)
	return &object{constant: f.constants(), members: members}, err
}

// edit gives a copy of c with each block edited.
func (c Content) edit(edit func(*Block) error) (Content, error) {
	edited := append(Content(nil), c...)
	for i := range edited {
		if err := edit(&edited[i]); err != nil {
			return nil, err
		}
	}
	return edited, nil
}

// shorten gives a copy of c without strings of more than about limit bytes.
func (c Content) shorten(limit int) (Content, error) {
	return c.edit(func(b *Block) error {
		for _, text := range []**string{&b.Text, &b.Thinking} {
			if *text != nil {
				short := shortenText(**text, limit)
				*text = &short
			}
		}
		var err error
		if b.Content, err = b.Content.shorten(limit); err != nil {
			return err
		}
		if len(b.Input) > limit && limit == 0 {
			b.Input, err = Marshal(map[string]string{"truncated": note(len(b.Input))})
		} else if len(b.Input) > limit {
			b.Input, err = shortenStrings(b.Input, limit)
		}
		if len(b.Extra) > limit+noteLen {
			// An image, or the like: half of one is of no use.
			*b = Text(note(len(b.Extra)))[0]
		}
		return err
	})
}

// shortenStrings shortens each string in v, but no names.
func shortenStrings(v jsontext.Value, limit int) (jsontext.Value, error) {
	var out bytes.Buffer
	dec := jsontext.NewDecoder(bytes.NewReader(v), lenient)
	enc := jsontext.NewEncoder(&out, lenient)
	for {
		token, err := dec.ReadToken()
		if err != nil {
			return nil, err
		}
		kind, n := dec.StackIndex(dec.StackDepth())
		isName := kind == '{' && n%2 == 1
		if token.Kind() == '"' && !isName {
			token = jsontext.String(shortenText(token.String(), limit))
		}
		if err := enc.WriteToken(token); err != nil {
			return nil, err
		}
		if dec.StackDepth() == 0 {
			return bytes.TrimSpace(out.Bytes()), nil
		}
	}
}

// shortenText keeps the beginning of text, if that and the note are shorter than text.
func shortenText(text string, limit int) string {
	if len(text) <= limit+noteLen {
		return text
	}
	n := limit
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + note(len(text)-n)
}

// noteLen is about the length of a note.
const noteLen = 80

func note(left int) string {
	return fmt.Sprintf("[takeback: %d bytes are left out here, they do not fit into one line]", left)
}
