//go:build node

package stuck

import (
	"os"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/podstep/podstep/agent/client"
	"github.com/podstep/podstep/agent/explain/gather"
	"github.com/podstep/podstep/agent/labtest"
)

// These tests need root, containerd, runc, CNI plugins and busybox. They also need the built programs in PODSTEP_BIN,
// with an unmodified kubelet.

// plain is a node with an unmodified kubelet, woven one with a woven kubelet. They are shared by all cases that do
// not disturb others.
var (
	plain = labtest.NewShared(labtest.Launch, unmodified()...)
	woven = labtest.NewShared(labtest.Launch)
)

// unmodified returns the flags of a lab with a kubelet that is not woven.
func unmodified() []string {
	return []string{"--kubelet", os.Getenv("PODSTEP_BIN") + "/kubelet", "--restart-kubelet", "--restart-runtime"}
}

func TestMain(m *testing.M) {
	code := plain.Main(m)
	// The tests have run: only the other node is left to be stopped.
	if err := woven.Stop(); err != nil {
		code = 1
	}
	os.Exit(code)
}

// nodeSources returns the sources on a real node. Way API is from far, where nodes/proxy is not allowed. The other
// ways are on the node, as root.
func nodeSources(tb testing.TB, l *labtest.Lab, way Way) gather.From {
	from := gather.From{API: Client(tb, l)}
	if way == API {
		return from
	}
	from.More = gather.OnNode(from.API, &gather.Nearby{PID: l.KubeletPID(), Login: config(tb, l)}, false)
	if way == Attach || way == Woven {
		from.More = append(from.More, &gather.Agent{Place: client.At(l.State.Agent)})
	}
	return from
}

func config(tb testing.TB, l *labtest.Lab) *rest.Config {
	tb.Helper()
	c, err := clientcmd.BuildConfigFromFlags("", l.State.Kubeconfig)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// onNode runs cases on a node with an unmodified kubelet and on one with a woven kubelet. On the first, podstep
// attach runs for the ways that need it.
func onNode(t *testing.T, cases []Case) {
	t.Run("unmodified", func(t *testing.T) {
		l := plain.For(t)
		l.Attach()
		Run(t, l.For, cases, nodeSources, "node", API, Near, Attach)
	})
	t.Run("woven", func(t *testing.T) {
		Run(t, woven.For, cases, nodeSources, "node", Woven)
	})
}

// onNodeAlone runs each case on a node of its own, with an unmodified kubelet.
func onNodeAlone(t *testing.T, cases []Case) {
	Run(t, func(tb testing.TB) *labtest.Lab { return labtest.Start(tb, unmodified()...) }, cases, nodeSources, "node", API, Near)
}
