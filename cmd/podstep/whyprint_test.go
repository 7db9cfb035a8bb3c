package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/podstep/podstep/agent/explain/causes"
	"github.com/podstep/podstep/probes/words"
)

// TestWhereRead: scripts get what is different in the node's kubelet, and people read it below the place of the code.
func TestWhereRead(t *testing.T) {
	r := &causes.Report{Findings: []causes.Finding{{
		Cause: causes.Named("start.envFile"), Reading: &causes.Reading{Read: "v1.36", Kubelet: "v1.34", Different: []string{"ParseEnv"}},
	}, {Cause: causes.Named("start.envFile")}}}
	for i, has := range []bool{true, false} {
		b, err := json.Marshal(newFindingJSON(&r.Findings[i], time.Time{}, words.English))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(string(b), `"whereRead":{"read":"v1.36","kubelet":"v1.34","different":["ParseEnv"]}`); got != has {
			t.Errorf("finding %d: %s", i, b)
		}
		var text strings.Builder
		writeFinding(&text, i+1, r, words.English)
		if got := strings.Contains(text.String(), ": ParseEnv\n              podstep read this in v1.36. Different in v1.34: ParseEnv.\n"); got != has {
			t.Errorf("finding %d: %s", i, text.String())
		}
	}
}
