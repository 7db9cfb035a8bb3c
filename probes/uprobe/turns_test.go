//go:build linux

package uprobe

import "testing"

// enterWorker makes a call begin on the goroutine of a worker.
func (s *scene) enterWorker(step string, depth uint64, values ...any) {
	r := s.record(step, false, 7, depth).with(values...)
	r.Start = worker
	s.calls.addRecord(&r.Record)
}

// TestTurns: a turn lasts from the reading of the mailbox to the call that comes after the work.
func TestTurns(t *testing.T) {
	s := newScene(t)
	s.enterWorker("toy.loop", 100, "uid", uid1)
	s.enterWorker("toy.begin", 200, "uid", uid1)
	s.exit("toy.begin", 7, 200, "kind", "create", "ok", 1)
	s.enterWorker("toy.sync", 200, web()...)
	s.start(8, 7)
	s.enter("toy.mount", 8, 50, web()...)
	s.exit("toy.mount", 8, 50)
	s.exit("toy.sync", 7, 200, "error", "no such volume")
	s.enterWorker("toy.complete", 200, "uid", uid1)
	s.exit("toy.complete", 7, 200)
	s.enterWorker("toy.begin", 200, "uid", uid1)
	s.exit("toy.begin", 7, 200, "ok", 0) // nothing to do
	s.exit("toy.loop", 7, 100)
	const pod = "{" + uid1 + "   }"
	s.want(
		"enter toy.loop ["+pod+"] by worker",
		"enter toy.begin ["+pod+"] in toy.loop by worker",
		"exit toy.begin [false create true] <nil> after 1",
		"enter toy.turn ["+pod+" create] in toy.loop by worker",
		"enter toy.sync ["+webRef+" <nil>] in toy.turn by worker",
		"enter toy.mount ["+webRef+" <nil>] in toy.sync",
		"exit toy.mount [false <nil> <nil> <nil> <nil>] <nil> after 1",
		"exit toy.sync [false <nil>] no such volume after 4",
		"exit toy.turn [false] no such volume after 6",
		"enter toy.complete ["+pod+" <nil>] in toy.loop by worker",
		"exit toy.complete [false] <nil> after 1",
		"enter toy.begin ["+pod+"] in toy.loop by worker",
		"exit toy.begin [false <nil> false] <nil> after 1",
		"exit toy.loop [false] <nil> after 12",
	)
	if _, is := s.calls.goroutines[7]; is {
		t.Error("the worker's goroutine is remembered")
	}
}

// TestTurnOfStarted: calls in a turn are in it, however deep in its stack the call stood that started the worker's
// goroutine.
func TestTurnOfStarted(t *testing.T) {
	s := newScene(t)
	s.enter("toy.grows", 6, 5000, web()...)
	s.start(7, 6)
	s.enterWorker("toy.begin", 200, "uid", uid1)
	s.exit("toy.begin", 7, 200, "kind", "sync", "ok", 1)
	s.enterWorker("toy.sync", 200, web()...)
	const pod = "{" + uid1 + "   }"
	s.want(
		"enter toy.grows ["+webRef+"]",
		"enter toy.begin ["+pod+"] in toy.grows by worker",
		"exit toy.begin [false sync true] <nil> after 1",
		"enter toy.turn ["+pod+" sync] in toy.grows by worker",
		"enter toy.sync ["+webRef+" <nil>] in toy.turn by worker",
	)
}

// TestTurnUnderWay: a probe that starts in the middle of a worker's life sees its next turn. A turn that panics ends
// with its goroutine's outer calls.
func TestTurnUnderWay(t *testing.T) {
	s := newScene(t)
	s.enterWorker("toy.complete", 200, "uid", uid1) // of a turn that was not seen
	s.exit("toy.complete", 7, 200)
	s.enterWorker("toy.begin", 200, "uid", uid1)
	s.exit("toy.begin", 7, 200, "kind", "sync", "ok", 1)
	s.enterWorker("toy.sync", 200, web()...)
	s.enterWorker("toy.begin", 200, "uid", uid1) // the sync panicked
	s.exit("toy.begin", 7, 200, "kind", "sync", "ok", 1)
	s.exit("toy.loop", 7, 100) // which was not seen to begin
	const pod = "{" + uid1 + "   }"
	const panicked = "the function did not return: it panicked, or its goroutine has ended"
	s.want(
		"enter toy.complete ["+pod+" <nil>] by worker",
		"exit toy.complete [false] <nil> after 1",
		"enter toy.begin ["+pod+"] by worker",
		"exit toy.begin [false sync true] <nil> after 1",
		"enter toy.turn ["+pod+" sync] by worker",
		"enter toy.sync ["+webRef+" <nil>] in toy.turn by worker",
		"exit toy.sync [] "+panicked+" after 1",
		"exit toy.turn [false] "+panicked+" after 2",
		"enter toy.begin ["+pod+"] by worker",
		"exit toy.begin [false sync true] <nil> after 1",
		"enter toy.turn ["+pod+" sync] by worker",
		"exit toy.turn [] "+panicked+" after 1",
	)
}
