package engine

import "sync"

// mailbox is an unbounded FIFO of things to do. Posting never blocks: the reader posts, and must go on
// to the answer or the cancel that the receiver may be waiting for.
type mailbox struct {
	mu    sync.Mutex
	jobs  []func()
	ready chan struct{}
}

func newMailbox() *mailbox { return &mailbox{ready: make(chan struct{}, 1)} }

func (m *mailbox) post(job func()) {
	m.mu.Lock()
	m.jobs = append(m.jobs, job)
	m.mu.Unlock()
	select {
	case m.ready <- struct{}{}:
	default:
	}
}

// next takes the oldest job, nil if there is none.
func (m *mailbox) next() func() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.jobs) == 0 {
		return nil
	}
	job := m.jobs[0]
	m.jobs[0] = nil
	m.jobs = m.jobs[1:]
	return job
}

// run does jobs, one at a time, until stop is closed.
func (m *mailbox) run(stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		case <-m.ready:
			for job := m.next(); job != nil; job = m.next() {
				select {
				case <-stop:
					return
				default:
					job()
				}
			}
		}
	}
}
