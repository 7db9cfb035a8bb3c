package attach

import (
	"context"
	"testing"
)

// TestAwaitEnd: the end of a process is noticed, and so is the end of the context, whichever comes first.
func TestAwaitEnd(t *testing.T) {
	cmd, k := playedKubelet(t)
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan bool)
	go func() { result <- awaitEnd(ctx, &k) }()
	cancel()
	if <-result {
		t.Error("a process that runs has ended")
	}
	go func() { result <- awaitEnd(t.Context(), &k) }()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if !<-result {
		t.Error("the process's end is not seen")
	}
	_ = cmd.Wait()
	if !awaitEnd(t.Context(), &k) {
		t.Error("a process that is not there any more has not ended")
	}
}
