package hook

import (
	"runtime"
	"testing"
)

// TestGoroutine: a goroutine has one identity while it lives, also after its
// stack moved, and none that lives beside it has the same.
func TestGoroutine(t *testing.T) {
	own := Goroutine()
	if own == 0 {
		t.Fatal("this goroutine has no identity")
	}
	const others = 100
	ids, end := make(chan uintptr, others), make(chan struct{})
	for range others {
		go func() {
			before := Goroutine()
			if grow(50) == 0 || Goroutine() != before {
				before = 0
			}
			ids <- before
			<-end
		}()
	}
	seen := map[uintptr]bool{own: true}
	for range others {
		id := <-ids
		if id == 0 || seen[id] {
			t.Errorf("identity %#x is none, has changed, or is another's", id)
		}
		seen[id] = true
	}
	close(end)
	runtime.GC()
	if Goroutine() != own {
		t.Error("the identity changed")
	}
}

// grow takes so much stack that the runtime moves it.
func grow(depth int) int {
	var room [1 << 10]byte
	if depth == 0 {
		return 1
	}
	room[depth] = byte(depth)
	return grow(depth-1) + int(room[depth+1])
}

// TestSelfTest: the self-test passes here, and leaves the goroutine's labels as
// they were.
func TestSelfTest(t *testing.T) {
	before := getLabels()
	if err := SelfTest(); err != nil {
		t.Error(err)
	}
	if getLabels() != before {
		t.Error("the goroutine's labels were changed")
	}
}
