package logstory

import (
	"time"

	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
)

// addCRI makes the events of a line of the runtime.
func (t *reporter) addCRI(c *criLine, at time.Time) {
	step := t.rules.byCRI[c.method]
	if step == nil {
		return
	}
	if c.method == "PullImage" {
		t.addPull(step, c, at)
		return
	}
	p := t.podOf(c, at)
	if p == nil {
		return
	}
	p.seen = at
	which := c.which()
	if !c.ended {
		t.beginCRI(step, p, c, which, at)
		return
	}
	var results []wire.Field
	if c.made != "" {
		name := map[string]string{"RunPodSandbox": "podSandboxID", "CreateContainer": "containerID"}[c.method]
		results = append(results, wire.Text(name, shown(c.made)))
		t.pods.learn(c.made, p)
		if c.method == "CreateContainer" {
			p.learnContainer(c.made, c.container, c.attempt)
		}
	}
	t.finishStep(step, p, which, at, results, c.err)
}

func (t *reporter) beginCRI(step *probes.Step, p *pod, c *criLine, which string, at time.Time) {
	values := map[string]string{"podSandboxID": c.sandbox, "container": c.container, "containerID": c.id}
	if c.method == "RunPodSandbox" {
		values = nil // CRI-O's line names the infra container
	}
	if c.method == "StopPodSandbox" || c.method == "RemovePodSandbox" {
		values["podSandboxID"] = c.id
	}
	f := &found{values: map[string]string{}, which: which}
	for name, v := range values {
		if v != "" {
			f.values[name] = v
		}
	}
	if c.method == "StopContainer" && c.timeout > 0 {
		f.numbers = map[string]int64{"timeout": int64(c.timeout / time.Second)}
	}
	t.begin(step, p, f, at)
}

// which tells the calls of a method apart that go on at one time for one pod.
func (c *criLine) which() string {
	if c.request != "" {
		return c.request
	}
	switch c.method {
	case "RunPodSandbox":
		return c.uid
	case "CreateContainer":
		return c.sandbox + " " + c.container
	}
	return c.id
}

// podOf returns the pod that a call is about.
func (t *reporter) podOf(c *criLine, at time.Time) *pod {
	if c.name != "" && c.uid == "" {
		return t.pods.named(c.namespace+"/"+c.name, at, c.method == "RunPodSandbox")
	}
	switch c.method {
	case "RunPodSandbox":
		return t.pods.get(c.uid, c.namespace+"/"+c.name)
	case "CreateContainer":
		return t.pods.ofID(c.sandbox)
	}
	return t.pods.ofID(c.id)
}
