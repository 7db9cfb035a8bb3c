package whatif

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/podstep/podstep/agent/whatif"
)

// ask asks about changes of the base, as podstep whatif does.
func ask(t *testing.T, q whatif.Question) *whatif.Answer {
	t.Helper()
	question, err := json.Marshal(q)
	if err != nil {
		t.Fatal(err)
	}
	var out, again bytes.Buffer
	if err := Answer(bytes.NewReader(question), &out, "v1.2.3"); err != nil {
		t.Fatal(err)
	}
	if err := Answer(bytes.NewReader(question), &again, "v1.2.3"); err != nil || again.String() != out.String() {
		t.Errorf("asked again, the answer is %s, %v; before it was %s", again.String(), err, out.String())
	}
	var a whatif.Answer
	if err := json.Unmarshal(out.Bytes(), &a); err != nil {
		t.Fatal(err)
	}
	return &a
}

func changes(t *testing.T, texts ...string) []whatif.Change {
	t.Helper()
	out, err := whatif.ParseChanges(texts)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func row(t *testing.T, a *whatif.Answer, subject string) whatif.Row {
	t.Helper()
	i := slices.IndexFunc(a.Rows, func(r whatif.Row) bool { return r.Subject == subject })
	if i < 0 {
		t.Fatalf("no row about %s in %v", subject, a.Rows)
	}
	return a.Rows[i]
}

// A row names the changes that it takes, and no other.
func TestBecause(t *testing.T) {
	a := ask(t, whatif.Question{
		Inputs:   inputs(t, base),
		Recorded: whatif.Recorded{"killPod": false, "containersToKill": int64(0), "containersToStart": "[]", "createSandbox": false},
		Changes: changes(t,
			"status.containers[side].exitCode=9", "status.containers[web].liveness=Failure", "spec.restartPolicy=Never",
			"status.containers[side].state=exited", "spec.containers[web].terminationMessagePath=/x"),
	})
	if !a.Compared || !a.Same || a.Kubelet != "v1.2.3" {
		t.Errorf("compared %v, same %v, kubelet %s, %v", a.Compared, a.Same, a.Kubelet, a.Mismatch)
	}
	for subject, want := range map[string]struct{ after, because string }{
		"pod":                 {"kill all containers and the sandbox", "status.containers[web].liveness spec.restartPolicy"},
		"sandbox":             {"stop, and create none", "status.containers[web].liveness spec.restartPolicy"},
		"container web":       {"kill (Container web failed liveness probe)", "status.containers[web].liveness spec.restartPolicy"},
		"init container side": {"is not started", "status.containers[web].liveness spec.restartPolicy"},
	} {
		r := row(t, a, subject)
		if r.After != want.after || strings.Join(r.Because, " ") != want.because || !r.Differs {
			t.Errorf("%s: %q because of %v; want %q because of %s", subject, r.After, r.Because, want.after, want.because)
		}
	}
	if made := a.Changes[2]; made.From != `"Always"` || made.To != `"Never"` {
		t.Errorf("made %v", made)
	}
}

// The messages of the kubelet's function come with the rows that they are about.
func TestMessages(t *testing.T) {
	a := ask(t, whatif.Question{Inputs: inputs(t, base), Changes: changes(t, "status.sandboxes[0].state=NOTREADY")})
	if r := row(t, a, "pod"); !slices.Contains(r.MessagesAfter, "No ready sandbox for pod can be found. Need to start a new one") || len(r.MessagesBefore) > 0 {
		t.Errorf("messages %v, before %v", r.MessagesAfter, r.MessagesBefore)
	}
	a = ask(t, whatif.Question{Inputs: inputs(t, base), Changes: changes(t, "status.containers[web].state=exited")})
	if r := row(t, a, "container web"); !slices.Contains(r.MessagesAfter, "Container of pod is not in the desired state and shall be started") {
		t.Errorf("messages %v", r.MessagesAfter)
	}
}

func TestOtherPlanIsNoticed(t *testing.T) {
	a := ask(t, whatif.Question{Inputs: inputs(t, base), Recorded: whatif.Recorded{"killPod": true, "inputs": "x", "containersToKill": int64(1)}})
	want := []string{"containersToKill: 1 recorded, 0 computed", "killPod: true recorded, false computed"}
	if !a.Compared || a.Same || !slices.Equal(a.Mismatch, want) {
		t.Errorf("compared %v, same %v, %v", a.Compared, a.Same, a.Mismatch)
	}
	if a = ask(t, whatif.Question{Inputs: inputs(t, base)}); a.Compared || a.Same {
		t.Errorf("without a recorded plan: compared %v, same %v", a.Compared, a.Same)
	}
}

// Containers that come and go have rows.
func TestContainersComeAndGo(t *testing.T) {
	a := ask(t, whatif.Question{Inputs: inputs(t, base), Changes: changes(t, `spec.containers[more]={"image":"m"}`, "spec.initContainers[setup]-")})
	if r := row(t, a, "container more"); r.Before != "is not there" || r.After != "start" || strings.Join(r.Because, "") != "spec.containers[more]" {
		t.Errorf("%+v", r)
	}
	if r := row(t, a, "init container setup"); r.Before != "nothing to do" || r.After != "is not there" || strings.Join(r.Because, "") != "spec.initContainers[setup]" {
		t.Errorf("%+v", r)
	}
}

// Like another pod: its plan is made of the changes, whatever they are.
func TestLike(t *testing.T) {
	for name, set := range map[string][]string{
		"same":      nil,
		"liveness":  {"status.containers[web].liveness=Failure", "spec.containers[web].image=other"},
		"sandbox":   {"status.sandboxes-", "status.containers-"},
		"more":      {`spec.containers[more]={"image":"m"}`, "status.containers[setup]-", "spec.initContainers[setup]-"},
		"order":     {`spec.containers=[{"name":"first","image":"f"},{"name":"web","image":"c"}]`},
		"two":       {`status.containers=[{"name":"web","state":"exited","id":"x://2"},{"name":"web","state":"running","id":"x://1"}]`},
		"resources": {"actuated.containers.web.limits.memory=1Mi", "actuated.containers.side-", "spec.resources.limits.cpu=1"},
		"newer":     {"status.sandboxes[1]={\"state\":\"NOTREADY\",\"network\":\"POD\"}", "status.sandboxes[0].attempt=1", "status.containers[web].state=exited"},
		"network":   {"status.sandboxes[0].ip-", "spec.hostNetwork=true", "gates.RestartAllContainersOnContainerExits=false"},
		"deleted":   {"metadata.deletionTimestamp=2026-01-01T00:00:00Z", "restartAllContainers=true"},
	} {
		t.Run(name, func(t *testing.T) {
			mine, other := inputs(t, base), inputs(t, base)
			for _, c := range changes(t, set...) {
				if err := c.Apply(other); err != nil {
					t.Fatal(err)
				}
			}
			mine, like, err := whatif.Like(mine, other)
			if err != nil {
				t.Fatal(err)
			}
			a := ask(t, whatif.Question{Inputs: mine, Changes: like})
			for i := range other.Spec.Containers {
				if c := &other.Spec.Containers[i]; c.Name == "web" {
					c.Image = mine.Spec.Containers[0].Image
				}
			}
			p, err := NewPlanner(other)
			if err != nil {
				t.Fatal(err)
			}
			want, err := p.Plan(other)
			if err != nil {
				t.Fatal(err)
			}
			for i := range want.ToKill {
				want.ToKill[i].ID = a.After.ToKill[i].ID // the container is the pod's own
			}
			if got := short(a.After); got != short(want) {
				t.Errorf("the plan is %s, and that of the other %s; changes %v", got, short(want), like)
			}
			if (len(like) == 0) != (len(set) == 0) {
				t.Errorf("changes %v", like)
			}
		})
	}
}

func TestBadQuestion(t *testing.T) {
	for text, want := range map[string]string{
		"":                                  "read question",
		"{}":                                "no inputs",
		`{"inputs":{}}`:                     "spec.restartPolicy",
		strings.Repeat(" ", maxQuestion+1):  "longer than",
		`{"inputs":{},"recorded":{"a":.5}}`: "read question",
		`{"inputs":{"spec":{"restartPolicy":"Never","containers":[{"name":"a"}]},"gates":{"Other":true}}}`: "does not depend on this feature gate",
	} {
		if err := Answer(strings.NewReader(text), &bytes.Buffer{}, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want an error with %q", text, err, want)
		}
	}
}
