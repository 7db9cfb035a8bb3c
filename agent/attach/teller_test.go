package attach

import (
	"context"
	"slices"
	"testing"
)

// What is told is told in its order, also what is left at the end.
func TestTellerOrder(t *testing.T) {
	tell := newTeller()
	var got, want []int
	for i := range 100 {
		want = append(want, i)
		if !tell.begin(func() { got = append(got, i) }, 1) {
			t.Fatal("there is no room for 100")
		}
		if i == 50 {
			go tell.run()
		}
	}
	tell.close()
	if !slices.Equal(got, want) {
		t.Errorf("told in the order %v", got)
	}
	if tell.begin(func() {}, 1) {
		t.Error("a teller that is closed takes more")
	}
	tell.end(func() { t.Error("a teller that is closed tells more") }, 1)
}

// There is room for so much; an end is told whether there is room or not.
func TestTellerBounds(t *testing.T) {
	tell := newTeller()
	if !tell.begin(func() {}, maxUntoldBytes) || tell.begin(func() {}, 1) {
		t.Error("there is not room for just so many bytes")
	}
	ended := false
	tell.end(func() { ended = true }, 1)
	go tell.run()
	tell.close()
	if !ended {
		t.Error("an end is lost")
	}

	tell = newTeller()
	for range maxUntold {
		if !tell.begin(func() {}, 0) {
			t.Fatal("there is less room than there is to be")
		}
	}
	if tell.begin(func() {}, 0) {
		t.Error("there is more room than there is to be")
	}
	go tell.run()
	tell.close()
}

// Who waits goes on when it is told, or when it gives up.
func TestTellerAwait(t *testing.T) {
	tell := newTeller()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	late := false
	if tell.await(ctx, func() { late = true }, 1) {
		t.Error("it is told, by nobody")
	}
	go tell.run()
	told := false
	if !tell.await(context.Background(), func() { told = true }, 1) || !told {
		t.Error("it is not told")
	}
	tell.close()
	if !late {
		t.Error("what somebody waited for in vain is not told")
	}
}

// A panic costs what was to be told, and is told itself; those who wait go on.
func TestTellerPanic(t *testing.T) {
	tell := newTeller()
	var failed, told []any
	tell.failed = func(r any) { failed = append(failed, r) }
	tell.begin(func() { panic("oops") }, 1)
	tell.begin(func() { told = append(told, 1) }, 1)
	go tell.run()
	tell.close()
	if len(failed) != 1 || len(told) != 1 || tell.bytes != 0 {
		t.Errorf("failed %v, told %v, %d bytes left", failed, told, tell.bytes)
	}
}
