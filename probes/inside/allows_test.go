package inside

import (
	"strings"
	"testing"

	"github.com/podstep/podstep/probes/inside/park"
)

// TestRefuses: a goroutine is held only within the wanted function, and only if it is known of all functions between
// that they have no lock. The place's own function may have one.
func TestRefuses(t *testing.T) {
	place := Place{Within: []string{"k/kubelet.loop.func1"}, NotWithin: []string{"k/rt.(*m).remove"}}
	known := Known{
		NotWithin: map[string]bool{"k/kubelet.(*w).locked": true, "k/kubelet.generic[...]": true},
		Packages:  map[string]bool{"k/kubelet": true, "k/rt": true},
	}
	for functions, want := range map[string]park.Reason{
		"k/rt.step k/kubelet.sync k/kubelet.loop.func1":                    "",
		"k/kubelet.loop.func1":                                             "",
		"k/kubelet.loop.func1 runtime.goexit":                              "",
		"k/rt.step k/kubelet.loop.func1 other/lib.f":                       "",
		"other/lib.step k/kubelet.loop.func1":                              "",
		"k/kubelet.(*w).locked k/kubelet.loop.func1":                       "",
		"k/rt.step k/kubelet.sync[go.shape.int] k/kubelet.loop.func1":      "",
		"k/rt.step k/kubelet.sync":                                         NotWithin,
		"k/rt.step":                                                        NotWithin,
		"":                                                                 NotWithin,
		"k/rt.step k/kubelet.loop":                                         NotWithin,
		"k/rt.step k/kubelet.(*w).locked k/kubelet.loop.func1":             NotWithin,
		"k/rt.step k/kubelet.(*w).locked.func2 k/kubelet.loop.func1":       NotWithin,
		"k/rt.step k/kubelet.(*w).locked.func2.1 k/kubelet.loop.func1":     NotWithin,
		"k/rt.step k/rt.(*m).remove.func1 k/kubelet.loop.func1":            NotWithin,
		"k/rt.step k/kubelet/logs.(*m).Clean k/kubelet.loop.func1":         NotKnown,
		"k/rt.step sync.(*Once).doSlow k/kubelet.f k/kubelet.loop.func1":   NotKnown,
		"k/rt.step golang.org/x/sync/singleflight.Do k/kubelet.loop.func1": NotKnown,
		"k/rt.step other/lib.f k/kubelet.sync":                             NotWithin, // nobody meant this goroutine
		"k/rt.step other/lib.f k/kubelet.(*w).locked k/kubelet.loop.func1": NotWithin,
	} {
		got := park.Reason("")
		if why := place.Refuses(strings.Fields(functions), known); why != nil {
			got = why.Reason
		}
		if got != want {
			t.Errorf("%s: refused for %q, want %q", functions, got, want)
		}
	}
	if why := (Place{}).Refuses([]string{"other/lib.f"}, known); why != nil {
		t.Errorf("a place that is not about a kind of goroutine refuses: %v", why)
	}
	if why := place.Refuses([]string{"k/rt.step", "k/rt.f", "k/kubelet.loop.func1"}, Known{}); why == nil || why.Reason != NotKnown {
		t.Errorf("nothing is known of any package, and it is %v", why)
	}
}
