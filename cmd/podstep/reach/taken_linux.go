package reach

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/podstep/podstep/probes/kubelets"
	"github.com/podstep/podstep/probes/words"
)

// takenCheck reports a podstep that is, or was, between a kubelet and its runtime: the
// runtime's own socket has another name then. The processes that serve the two names tell
// whether that podstep is attached now, stands still or is gone.
func (m *host) takenCheck(ctx context.Context, k *kubelets.Kubelet) (c Check, taken bool) {
	aside := k.Aside()
	if aside == "" {
		return c, false
	}
	ctx, cancel := context.WithTimeout(ctx, greeting)
	defer cancel()
	on, onErr := m.server(k, ctx, k.RuntimeEndpoint)
	behind, behindErr := m.server(k, ctx, aside)
	switch {
	case isNobody(onErr):
		return fail("cri", words.With(words.Text("nobody answers the kubelet: a podstep that was attached has ended and left the runtime's socket behind as %s", "没有人应答 kubelet：附加过的 podstep 已经结束，运行时的套接字还叫 %s"), aside),
			words.Text("podstep restore mends it; so does a new podstep attach", "podstep restore 会修好它；重新 podstep attach 也可以")), true
	case isNobody(behindErr), on == behind && on != 0:
		return warn("cri", words.With(words.Text("possible, and the runtime answers the kubelet; a podstep that has ended left %s behind, which is of no use", "可行，运行时也在应答 kubelet；已结束的 podstep 留下了没有用处的 %s"), aside),
			words.Text("podstep restore removes it; so does a new podstep attach", "podstep restore 会删除它；重新 podstep attach 也可以")), true
	case m.standsStill(on):
		return fail("cri", words.With(words.Text("podstep is attached now, and its process %d is stopped: no call of the kubelet comes to the runtime", "podstep 正附加着，但它的进程 %d 被停止了：kubelet 的调用都到不了运行时"), on),
			words.With(words.Text("kill -CONT %d lets it go on; kill -9 %d ends it, and its guard gives the socket back", "kill -CONT %d 让它继续；kill -9 %d 结束它，它的守护进程会归还套接字"), on, on)), true
	case on == 0:
		return ok("cri", words.Text("a podstep is attached now, and has the runtime's socket", "podstep 正附加着，占有运行时的套接字")), true
	}
	return ok("cri", words.Text("podstep is attached now: process %d has the runtime's socket, and passes the kubelet's calls on", "podstep 正附加着：进程 %d 占有运行时的套接字，并转发 kubelet 的调用"), on), true
}

// isNobody reports whether an error says that nobody serves a socket.
func isNobody(err error) bool {
	return errors.Is(err, unix.ECONNREFUSED) || errors.Is(err, unix.ENOENT)
}

// standsStill reports whether a process is stopped, by a signal or by a tracer.
func (m *host) standsStill(pid int) bool {
	stat := m.line("proc/" + strconv.Itoa(pid) + "/stat")
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	return len(fields) > 0 && (fields[0] == "T" || fields[0] == "t")
}
