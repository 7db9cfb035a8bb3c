package reach

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/podstep/podstep/probes/kubelets"
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
		return Check{
			Name: "cri", Status: "fail", Text: "nobody answers the kubelet: a podstep that was attached has ended and left the runtime's socket behind as " + aside,
			Todo: "podstep restore mends it; so does a new podstep attach",
		}, true
	case isNobody(behindErr), on == behind && on != 0:
		return warn("cri", "possible, and the runtime answers the kubelet; a podstep that has ended left "+aside+" behind, which is of no use",
			"podstep restore removes it; so does a new podstep attach"), true
	case m.standsStill(on):
		return Check{
			Name: "cri", Status: "fail", Text: fmt.Sprintf("podstep is attached now, and its process %d is stopped: no call of the kubelet comes to the runtime", on),
			Todo: fmt.Sprintf("kill -CONT %d lets it go on; kill -9 %d ends it, and its guard gives the socket back", on, on),
		}, true
	case on == 0:
		return ok("cri", "a podstep is attached now, and has the runtime's socket"), true
	}
	return ok("cri", "podstep is attached now: process %d has the runtime's socket, and passes the kubelet's calls on", on), true
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
