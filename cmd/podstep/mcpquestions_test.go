package main

import (
	"strings"
	"testing"

	"github.com/podstep/podstep/agent/client"
)

// TestQuestions asks what people on call ask. The facts that answer each question must be in the results of one tool.
func TestQuestions(t *testing.T) {
	sealed(t)
	woven := newAssistant(t, &app{where: &where{}}, &mcpFlags{files: []string{wovenFile}})
	both := newAssistant(t, &app{where: &where{}}, &mcpFlags{files: []string{attachedFile, wovenFile}})
	live := newAssistant(t, &app{where: (&where{}).with(client.At(serveFake(t)))}, &mcpFlags{})
	type args = map[string]any
	for _, x := range []struct {
		question string
		of       *assistant
		tool     string
		args     args
		facts    []string
	}{
		{"Which pods are stuck?", woven, "pods", nil, []string{
			`"name":"crashloop"`, `"name":"missing"`, `"name":"no-image"`, `"state":"stuck"`, `"name":"job-rkck4"`, `"state":"done"`}},
		{"What is wrong on this node?", woven, "why", nil, []string{
			`"looked":4,"stuck":3`, `"id":"image.unreachable"`, `"id":"volumes.configMapMissing"`, `"id":"start.crashes"`}},
		{"Why does no-image not start?", woven, "why", args{"pod": "no-image"}, []string{
			"The node gets no connection to the registry of busybox:no-such-tag", `"confidence":"certain"`}},
		{"Since when?", woven, "why", args{"pod": "no-image"}, []string{`"state":"stuck","phase":"creating","since":"2026-11-21T11:44:08.419391714Z"`}},
		{"When is it tried again?", woven, "why", args{"pod": "no-image"}, []string{`"nextTry":"2026-11-21T11:46:29.501959147Z"`, "doubled after each failure up to 5 min"}},
		{"What would show that this is not the cause?", woven, "why", args{"pod": "no-image"}, []string{`"refutedBy":"The node reaches the registry's address."`}},
		{"What do I do first?", woven, "why", args{"pod": "no-image"}, []string{`"run":"crictl pull busybox:no-such-tag"`}},
		{"What did the runtime answer?", woven, "trace", args{"pods": "no-image", "steps": []string{"cri.PullImage"}, "filter": "err", "last": 1}, []string{
			`"step":"cri.PullImage"`, "dial tcp 127.0.0.1:1: connect: connection refused", `"seq":4520`}},
		{"What does missing wait for?", woven, "why", args{"pod": "missing"}, []string{
			"the API server has no ConfigMap not-there", "volume c for not-there", "MountVolume.SetUp failed for volume"}},
		{"How did the program of crashloop end, and how often?", both, "why", args{"pod": "crashloop"}, []string{
			"ends by itself with exit code 1", "it has been restarted 3 times", `"id":"start.crashes"`}},
		{"How do I see what it printed?", both, "why", args{"pod": "crashloop"}, []string{"kubectl logs crashloop -n default -c app --previous"}},
		{"Did somebody hold web, and for how long?", woven, "trace", args{"pods": "web", "filter": "kind=hold or kind=release"}, []string{
			`"lease":"6s"`, `"kind":"release"`, `"reason":"its lease is over"`, `"durationNs":6000739934`}},
		{"How long did web's sandbox take, and which is it?", woven, "trace", args{"pods": "web", "steps": []string{"cri.RunPodSandbox"}, "filter": "kind=exit"}, []string{
			`"durationNs":108942586`, "604477d23d4fddd2651fbffedc3c9bfa57beb7acb9e4721b423c55d85be06dc5"}},
		{"What is different between web and no-image?", woven, "compare", args{"a": "web", "b": "no-image"}, []string{
			"web came in 9.6 s (6.0 s of it held) and no-image in 2m10s so far", "The first failure is in turn 1, create: cri.PullImage of container app, in no-image."}},
		{"Is the crash the same on the node of the other recording?", both, "compare", args{"a": "crashloop", "b": "crashloop", "recording": "lab.podstep", "recordingB": "attached.podstep"}, []string{
			"recording lab.podstep for a, recording attached.podstep for b", "for b: no probe sees the turns of the pods' workers"}},
		{"Which took longer to end, and by what?", woven, "compare", args{"a": "web", "b": "job-rkck4", "part": "termination"}, []string{
			"web ended in 598 ms and job-rkck4 in 2.0 s: 1.5 s of it in cache.newer"}},
		{"Which node is it, with which kubelet?", woven, "pods", nil, []string{`"node":"node-1","kubelet":"v1.36.3"`}},
		{"What could podstep not see?", both, "pods", nil, []string{"no probe sees the turns of the pods' workers", "no probe sees 189 of the 216 steps"}},
		{"What is rt.backoff?", woven, "steps", args{"step": "rt.backoff"}, []string{
			"By default the wait is 10 seconds and doubles with each crash up to 5 minutes", "pkg/kubelet/kuberuntime/kuberuntime_manager.go"}},
		{"Has the job finished?", woven, "pods", args{"pods": "job-*"}, []string{`"phase":"Succeeded","state":"done"`}},
		{"How long did the pull take, and of which image?", live, "trace", args{"pods": "shop/slow", "steps": []string{"cri.PullImage"}}, []string{
			`"image":"registry.example/shop:7"`, `"durationNs":41000000000`}},
		{"Which step of slow took longest?", live, "trace", args{"pods": "shop/slow", "filter": "kind=exit slow>42s"}, []string{`"step":"sync.pod"`, `"durationNs":43000000000`}},
		{"Which pod is held, where, and until when?", live, "pods", args{"namespace": "shop"}, []string{
			`"name":"db-0"`, `"state":"held"`, `"step":"cri.RunPodSandbox"`, `"lease":"4m59s"`}},
		{"Which agent answers?", live, "doctor", nil, []string{`"name":"agent","status":"ok","text":"version v0.0.9 at [path], pid 42, node node-1"`}},
		{"What can podstep see at the volumes?", live, "steps", args{"step": "sync.volumes", "seen": true}, []string{`"probe":"woven","works":true,"entry":true,"exit":true`}},
	} {
		text := strings.Join(x.of.pages(t, x.tool, x.args), "\n")
		for _, fact := range x.facts {
			if !strings.Contains(text, fact) {
				t.Errorf("%s\n%s %v does not answer %s, but\n%.3000s", x.question, x.tool, x.args, fact, text)
			}
		}
		if !strings.Contains(text, `"evidence":{"source":`) {
			t.Errorf("%s: there is no evidence", x.question)
		}
	}
}

// TestBadQuestions: a question that makes no sense gets an error that says what to do, in the words of the tool.
func TestBadQuestions(t *testing.T) {
	sealed(t)
	recorded := newAssistant(t, &app{where: &where{}}, &mcpFlags{files: []string{wovenFile, wovenFile}})
	alone := newAssistant(t, &app{where: &where{}}, &mcpFlags{})
	type args = map[string]any
	for _, x := range []struct {
		of   *assistant
		tool string
		args args
		want string
	}{
		{recorded, "why", args{"pod": "a/b/c"}, "write NAME or NAMESPACE/NAME"},
		{recorded, "why", args{"pod": "nobody"}, "lab.podstep has no pod nobody"},
		{recorded, "why", args{"pod": "web*"}, "can match several pods"},
		{recorded, "why", args{"pod": "web", "recording": "../../etc/passwd"}, "there is no recording \"../../etc/passwd\"; there are: lab.podstep, lab.podstep (2)"},
		{recorded, "why", args{"path": "x"}, `unexpected additional properties ["path"]`},
		{recorded, "why", args{"namespace": "shop"}, "leave out the namespace, or name the pod"},
		{recorded, "pods", args{"pods": "shop/web", "namespace": "default"}, `is in namespace shop, but the argument namespace is default`},
		{recorded, "pods", args{"pods": "nobody"}, "there is no pod nobody in what recording lab.podstep knows"},
		{recorded, "trace", args{"filter": "slow>x"}, "slow needs a duration"},
		{recorded, "trace", args{"filter": "((("}, "column"},
		{recorded, "trace", args{"steps": []string{"sync.volums"}}, "did you mean sync.volumes"},
		{recorded, "trace", args{"last": 100000}, "it is from 1 to 1000"},
		{recorded, "trace", args{"after": -1}, "minimum"},
		{recorded, "compare", args{"a": "web"}, "two pods are compared: name both, as a and b"},
		{recorded, "compare", args{"a": "web", "b": "no-image", "part": "middle"}, "not one of creation, termination, all"},
		{recorded, "compare", args{"a": "web", "b": "no-image", "recording": "lab.podstep", "recordingB": "x"}, "there is no recording \"x\""},
		{recorded, "steps", args{"tier": 3}, "tiers are 1 and 2"},
		{recorded, "steps", args{"stage": "nowhere"}, "stages are"},
		{recorded, "steps", args{"step": "["}, "is not a step or a glob"},
		{recorded, "doctor", nil, "podstep answers from recordings here"},
		{recorded, "why", args{"cursor": "AAAA"}, "the cursor is none of this server's"},
		{alone, "pods", nil, "no agent at [path]"},
		{alone, "pods", args{"recording": "x"}, "this server has none"},
		{alone, "trace", nil, "without an agent, why asks the API server"},
		{alone, "why", nil, "the person who starts podstep mcp names one"},
		{alone, "why", args{"pod": "hpa/web"}, "the tool why explains pods, what owns them"},
	} {
		r := x.of.call(t, x.tool, x.args)
		text := textOf(t, r)
		if !r.IsError || !strings.Contains(text, x.want) {
			t.Errorf("%s %v: %q, want an error with %q", x.tool, x.args, text, x.want)
		}
		if strings.Contains(text, "--") || strings.Contains(text, " -n ") || strings.Contains(text, "\n") {
			t.Errorf("%s %v: the error speaks of a command line: %q", x.tool, x.args, text)
		}
	}
}
