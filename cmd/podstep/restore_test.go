package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/podstep/podstep/cmd/podstep/node"
)

// TestRestoreGivesBack: whatever fails in one part of a restore, the others are done, the sockets come first, all that was found
// is printed, also in JSON, and the exit code and the errors show all that failed.
func TestRestoreGivesBack(t *testing.T) {
	frozen, unreadable := errors.New("goroutine 7 still waits"), errors.New("cannot read the records")
	back := []node.Restored{{Socket: "/run/r.sock", Done: []string{"gave r.sock back to the runtime"}}}
	busy := []node.Restored{{Socket: "/run/r.sock", Root: "/node", Error: "it is in use"}}
	held := []node.Restored{{Kubelet: 4, Done: []string{"let go goroutines that were held: 2"}}}
	raised := []node.Restored{{Kubelet: 5, Error: "put -v=2 back: refused"}}
	for _, x := range []struct {
		name                string
		found, held, raised []node.Restored
		giveErr, letErr     error
		fails               bool
		out, err            []string
	}{
		{name: "all", found: back, held: held, out: []string{"/run/r.sock\n  gave r.sock back", "kubelet 4\n  let go"}},
		{name: "nothing", out: []string{"there is nothing to restore"}},
		{name: "a kubelet alone", held: held, out: []string{"kubelet 4\n  let go"}},
		{name: "no goroutine goes on", found: back, letErr: frozen, fails: true, out: []string{"gave r.sock back"}, err: []string{"goroutine 7 still waits"}},
		{name: "no record can be read", held: held, giveErr: unreadable, fails: true, out: []string{"kubelet 4"}, err: []string{"cannot read the records"}},
		{name: "two parts fail", giveErr: unreadable, letErr: frozen, fails: true, err: []string{"cannot read the records\ngoroutine 7 still waits"}},
		{name: "one socket stays", found: busy, letErr: frozen, fails: true, out: []string{"/run/r.sock"}, err: []string{"r.sock below /node: it is in use", "goroutine 7 still waits"}},
		{name: "a kubelet stays verbose", raised: raised, fails: true, out: []string{"kubelet 5"}, err: []string{"kubelet 5: put -v=2 back: refused"}},
	} {
		for _, value := range []string{"", "json"} {
			t.Run(x.name+value, func(t *testing.T) {
				var stdout, stderr bytes.Buffer
				a := &app{out: &stdout, err: &stderr, where: &where{}}
				var order []string
				part := func(name string, found []node.Restored, err error) func() ([]node.Restored, error) {
					return func() ([]node.Restored, error) { order = append(order, name); return found, err }
				}
				err := a.restoreAll(&format{choice{value: value}}, part("path", x.found, x.giveErr), part("goroutines", x.held, x.letErr), part("-v", x.raised, nil))
				if (err != nil) != x.fails {
					t.Errorf("the error is %v", err)
				}
				if err != nil {
					stderr.WriteString(err.Error())
				}
				if got := strings.Join(order, " "); got != "path goroutines -v" {
					t.Errorf("it did %s", got)
				}
				if value == "" {
					wantParts(t, stdout.String(), x.out)
				} else {
					wantEntries(t, stdout.Bytes(), len(x.found)+len(x.held)+len(x.raised))
				}
				wantParts(t, stderr.String(), x.err)
				if some := len(x.found)+len(x.held)+len(x.raised) > 0; (some || x.fails) && strings.Contains(stdout.String(), "nothing") {
					t.Errorf("it printed %q", &stdout)
				}
			})
		}
	}
}

func wantParts(t *testing.T, text string, parts []string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%q has no %q", text, p)
		}
	}
}

func wantEntries(t *testing.T, text []byte, n int) {
	t.Helper()
	var all []map[string]any
	if err := json.Unmarshal(text, &all); err != nil || all == nil || len(all) != n {
		t.Errorf("%d entries, want %d: %s: %v", len(all), n, text, err)
	}
}
