//go:build linux

package uprobe

import (
	"errors"
	"strings"
	"testing"

	"github.com/podstep/podstep/probes/clock"
	"github.com/podstep/podstep/probes/inside/reading"
	"github.com/podstep/podstep/probes/memory"
)

// web returns the values of a pod, and more.
func web(more ...any) []any {
	return append([]any{memory.UID, uid1, memory.Namespace, "default", memory.Name, "web"}, more...)
}

const webRef = "{" + uid1 + " default web }"

// TestCalls: calls nest by goroutine, and end with their results and errors.
func TestCalls(t *testing.T) {
	s := newScene(t)
	s.enter("toy.sync", 7, 100, web("attempt", 1)...)
	s.enter("toy.mount", 7, 200, web()...)
	s.enter("toy.sync", 8, 100, web("attempt", 2)...)
	s.exit("toy.mount", 7, 200, "mounted", 5, "node", "node-1")
	s.exit("toy.sync", 8, 100, "terminal", 1, "error", "")
	s.exit("toy.sync", 7, 100, "terminal", 0, "error", "no such volume")
	s.want(
		"enter toy.sync ["+webRef+" again]",
		"enter toy.mount ["+webRef+" <nil>] in toy.sync",
		"enter toy.sync ["+webRef+" 2]",
		"exit toy.mount [false 5 <nil> node-1 <nil>] <nil> after 2",
		"exit toy.sync [false true] an error whose type and text cannot be read after 2",
		"exit toy.sync [false false] no such volume after 5",
	)
	if n := len(s.calls.goroutines); n != 0 {
		t.Errorf("%d goroutines are remembered", n)
	}
}

// TestQuietCall: the condition of a table decides whether a call is worth an event.
func TestQuietCall(t *testing.T) {
	s := newScene(t)
	s.enter("toy.mount", 7, 100, web()...)
	s.exit("toy.mount", 7, 100, "mounted", 9, "v0", 9)
	s.enter("toy.mount", 7, 100, web()...)
	s.exit("toy.mount", 7, 100)
	s.want(
		"enter toy.mount ["+webRef+" <nil>]",
		"exit toy.mount [true 9 <nil> <nil> <nil>] <nil> after 1",
		"enter toy.mount ["+webRef+" <nil>]",
		"exit toy.mount [false <nil> <nil> <nil> <nil>] <nil> after 1",
	)
}

// TestEndAll: when the process has ended, all calls under way end with that reason, the inner ones first, and nothing
// is remembered of its goroutines.
func TestEndAll(t *testing.T) {
	s := newScene(t)
	s.enter("toy.sync", 7, 100, web("attempt", 2)...)
	s.enter("toy.mount", 7, 200, web()...)
	s.enter("toy.mount", 8, 100, web()...)
	s.log = nil
	s.calls.endAll(errors.New("the kubelet has ended"), clock.Time(9).Time())
	s.want(
		"exit toy.mount [] the kubelet has ended after 6",
		"exit toy.mount [] the kubelet has ended after 7",
		"exit toy.sync [] the kubelet has ended after 8",
	)
	if n := len(s.calls.goroutines); n != 0 {
		t.Errorf("%d goroutines are remembered", n)
	}
}

// TestVanished: a call whose frame is gone has panicked, unless records were lost.
func TestVanished(t *testing.T) {
	s := newScene(t)
	s.enter("toy.sync", 7, 100, web()...)
	s.enter("toy.panics", 7, 200, web()...)
	s.enter("toy.mount", 7, 300, web()...)
	s.enter("toy.mount", 7, 200, web()...) // recovered, and on
	s.exit("toy.sync", 7, 100)             // it panicked too
	s.lost = 1
	s.enter("toy.sync", 7, 100, web()...)
	s.lost = 3
	s.enter("toy.sync", 7, 90, web()...)
	s.calls.losses()
	s.calls.losses()
	s.exit("toy.sync", 7, 90)
	const panicked = "the function did not return: it panicked, or its goroutine has ended"
	const unseen = "it is not known how the function returned: nobody saw it"
	s.want(
		"enter toy.sync ["+webRef+" <nil>]",
		"enter toy.panics ["+webRef+"] in toy.sync",
		"enter toy.mount ["+webRef+" <nil>] in toy.panics",
		"exit toy.mount [] "+panicked+" after 1",
		"exit toy.panics [] "+panicked+" after 2",
		"enter toy.mount ["+webRef+" <nil>] in toy.sync",
		"exit toy.mount [] "+panicked+" after 1",
		"exit toy.sync [false <nil>] <nil> after 4",
		"enter toy.sync ["+webRef+" <nil>]",
		"exit toy.sync [] "+unseen+" after 1",
		"enter toy.sync ["+webRef+" <nil>]",
		"lost 3",
		"exit toy.sync [false <nil>] <nil> after 1",
	)
}

// TestUnknownExit: an exit does nothing if the begin of its call was not seen.
func TestUnknownExit(t *testing.T) {
	s := newScene(t)
	s.exit("toy.sync", 7, 100)
	s.enter("toy.sync", 7, 100, web()...)
	s.exit("toy.mount", 7, 100) // of another step
	s.exit("toy.sync", 7, 50)   // of a call around it, which vanishes
	s.want(
		"enter toy.sync ["+webRef+" <nil>]",
		"exit toy.sync [] the function did not return: it panicked, or its goroutine has ended after 2",
	)
}

// start starts a goroutine on another one.
func (s *scene) start(goid, parent uint64) {
	s.now++
	s.calls.addRecord(&reading.Record{Time: s.now, G: 0xc000 + goid, Goid: goid, Parent: parent, Place: uint32(len(s.calls.plan.places))})
}

// TestStarted: calls on a goroutine that was started in a call are in that call, while that call goes on. This holds
// for all of them, not only the first.
func TestStarted(t *testing.T) {
	s := newScene(t)
	s.enter("toy.sync", 7, 100, web()...)
	s.start(8, 7)
	s.start(9, 8)
	s.start(10, 99) // by a goroutine that is in no call
	for _, goid := range []uint64{8, 8, 9, 10} {
		s.enter("toy.mount", goid, 50, web()...)
		s.exit("toy.mount", goid, 50)
	}
	s.exit("toy.sync", 7, 100)
	if _, is := s.calls.goroutines[10]; is {
		t.Error("a goroutine is remembered that calls nothing")
	}
	const in, out = "enter toy.mount [" + webRef + " <nil>] in toy.sync", "exit toy.mount [false <nil> <nil> <nil> <nil>] <nil> after 1"
	s.want(
		"enter toy.sync ["+webRef+" <nil>]",
		in, out, in, out, in, out,
		"enter toy.mount ["+webRef+" <nil>]", out,
		"exit toy.sync [false <nil>] <nil> after 12",
	)
}

// list makes the record of an entry with a list of pods, and those of its elements.
func (s *scene) list(goid, depth uint64, names ...string) (head *seen, elements []*seen) {
	head = s.record("toy.add", false, goid, depth).with("pods", len(names))
	slot := head.at.side.lists[0].slot
	head.put(slot, 0xc0001000)
	head.Value[slot+1] = uint64(len(names))
	for _, name := range names {
		e := &seen{at: head.at}
		e.Time, e.G, e.Place, e.Flags = head.Time, head.G, head.Place, reading.FlagElement
		for _, x := range head.at.side.element {
			text := name + "-" + strings.ToLower(x.name)
			if x.name == memory.UID {
				text = uid1[:len(uid1)-1] + name
			}
			e.put(x.slot, text)
		}
		elements = append(elements, e)
	}
	return head, elements
}

const (
	listA = "{00000001-1111-4222-8333-44444444444a a-namespace a-name a-resourceversion}"
	listB = "{00000001-1111-4222-8333-44444444444b b-namespace b-name b-resourceversion}"
)

// TestLists: a call about a list of pods begins when all of the list's records have come, or when it shows that some
// were lost.
func TestLists(t *testing.T) {
	s := newScene(t)
	head, elements := s.list(7, 100, "a", "b")
	s.calls.addRecord(&head.Record)
	s.calls.addRecord(&elements[0].Record)
	s.want()
	s.calls.addRecord(&elements[1].Record)
	s.want("enter toy.add [[" + listA + " " + listB + "] 2]")
	s.exit("toy.add", 7, 100)
	s.want("exit toy.add [false] <nil> after 1")

	head, _ = s.list(7, 100)
	s.calls.addRecord(&head.Record)
	s.want("enter toy.add [<nil> 0]")
	s.exit("toy.add", 7, 100)
	s.log = nil

	head, elements = s.list(7, 100, "a", "b")
	s.calls.addRecord(&head.Record)
	s.calls.addRecord(&elements[0].Record)
	s.enter("toy.sync", 7, 200, web()...)  // the other one was lost
	s.calls.addRecord(&elements[1].Record) // it comes too late
	s.want("enter toy.add [["+listA+"] 2]", "enter toy.sync ["+webRef+" <nil>] in toy.add")
	if len(s.calls.pending) != 0 {
		t.Errorf("%d records still wait", len(s.calls.pending))
	}
}

// TestForget: calls remembers a bounded number of goroutines.
func TestForget(t *testing.T) {
	s := newScene(t)
	s.enter("toy.sync", 1, 100, web()...)
	for goid := uint64(2); goid < 20000; goid++ {
		s.start(goid, 1)
	}
	if n := len(s.calls.goroutines); n != 19999 {
		t.Errorf("%d goroutines are remembered of a call that goes on", n)
	}
	s.now += uint64(2 * forgetAfter) // they may still call something, but have not for long
	for goid := uint64(20000); goid < 40000; goid++ {
		s.start(goid, 1)
	}
	if n := len(s.calls.goroutines); n > 30000 {
		t.Errorf("%d goroutines are remembered, most of them too long", n)
	}
	s.exit("toy.sync", 1, 100)
	for goid := uint64(100000); goid < 240000; goid++ { // each in a call of its own that never ends
		s.enter("toy.mount", goid, 100)
		if n := len(s.calls.goroutines); n > maxGoroutines {
			t.Fatalf("%d goroutines are remembered", n)
		}
		s.log = s.log[:0]
	}
}

// TestStartedBefore: a goroutine whose start nobody saw was started in the call that is about the same pod and whose
// function has its go statement, even if that call has ended by now. Without such a call it was started in none.
func TestStartedBefore(t *testing.T) {
	s := newScene(t)
	w := &Watched{calls: s.calls}
	s.calls.keepPast = true
	about := func(uid string) []any { return []any{memory.UID, uid, memory.Namespace, "default", memory.Name, "web"} }
	const first, second, third = "00000001-1111-4222-8333-444444444444", "00000002-1111-4222-8333-444444444444", "00000003-1111-4222-8333-444444444444"
	s.enter("toy.sync", 7, 100, about(first)...)
	s.exit("toy.sync", 7, 100)
	s.enter("toy.grows", 7, 100, about(first)...)
	s.exit("toy.grows", 7, 100)
	s.enter("toy.sync", 7, 100, about(second)...)
	s.enter("toy.panics", 7, 200, about(second)...)
	made := func(step string) uint64 {
		if step == "" {
			return 1
		}
		_, at := s.placeOf(step, false)
		return at.at + 1
	}
	next := func(i int) uint64 { return 1000*numbersApart + uint64(i) }
	for i, c := range []struct {
		in, uid string // of the go statement, and of the pod
		step    string
		ended   bool
	}{
		{"toy.sync", first, "toy.sync", true},
		{"toy.sync", second, "toy.sync", false},
		{"toy.sync", third, "", false}, // of a call that is forgotten
		{"toy.mount", second, "", false},
		{"", second, "toy.panics", false}, // in a function that is no step's
		{"", first, "toy.grows", true},
		{"", third, "", false},
	} {
		goid := next(i)
		r := s.record("toy.mount", false, goid, 50).with(about(c.uid)...)
		r.Parent, r.Made = 7, made(c.in)
		w.Take([]reading.Record{r.Record})
		got := s.calls.goroutines[goid].parent
		switch {
		case got == nil && c.step == "":
		case got == nil || got.Step.Name != c.step || got.ended != c.ended || got.uid() != c.uid:
			t.Errorf("one made in %q for %s was started in %+v, not in %s", c.in, c.uid, got, c.step)
		}
	}
	// A goroutine that is older than the call was not started in it. The goroutine's own start was not seen. Nor was
	// one that is older than podstep.
	s.enter("toy.sync", 7, 300, about(third)...)
	r := s.record("toy.mount", false, 12, 50).with(about(third)...)
	r.Parent, r.Made = 7, made("toy.sync")
	w.Take([]reading.Record{r.Record})
	s.calls.old = next(100)
	s.enter("toy.sync", 8, 300, about(first)...)
	again := s.record("toy.mount", false, next(100), 50).with(about(first)...)
	again.Parent, again.Made = 8, made("toy.sync")
	w.Take([]reading.Record{again.Record})
	for _, number := range []uint64{12, next(100)} {
		if got := s.calls.goroutines[number].parent; got != nil {
			t.Errorf("the old goroutine %d was started in %s", number, got.Step.Name)
		}
	}
}

// TestWatchedLost: the end of a call that was not seen may be among the lost records. The end of a call that began
// later is not.
func TestWatchedLost(t *testing.T) {
	s := newScene(t)
	w := &Watched{calls: s.calls}
	s.calls.lost = func() uint64 { return w.lost }
	s.enter("toy.sync", 7, 100, web()...)
	w.Lost(2)
	s.enter("toy.sync", 7, 100, web()...)
	s.enter("toy.sync", 7, 100, web()...)
	s.want(
		"enter toy.sync ["+webRef+" <nil>]",
		"lost 2",
		"exit toy.sync [] it is not known how the function returned: nobody saw it after 1",
		"enter toy.sync ["+webRef+" <nil>]",
		"exit toy.sync [] the function did not return: it panicked, or its goroutine has ended after 1",
		"enter toy.sync ["+webRef+" <nil>]",
	)
}
