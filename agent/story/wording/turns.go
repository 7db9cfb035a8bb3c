package wording

import (
	"strings"

	"github.com/podstep/podstep/agent/story/outline"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// changeWords name what a turn changed.
var changeWords = map[outline.Changed]probes.Text{
	outline.SandboxMade:      words.Text("sandbox", "沙箱"),
	outline.ContainerStarted: words.Text("start %s", "启动 %s"),
	outline.ContainerStopped: words.Text("stop %s", "停止 %s"),
	outline.PhaseSet:         words.Text("%s", "%s"),
	outline.PhaseSetReady:    words.Text("%s and ready", "%s，已就绪"),
}

// Changes lists what a turn had changed by a position.
func Changes(l words.Lang, t *outline.Turn, at int) string {
	var out []string
	for _, c := range t.Changes {
		switch {
		case c.Pos >= at:
		case c.Of == "":
			out = append(out, l.In(changeWords[c.What]))
		default:
			out = append(out, l.Inf(changeWords[c.What], c.Of))
		}
	}
	return strings.Join(out, l.In(words.Text(", ", "、")))
}

// updateWords name why a turn takes place, and kindWords what it is for.
var updateWords = map[string]probes.Text{
	"create": words.Text("create", "创建"), "update": words.Text("update", "更新"), "sync": words.Text("sync", "同步"), "kill": words.Text("kill", "杀掉"),
}

var kindWords = [outline.Kinds]probes.Text{
	outline.Create: words.Text("create", "创建"), outline.Sync: words.Text("sync", "同步"),
	outline.Terminating: words.Text("terminating", "终止"), outline.Terminated: words.Text("terminated", "已终止"),
}

// Turn names a turn by its kind and number: create, update, sync, terminating, terminated. update is the kubelet's
// type of the update for which the turn is made; empty: there is none.
func Turn(l words.Lang, kind outline.Kind, update string, n uint32) string {
	word := kindWords[kind]
	if w, ok := updateWords[update]; ok && kind <= outline.Sync {
		word = w
	}
	if word == updateWords["sync"] {
		return l.Inf(words.Text("sync %d", "第 %d 次同步"), n)
	}
	return l.In(word) + l.Inf(words.Text(", sync %d", "，第 %d 次同步"), n)
}
