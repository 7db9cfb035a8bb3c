package history

import (
	"math/rand/v2"
	"testing"
)

// TestListGivesBack: a list keeps its members at their places, and has no more
// memory than it says, however it came to be short.
func TestListGivesBack(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var l List[int]
	for range 2000 {
		for range r.IntN(100) {
			if at := l.Add(l.End()); at != l.End()-1 {
				t.Fatalf("a member is at %d, the end at %d", at, l.End())
			}
		}
		l.Forget(l.First + r.IntN(150))
		if room := l.front + cap(l.All); room > 2*len(l.All)+64 {
			t.Fatalf("%d members have room for %d", len(l.All), room)
		}
		for i := l.First; i < l.End(); i++ {
			if *l.At(i) != i {
				t.Fatalf("at %d is what was at %d", i, *l.At(i))
			}
		}
	}
	if l.Forget(l.End()); l.All != nil {
		t.Error("an empty list keeps memory")
	}
	if n := testing.AllocsPerRun(10, func() { l.Forget(l.End()) }); n > 0 {
		t.Errorf("an empty list that forgets makes %v allocations", n)
	}
}
