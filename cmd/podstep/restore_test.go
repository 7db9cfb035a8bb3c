package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/podstep/podstep/cmd/podstep/node"
)

// TestRestoreGivesBack: whatever fails in one part of a restore, the other part is done, the sockets come first, and
// the exit code and the errors show all that failed.
func TestRestoreGivesBack(t *testing.T) {
	frozen, unreadable := errors.New("goroutine 7 still waits"), errors.New("cannot read the records")
	back := []node.Restored{{Socket: "/run/r.sock", Done: []string{"gave r.sock back to the runtime"}}}
	for _, x := range []struct {
		name            string
		found           []node.Restored
		giveErr, letErr error
		fails           bool
		out, err        string // in what is printed
	}{
		{"all", back, nil, nil, false, "gave r.sock back", "2 goroutines"},
		{"no goroutine goes on", back, nil, frozen, true, "gave r.sock back", "goroutine 7 still waits"},
		{"no record can be read", nil, unreadable, nil, true, "", "cannot read the records"},
		{"nothing", nil, unreadable, frozen, true, "", "cannot read the records\nlet goroutines go on: goroutine 7"},
		{"one socket stays", []node.Restored{{Socket: "/run/r.sock", Error: "it is busy"}}, nil, frozen, true, "/run/r.sock", "goroutine 7 still waits"},
	} {
		t.Run(x.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			a := &app{out: &stdout, err: &stderr, where: &where{}}
			var order []string
			err := a.restoreAll(&format{}, &restoring{
				giveBack: func() ([]node.Restored, error) { order = append(order, "path"); return x.found, x.giveErr },
				lower:    func() ([]node.Lowered, error) { return nil, nil },
				letGo: func() ([]node.LetGone, error) {
					order = append(order, "goroutines")
					return []node.LetGone{{PID: 4, Held: 2}}, x.letErr
				},
			})
			if (err != nil) != x.fails {
				t.Errorf("the error is %v", err)
			}
			if err != nil {
				stderr.WriteString(err.Error())
			}
			if got := strings.Join(order, " "); got != "path goroutines" {
				t.Errorf("it did %s", got)
			}
			if !strings.Contains(stdout.String(), x.out) || !strings.Contains(stderr.String(), x.err) {
				t.Errorf("it printed %q and %q", &stdout, &stderr)
			}
		})
	}
}
