package state

import "github.com/podstep/podstep/probes"

// turnKind is what a turn of the worker is for, by what is expected to happen
// in it.
type turnKind uint8

const (
	turnCreate turnKind = iota // a sync of a pod that has no sandbox yet
	turnSync
	turnTerminating
	turnTerminated
	turnKinds
)

// kindOf tells the kind of a turn that begins now.
func (s *State) kindOf(p *podNow) turnKind {
	switch {
	case p.work == workTerminating:
		return turnTerminating
	case p.work == workTerminated:
		return turnTerminated
	case p.sandboxed || p.phase >= phaseRunning:
		return turnSync
	}
	return turnCreate
}

// updateWords say why a turn takes place; work what it does.
var updateWords = map[string]probes.Text{
	"create": text("create", "创建"), "update": text("update", "更新"), "sync": text("sync", "同步"), "kill": text("kill", "杀掉"),
}

var kindWords = [turnKinds]probes.Text{
	turnCreate: text("create", "创建"), turnSync: text("sync", "同步"),
	turnTerminating: text("terminating", "终止"), turnTerminated: text("terminated", "已终止"),
}

// turnTitle names a turn: create, update, sync, terminating, terminated, and
// which one it is.
func (l Lang) turnTitle(kind turnKind, update string, n uint32) string {
	word := kindWords[kind]
	if w, ok := updateWords[update]; ok && kind <= turnSync {
		word = w
	}
	if word == updateWords["sync"] {
		return l.sayf(text("sync %d", "第 %d 次同步"), n)
	}
	return l.Say(word) + l.sayf(text(", sync %d", "，第 %d 次同步"), n)
}
