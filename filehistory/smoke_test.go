package filehistory

import "testing"

func TestSmoke(t *testing.T) {
	h := newHistory(t)
	h.put("a", "a0\n")
	h.checkpoint("u1")
	h.write("a", "a1\nx\n")
	h.write("d/e/new", "n\n")
	h.checkpoint("u2")
	h.write("a", "a2\n")
	h.remove("d/e/new")
	h.restart()
	r := h.plan("u1")
	t.Logf("%+v", r)
	r1 := h.clean("u1")
	h.wantFiles(r1, "restore a", "remove d", "remove d/e")
	h.holds("a", "a0\n")
	h.absent("d")
	h.clean("u2")
	h.holds("a", "a1\nx\n")
	h.holds("d/e/new", "n\n")
	h.clean(r1.UndoID)
	h.holds("a", "a2\n")
	h.absent("d/e/new")
	r = h.clean("u1")
	h.clean(Undo)
	h.holds("a", "a2\n")
}
