//go:build linux

package uprobe

import (
	"testing"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/memory"
)

// TestDisbelief: values that cannot be a pod's are refused, and others are not.
func TestDisbelief(t *testing.T) {
	const static = "0123456789abcdef0123456789abcdef"
	for _, x := range []struct {
		name     string
		value    any
		believed bool
	}{
		{"a pod", probes.PodRef{UID: uid1, Namespace: "kube-system", Name: "web-1.x"}, true},
		{"a static pod", probes.PodRef{UID: static, Namespace: "default", Name: "web"}, true},
		{"a uid alone", probes.PodRef{UID: uid1}, true},
		{"no pod", nil, true},
		{"a short uid", probes.PodRef{UID: uid1[1:]}, false},
		{"a long uid", probes.PodRef{UID: uid1 + "0"}, false},
		{"a name as uid", probes.PodRef{UID: "kube-system-and-thirty-six-characters"}, false},
		{"bytes as uid", probes.PodRef{UID: "\x00\x01"}, false},
		{"a name with a slash", probes.PodRef{UID: uid1, Namespace: "default", Name: "default/web"}, false},
		{"a name in capitals", probes.PodRef{UID: uid1, Namespace: "default", Name: "Web"}, false},
		{"a namespace of bytes", probes.PodRef{UID: uid1, Namespace: "\uFFFD", Name: "web"}, false},
		{"a list", []probes.PodRef{{UID: uid1}, {UID: static}}, true},
		{"a list with another", []probes.PodRef{{UID: uid1}, {UID: "web"}}, false},
		{"an id", "4f3b", true},
		{"no id", "", false},
		{"a text as id", "no such volume", false},
	} {
		if why := disbelief([]any{nil, x.value}); (why == "") != x.believed {
			t.Errorf("%s is believed unless %q", x.name, why)
		}
	}
}

// TestRefused: a step at which no pod is read is not shown from then on; others are.
func TestRefused(t *testing.T) {
	s := newScene(t)
	s.enter("toy.sync", 7, 100, web()...)
	s.enter("toy.mount", 7, 200, memory.UID, "a secret")
	s.exit("toy.mount", 7, 200)
	s.enter("toy.mount", 7, 200, web()...)
	s.exit("toy.mount", 7, 200)
	s.enter("toy.panics", 7, 200, web()...)
	s.exit("toy.panics", 7, 200)
	s.exit("toy.sync", 7, 100)
	s.enter("toy.sync", 7, 100, memory.UID, "web") // one among others is left out
	s.enter("toy.sync", 7, 100, web()...)
	s.exit("toy.sync", 7, 100)
	head, elements := s.list(7, 100, "A")
	s.calls.addRecord(&head.Record)
	s.calls.addRecord(&elements[0].Record)
	s.want(
		"enter toy.sync ["+webRef+" <nil>]",
		"refused toy.mount: what it reads as a pod's UID is none",
		"enter toy.panics ["+webRef+"] in toy.sync",
		"exit toy.panics [false] <nil> after 1",
		"exit toy.sync [false <nil>] <nil> after 7",
		"enter toy.sync ["+webRef+" <nil>]",
		"exit toy.sync [false <nil>] <nil> after 1",
		"refused toy.add: what it reads as a pod's UID is none",
	)
}

// TestWrongGoroutine: nothing is shown of a goroutine that cannot exist.
func TestWrongGoroutine(t *testing.T) {
	s := newScene(t)
	s.enter("toy.sync", 0, 100, web()...)
	s.enter("toy.sync", maxGoid+1, 100, web()...)
	s.want()
}
