package attach

import (
	"testing"

	"github.com/podstep/podstep/probes/delve"
)

// TestChosen: the debugger process is sent only changes, since the kubelet stands still for each message.
func TestChosen(t *testing.T) {
	var sent []delve.Wanted
	c := &chosen{places: func() map[uint64]bool { return nil }, send: func(w delve.Wanted) { sent = append(sent, w) }}
	for _, uids := range [][]string{nil, {"a"}, {"a"}, {"a", "b"}, {"b", "a"}, nil, nil} {
		if err := c.Want(uids, nil); err != nil {
			t.Fatal(err)
		}
		c.sendChanged(nil)
	}
	if len(sent) != 3 || !sent[0].UIDs["a"] || len(sent[1].UIDs) != 2 || len(sent[2].UIDs) != 0 {
		t.Errorf("sent are %+v", sent)
	}
}
