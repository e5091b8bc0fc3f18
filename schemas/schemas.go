// Package schemas holds the JSON Schema of every frame and control request, with
// golden examples of each.
//
// The schemas of requests/ are what the engine checks a control request with; replies/ has what
// stands in a reply, inbound/ and outbound/ have whole lines, for the tests of those
// who write them. They are lenient in what they do not name, for clients are
// newer than we are, and strict in the rest. They are draft-07, which compiles in
// half the time that 2020-12 takes.
//
// The examples in examples/ bear the name of their schema, and a word where there are several: user.replay.json.
package schemas

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

//go:embed requests replies inbound outbound
var sources embed.FS

// Schema is a JSON Schema that is compiled at its first use.
type Schema struct {
	compiled func() *jsonschema.Schema
}

// New makes a schema from its source. A source that is no schema is found at its first use, and panics:
// schemas are part of the program.
func New(name string, source []byte) *Schema {
	return &Schema{compiled: sync.OnceValue(func() *jsonschema.Schema { return compile(name, source) })}
}

func compile(name string, source []byte) *jsonschema.Schema {
	c := jsonschema.NewCompiler()
	c.Draft = jsonschema.Draft7
	c.LoadURL = func(url string) (io.ReadCloser, error) {
		// The library would read any file that a "$ref" names.
		return nil, errors.New("schemas stand alone")
	}
	url := "schema:///" + name
	if err := c.AddResource(url, bytes.NewReader(source)); err != nil {
		panic(fmt.Sprintf("schema %s: %v", name, err))
	}
	s, err := c.Compile(url)
	if err != nil {
		panic(fmt.Sprintf("schema %s: %v", name, err))
	}
	return s
}

// Request gives the schema of the control request with this subtype, nil if there is none.
func Request(subtype string) *Schema { return embedded("requests/" + subtype) }

// Reply gives the schema of what the reply to such a request holds, nil if there is none.
func Reply(subtype string) *Schema { return embedded("replies/" + subtype) }

// Inbound gives the schema of the lines of this type that a host sends, nil if there is none.
func Inbound(kind string) *Schema { return embedded("inbound/" + kind) }

// Outbound gives the schema of a frame, nil if there is none. The name is its
// type, or its subtype if that is system.
func Outbound(name string) *Schema { return embedded("outbound/" + name) }

var (
	mu    sync.Mutex
	known = map[string]*Schema{} // those of sources that were asked for
)

func embedded(name string) *Schema {
	mu.Lock()
	defer mu.Unlock()
	if s := known[name]; s != nil {
		return s
	}
	source, err := sources.ReadFile(name + ".json")
	if err != nil {
		return nil // a name can be anything that a host sends
	}
	s := New(name, source)
	known[name] = s
	return s
}
