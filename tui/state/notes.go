package state

import (
	"fmt"
	"strings"
	"time"

	"github.com/podstep/podstep/probes"
)

// noteOf says in a few words what came of a call, or what it is about.
func (s *State) noteOf(c *call) string {
	if note := s.containerOf(c); note != "" {
		return note
	}
	if f, ok := noteFuncs[stepName(c.step.name)]; ok {
		return cut(f(s.lang, c), 160)
	}
	return cut(plainNote(c), 160)
}

// plainNote is for steps without words of their own: what they gave, or else
// what they were given, in the catalogue's order.
func plainNote(c *call) string {
	if c.step.about == nil {
		return ""
	}
	if n := values(c.step.about.Results, c.gives); n != "" {
		return n
	}
	return values(c.step.about.Fields, c.args)
}

const maxNoteValues = 3

func values(names []probes.Field, of map[string]any) string {
	var out []string
	for _, f := range names {
		v, ok := of[f.Name]
		if !ok || len(out) == maxNoteValues {
			continue
		}
		switch v := v.(type) {
		case bool:
			if v {
				out = append(out, f.Name)
			}
		case int64, float64:
			out = append(out, fmt.Sprintf("%s %v", f.Name, v))
		default:
			if t := shortID(short(v)); t != "" && len(t) <= 120 && !strings.HasPrefix(t, "{") {
				out = append(out, t)
			}
		}
	}
	return strings.Join(out, "  ")
}

type noteFunc func(Lang, *call) string

// show is the note that has the values of some fields.
func show(names ...string) noteFunc {
	return func(_ Lang, c *call) string {
		var out []string
		for _, n := range names {
			if t := shortID(c.text(n)); t != "" {
				out = append(out, t)
			}
		}
		return strings.Join(out, "  ")
	}
}

var noteFuncs = map[stepName]noteFunc{
	stepAPISend:  func(Lang, *call) string { return "API" },
	stepFileSend: func(l Lang, _ *call) string { return l.Say(text("manifest file", "清单文件")) },
	stepMerge:    show("op"), stepFirstSeen: show("source"), stepCheck: checkNote,
	stepAdd: silent, stepRemove: silent, "loop.update": silent, "loop.sync": silent, "loop.reconcile": silent,
	"pm.add": silent, "pm.remove": silent,
	stepAdmit: admitNote, "admit.can": admitNote, "admit.evict": admitNote, "admit.topology": admitNote, "admit.predicate": admitNote,
	"admit.device": show("container"), stepReject: show("reason", "message"),
	stepUpdate: updateNote, stepStart: startNote, stepNewer: freshNote,
	stepEnqueue: func(l Lang, c *call) string {
		d, err := time.ParseDuration(c.text("delay"))
		if err != nil {
			return ""
		}
		return l.sayf(text("again in %s", "%s 后再来"), took(d))
	},
	stepCompleteWork: func(l Lang, c *call) string {
		if c.is("phaseTransition") {
			return l.Say(text("at once", "立即"))
		}
		return ""
	},
	stepGenerateStatus: statusNote,
	stepSetStatus:      func(l Lang, c *call) string { return c.text("phase") + changed(l, c) },
	"status.internal": func(l Lang, c *call) string {
		return c.text("phase") + changed(l, c)
	},
	"sync.cgroup": func(_ Lang, c *call) string { g := c.text("cgroup"); return g[strings.LastIndexByte(g, '/')+1:] },
	"sync.dirs":   show("dir"), stepVolumes: volumesNote,
	"sync.pullsecrets": func(l Lang, c *call) string { return ofNote(l, c, "found", "imagePullSecrets") },
	"sync.probes":      silent, stepSync: silent,
	stepRtSync: silent, stepCompute: planNote,
	stepStartOne: silent, stepStartContainer: show("container", "image"), stepEnsure: show("image"),
	stepPull: show("image"), "image.dopull": show("image"), "cri.PullImage": show("image"),
	stepBackoff: func(l Lang, c *call) string {
		if c.is("isInBackOff") {
			return c.text("message")
		}
		return ""
	},
	"rt.config": show("container"), stepSandbox: show("podSandboxID"),
	stepKillOne: show("container", "message"), stepPreStop: show("container"), stepPostStart: show("container", "hook"),
	stepCreate: show("container", "containerID"), stepStarted: show("containerID"), stepRunSandbox: show("podSandboxID"),
	"cri.PodSandboxStatus": show("state", "ip"), "cri.ContainerStatus": show("state", "reason"),
	"term.killpod": killNote, stepKillPod: killNote,
	stepTerminating: func(l Lang, c *call) string { return grace(l, c, "gracePeriod") },
	stepPatch:       show("phase", "reason"), stepCanDelete: flagNote("canBeDeleted", text("may go", "可以删除"), text("not yet", "还不行")),
	"probe.do": show("probeType", "container", "lastResult"), stepProbeRun: show("probeType", "container", "result"),
	stepProbeWorker: show("probeType", "container"),
	"vol.domount":   show("volume", "plugin"), "vol.dounmount": show("volume", "plugin"), "vol.mountattached": show("volume"),
	"vol.mount": show("volume"), "vol.op": show("operation"), "vol.verifyattach": show("volume"), "vol.waitattach": show("volume"),
	"vol.spec": show("volume"), "pleg.cache": flagNote("gone", text("gone", "已消失"), text("", "")),
	"rt.sandboxconfig": show("hostname"), "worker.forget": show("workType"),
	stepBound: show("node"), stepChanged: show("changed"), stepDeleting: deletingNote, stepGone: phaseNote,
	stepKnown: show("source"), stepHasSandbox: show("podSandboxID"), stepPhase: phaseNote, stepCondition: conditionNote,
	stepIP: show("ips"), stepContainer: containerNote, stepEvent: eventNote,
}

func silent(Lang, *call) string { return "" }

func changed(l Lang, c *call) string {
	switch {
	case !c.ended:
		return ""
	case c.is("changed"):
		return l.Say(text(", changed", "，有变化"))
	}
	return l.Say(text(", as before", "，无变化"))
}

func flagNote(name string, yes, no probes.Text) noteFunc {
	return func(l Lang, c *call) string {
		switch {
		case !c.ended:
			return ""
		case c.is(name):
			return l.Say(yes)
		}
		return l.Say(no)
	}
}

func checkNote(l Lang, c *call) string {
	switch {
	case c.is("needGracefulDelete"):
		return l.Say(text("deletion", "要删除"))
	case c.is("needUpdate"):
		return l.Say(text("spec changed", "spec 有变化"))
	case c.is("needReconcile"):
		return l.Say(text("status differs", "状态不一致"))
	}
	return ""
}

func admitNote(l Lang, c *call) string {
	switch {
	case !c.ended:
		return ""
	case c.is("admitted"):
		return l.Say(text("admitted", "准入"))
	}
	return strings.TrimSpace(l.Say(text("refused: ", "拒绝：")) + c.text("reason") + " " + c.text("message"))
}

func updateNote(l Lang, c *call) string {
	t := c.text("updateType")
	if w, ok := updateWords[t]; ok {
		t = l.Say(w)
	}
	if c.text("deletionGracePeriod") != "" {
		t += l.Say(text(", being deleted: ", "，正在删除：")) + grace(l, c, "deletionGracePeriod")
	}
	return t
}

func (l Lang) containers(n int64) string {
	if n == 1 {
		return l.Say(text("1 container", "1 个容器"))
	}
	return l.sayf(text("%d containers", "%d 个容器"), n)
}

func killNote(l Lang, c *call) string {
	n, _ := c.number("containers")
	out := l.containers(n)
	if g := grace(l, c, "gracePeriodOverride"); g != "" {
		out += "  " + g
	}
	return out
}

// grace says a grace period, which the kubelet has in seconds.
func grace(l Lang, c *call, field string) string {
	n, ok := c.number(field)
	if !ok {
		return ""
	}
	return l.sayf(text("grace period %d s", "宽限期 %d 秒"), n)
}

func startNote(l Lang, c *call) string {
	if !c.ended {
		return ""
	}
	if v, ok := c.gives["canStart"].(bool); ok && !v {
		return l.Say(text("may not start yet", "还不能启动"))
	}
	return c.text("workType")
}

func freshNote(l Lang, c *call) string {
	n, ok := c.number("containers")
	if !ok {
		return ""
	}
	return l.containers(n)
}

func statusNote(l Lang, c *call) string {
	n := c.text("phase")
	if r := c.text("reason"); r != "" {
		n += "  " + r
	}
	if j, ok := c.gives["conditions"].(probes.RawJSON); ok && strings.Contains(string(j), `"Ready":"True"`) {
		n += l.Say(text(", ready", "，已就绪"))
	}
	return n
}

func volumesNote(l Lang, c *call) string {
	n, ok := c.number("volumes")
	switch {
	case !ok:
		return ""
	case n == 0:
		return l.Say(text("none", "没有"))
	case c.ended && c.err == "":
		return l.sayf(text("%d mounted", "%d 个已挂载"), n)
	}
	return l.sayf(text("%d wanted", "需要 %d 个"), n)
}

func ofNote(l Lang, c *call, got, of string) string {
	n, _ := c.number(got)
	m, ok := c.number(of)
	switch {
	case !ok || m == 0:
		return l.Say(text("none", "没有"))
	case !c.ended:
		return fmt.Sprint(m)
	}
	return l.sayf(text("%d of %d", "%d / %d"), n, m)
}

func planNote(l Lang, c *call) string {
	if !c.ended {
		return ""
	}
	var do []string
	if c.is("killPod") && !c.is("createSandbox") {
		do = append(do, l.Say(text("kill the pod", "杀掉 Pod")))
	}
	if c.is("createSandbox") {
		do = append(do, l.Say(text("sandbox", "沙箱")))
	}
	if n, _ := c.number("containersToKill"); n > 0 {
		do = append(do, l.sayf(text("kill %d", "杀掉 %d 个"), n))
	}
	if n := countList(c.text("initContainersToStart")); n > 0 {
		do = append(do, l.sayf(text("%d init", "%d 个 init 容器"), n))
	}
	if n := countList(c.text("containersToStart")); n > 0 {
		do = append(do, l.sayf(text("start %d", "启动 %d 个容器"), n))
	}
	if len(do) == 0 {
		return l.Say(text("nothing to do", "没有要做的事"))
	}
	return l.Say(text("plan: ", "计划：")) + strings.Join(do, l.Say(text(", ", "、")))
}

// countList counts the members of a list as fmt prints it: [0 1].
func countList(s string) int { return len(strings.Fields(strings.Trim(s, "[]"))) }
