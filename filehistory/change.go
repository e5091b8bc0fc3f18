package filehistory

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"takeback/filehistory/internal/journal"
)

// Checkpoint marks the point that Plan and Rewind go back to under id: all
// changes from here on come after it. label is for people (the start of the prompt).
// A repeated id is not an error and moves nothing.
//
// The record is written but not flushed: the next change flushes it with its
// own, and as long as none comes there is nothing to go back to.
func (s *Store) Checkpoint(ctx context.Context, id, label string) error {
	if s == nil {
		return nil
	}
	if id == "" || id == Undo {
		return fmt.Errorf("checkpoint: %q is no id", id)
	}
	if err := s.acquire(ctx, s.changePatience); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.index.points[id]; ok {
		return nil
	}
	record := &journal.Record{Type: journal.Checkpoint, ID: valid(id), Label: valid(label)}
	if err := s.record(record); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	return nil
}

func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

// Begin saves what stands at each path and returns once that is safe on disk.
// A path's missing parent folders are recorded with it. by names who changes
// it (a tool and its call). Nothing may be written before Begin has returned;
// the caller ends the change with [Change.Done], also when the write failed.
//
// Whoever holds a change must not begin another before Done: between the two a
// rewind may be waiting, for the first and before the second.
func (s *Store) Begin(ctx context.Context, by string, paths ...string) (*Change, error) {
	if s == nil {
		return nil, nil
	}
	if err := s.progress.Acquire(ctx, 1); err != nil {
		return nil, fmt.Errorf("begin change: %w", err)
	}
	c := &Change{s: s, resolved: make(map[string]string)}
	if err := c.begin(ctx, by, paths); err != nil {
		s.progress.Release(1)
		return nil, fmt.Errorf("begin change: %w", err)
	}
	return c, nil
}

// A Change is a write in progress. A rewind waits for it.
type Change struct {
	s        *Store
	records  []*journal.Record
	resolved map[string]string // the paths as given, and where they lead
	done     bool
}

func (c *Change) begin(ctx context.Context, by string, paths []string) error {
	s := c.s
	if err := s.acquire(ctx, s.changePatience); err != nil {
		return err
	}
	batch := s.blobs.Batch()
	saver := saver{s: s, by: valid(by), resolver: newResolver(), seen: make(map[string]bool), folders: make(map[string]journal.State)}
	var uncovered []*journal.Record
	for _, path := range paths {
		if err := ctx.Err(); err != nil {
			return err
		}
		key, missing, err := saver.resolver.resolve(path)
		if err != nil {
			return err
		}
		c.resolved[path] = key
		if inside(s.dir, key) {
			continue
		}
		if metadata(key) {
			uncovered = append(uncovered, &journal.Record{
				Type: journal.Uncovered, What: valid(key), Reason: "version control metadata is never recorded",
			})
			continue
		}
		saver.noteFolders(key, len(missing))
		saver.addParents(missing)
		if !saver.first(key) {
			continue
		}
		state, err := save(batch, key)
		if err != nil {
			return fmt.Errorf("save: %w", err)
		}
		saver.add(key, state)
	}
	if err := batch.Sync(); err != nil {
		return err
	}
	s.mu.Lock()
	err := s.record(slices.Concat(s.index.folderRecords(saver.folders), saver.records, uncovered)...)
	w := s.journal
	s.mu.Unlock()
	if err != nil {
		return err
	}
	c.records = saver.records
	return w.Sync()
}

// saver makes the Before records of one batch, one for each path.
type saver struct {
	s        *Store
	by       string
	resolver *resolver
	seen     map[string]bool
	rewound  bool
	records  []*journal.Record
	folders  map[string]journal.State // on the way
}

func (v *saver) first(path string) bool {
	if v.seen[path] {
		return false
	}
	v.seen[path] = true
	return true
}

func (v *saver) add(path string, state journal.State) *journal.Record {
	record := &journal.Record{
		Type: journal.Before, Path: journal.NewPath(path), By: v.by, State: state, Rewound: v.rewound,
	}
	v.records = append(v.records, record)
	return record
}

func (v *saver) addParents(missing []string) {
	for _, dir := range missing {
		if v.first(dir) {
			v.add(dir, journal.State{Kind: journal.Absent}).Parent = true
		}
	}
}

// Done records what the change left behind.
func (c *Change) Done() error {
	if c == nil || c.s == nil || c.done {
		return nil
	}
	c.done = true
	defer c.s.progress.Release(1)
	after := make([]*journal.Record, len(c.records))
	resolver := newResolver()
	for i, r := range c.records {
		after[i] = &journal.Record{
			Type: journal.After, Change: r.Change, Path: r.Path, Parent: r.Parent,
			State: leave(resolver, r.Path.String(), r.State),
		}
	}
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	if err := c.s.conclude(after...); err != nil {
		return fmt.Errorf("end change: %w", err)
	}
	return nil
}

// Uncovered records that something ran whose changes the store cannot see: a
// shell command, say. Plans and rewinds across it say so.
func (s *Store) Uncovered(ctx context.Context, what, reason string) error {
	if s == nil {
		return nil
	}
	if err := s.acquire(ctx, s.changePatience); err != nil {
		return fmt.Errorf("record what is uncovered: %w", err)
	}
	record := &journal.Record{Type: journal.Uncovered, What: valid(what), Reason: valid(reason)}
	s.mu.Lock()
	err := s.record(record)
	w := s.journal
	s.mu.Unlock()
	if err == nil {
		err = w.Sync()
	}
	if err != nil {
		return fmt.Errorf("record what is uncovered: %w", err)
	}
	return nil
}
