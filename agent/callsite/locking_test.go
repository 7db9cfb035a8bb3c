package callsite

import "testing"

const here = "github.com/podstep/podstep/agent/callsite."

// askFree asks as a worker would, from a function literal. If it were inlined, the literal would be named for its caller.
//
//go:noinline
func askFree(l *Locking) (free bool) {
	func() { free = l.Free() }()
	return free
}

// TestLocking: a goroutine may be held if it is a worker's and no function on its stack takes a lock.
func TestLocking(t *testing.T) {
	for _, c := range []struct {
		name string
		l    *Locking
		want bool
	}{
		{"no list", nil, true},
		{"no function takes a lock", NewLocking(here+"askFree", []string{here + "other"}), true},
		{"one takes a lock", NewLocking(here+"askFree", []string{here + "askFree"}), false},
		{"a function between takes one", NewLocking(here+"TestLocking", []string{here + "askFree"}), false},
		{"what calls the worker takes one", NewLocking(here+"askFree", []string{here + "TestLocking"}), true},
		{"no worker", NewLocking(here+"worker", []string{here + "other"}), false},
	} {
		if got := askFree(c.l); got != c.want {
			t.Errorf("%s: free is %v", c.name, got)
		}
	}
	var deep func(n int) bool
	l := NewLocking(here+"askFree", []string{})
	deep = func(n int) bool {
		if n == 0 {
			return askFree(l)
		}
		return deep(n - 1)
	}
	if !deep(10) || deep(1000) {
		t.Error("of a stack that is too deep not all is known")
	}
}

func TestTakesLock(t *testing.T) {
	l := NewLocking("", []string{"a.b/c.(*T).M", "a.b/c.F"})
	for function, want := range map[string]bool{
		"a.b/c.(*T).M": true, "a.b/c.(*T).M.func1": true, "a.b/c.F.func2.1": true, "a.b/c.(*T).N": false, "a.b/c.FF": false, "a.b/c": false, "": false,
	} {
		if got := l.takes(function); got != want {
			t.Errorf("%s takes a lock: %v", function, got)
		}
	}
}
