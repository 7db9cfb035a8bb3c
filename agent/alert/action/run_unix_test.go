//go:build unix

package action

import (
	"bufio"
	"context"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestRunHangs: a program that hangs is ended with all that it has started, by time and by the end of podstep.
func TestRunHangs(t *testing.T) {
	for _, byTime := range []bool{true, false} {
		fifo := filepath.Join(t.TempDir(), "fifo")
		if err := syscall.Mkfifo(fifo, 0o600); err != nil {
			t.Fatal(err)
		}
		t.Setenv("FIFO", fifo)
		r, err := NewRun(program(t, "exec 3>$FIFO\nsleep 1000 &\necho ready >&3\nwait\n"))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		if byTime {
			r.most = 300 * time.Millisecond
		}
		done := make(chan error, 1)
		go func() { done <- r.Do(ctx, match("x")) }()
		f, err := os.Open(fifo)
		if err != nil {
			t.Fatal(err)
		}
		in := bufio.NewReader(f)
		if _, err := in.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		want := "ended after 300ms"
		if !byTime {
			cancel()
			want = "ended, because podstep ends"
		}
		if err := <-done; err == nil || err.Error() != want {
			t.Errorf("the error is %v, want %s", err, want)
		}
		if rest, err := io.ReadAll(in); err != nil || len(rest) > 0 { // at the end when nobody has the pipe any more
			t.Errorf("%q, %v", rest, err)
		}
		f.Close()
		cancel()
	}
}
