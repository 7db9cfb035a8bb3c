package dap

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/probes"
)

// TestRules: a condition becomes what an agent can decide, or is undecided.
func TestRules(t *testing.T) {
	for _, c := range []struct{ pod, condition, want string }{
		{"web", "", "web ON_ENTER 0s"},
		{"web", "err", "web ON_ERROR 0s"},
		{"web", "kind=exit", "web ON_EXIT 0s"},
		{"web", "kind=enter", "web ON_ENTER 0s"},
		{"web", "slow>5s", "web ON_ENTER 5s"},
		{"web", "took>=5s", "web ON_ENTER 5s"},
		{"*", "ns=shop", "shop/* ON_ENTER 0s"},
		{"*", "pod=shop/web err", "shop/web ON_ERROR 0s"},
		{"web-*", "pod=web-1", "web-1 ON_ENTER 0s"},
		{"*", "pod~web-*", "web-* ON_ENTER 0s"},
		{"web-1", "pod~web-*", "web-1 ON_ENTER 0s"},
		{"web-*", "pod~*-1", "undecided pod~*-1"},
		{"web", "pod=db", "undecided pod=db"},
		{"web", "slow<5s", "undecided slow<5s"},
		{"web", "kind=note", "undecided kind=note"},
		{"web", "err slow>5s", "undecided err together with slow"},
		{"web", "field.image~busybox", "undecided field.image~busybox"},
		{"web", "err or ns=shop", "undecided err or ns=shop"},
		{"web", "-err", "undecided -err"},
		{"web", "shop", "undecided shop"},
		{"web", "slow>", "error"},
	} {
		sel, err := agentpb.ParsePods(c.pod)
		if err != nil {
			t.Fatal(err)
		}
		r, err := ruleOf(c.condition, "", sel)
		got := fmt.Sprintf("%s %s %s", r.pods.Written(), r.on, r.slower)
		switch {
		case err != nil:
			got = "error"
		case r.undecided != "":
			got = "undecided " + r.undecided
		}
		if got != c.want {
			t.Errorf("%s, %q: %s, want %s (%v)", c.pod, c.condition, got, c.want, err)
		}
	}
}

// TestRuleMatches: where events are looked at, any condition counts.
func TestRuleMatches(t *testing.T) {
	enter := &probes.Event{Kind: probes.Enter, Step: "image.pull", Pod: &probes.Pod{Namespace: "shop", Name: "web"}, Fields: map[string]any{"image": "busybox"}}
	exit := &probes.Event{Kind: probes.Exit, Step: "image.pull", Pod: enter.Pod, Error: "no route", DurationNs: int64(3 * time.Second)}
	note := &probes.Event{Kind: probes.Note, Step: "image.pull", Pod: enter.Pod}
	for condition, want := range map[string]string{
		"": "enter", "err": "exit", "slow>2s": "exit", "slow>5s": "", "kind=exit": "exit", "field.image~busy": "enter", "err or field.image~busy": "enter exit",
		"-err": "enter", "ns=other": "",
	} {
		r, err := ruleOf(condition, "", &agentpb.PodSelector{})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for i, e := range []*probes.Event{enter, exit, note} {
			if r.matches(e) {
				got = append(got, []string{"enter", "exit", "note"}[i])
			}
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%q matches %q, want %q", condition, s, want)
		}
	}
}

func TestHits(t *testing.T) {
	for text, want := range map[string]string{
		"": "1 2 3 4 5 ", "1": "1 ", "3": "3 ", "== 3": "3 ", "=3": "3 ", ">= 3": "3 4 5 ", "> 3": "4 5 ", ">0": "error", "0": "error", "%2": "error", "many": "error", "-1": "error", "99999999999": "error",
	} {
		h, err := hitsOf(text)
		got := ""
		for n := uint32(1); n <= 5 && err == nil; n++ {
			if h.acts(n) {
				got += fmt.Sprint(n, " ")
			}
		}
		if err != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("%q acts on %q, want %q", text, got, want)
		}
	}
}

func TestFillLog(t *testing.T) {
	e := &probes.Event{Kind: probes.Exit, Step: "image.pull", Sync: 2, Pod: &probes.Pod{Namespace: "shop", Name: "we\x1bb"}, Error: "no route", DurationNs: 3e9, Fields: map[string]any{"image": "busybox"}}
	for text, want := range map[string]string{
		"plain": "plain", "{pod} {ns} {step} {kind} {err}": `shop/we\x1bb shop image.pull exit no route`, "{image} {field.image}": "busybox busybox", "{slow} {sync}": "3.0 s 2",
		"{": "{", "a{b": "a{b", "}": "}", "{}": "{ is not known here}", "{x}{image}": "{x is not known here}busybox",
	} {
		if got := fillLog(text, e); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
