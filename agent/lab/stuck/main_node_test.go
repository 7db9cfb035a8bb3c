//go:build node

package stuck

import (
	"os"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/podstep/podstep/agent/explain/gather"
	"github.com/podstep/podstep/agent/lab/labtest"
)

// These tests need root, containerd, runc, CNI plugins and busybox, and the built
// programs in PODSTEP_BIN, an unmodified kubelet among them.

// plain is a node with an unmodified kubelet, woven one with a woven kubelet, for all
// cases that bear others beside them.
var (
	plain = labtest.NewShared(labtest.Launch, unmodified()...)
	woven = labtest.NewShared(labtest.Launch)
)

// unmodified are the flags of a lab with a kubelet that is not woven.
func unmodified() []string {
	return []string{"--kubelet", os.Getenv("PODSTEP_BIN") + "/kubelet", "--restart-kubelet", "--restart-runtime"}
}

func TestMain(m *testing.M) {
	code := plain.Main(m)
	// The tests have run: the other node is only to be ended.
	if err := woven.Stop(); err != nil {
		code = 1
	}
	os.Exit(code)
}

// nodeSources gives where to look on a real node. Way API is from far, where nodes/proxy
// is not allowed; the others are on the node, as root.
func nodeSources(tb testing.TB, l *labtest.Lab, way Way) gather.From {
	from := gather.From{API: Client(tb, l)}
	if way == API {
		return from
	}
	from.More = gather.OnNode(from.API, &gather.Nearby{PID: l.KubeletPID(), Login: config(tb, l)}, false)
	if way == Attach || way == Woven {
		from.More = append(from.More, &gather.Agent{Socket: l.State.Agent})
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

// onNode runs cases on a node with an unmodified kubelet, with podstep attach beside it
// for those who look at that, and on a node with a woven one.
func onNode(t *testing.T, cases []Case) {
	t.Run("unmodified", func(t *testing.T) {
		l := plain.For(t)
		l.Attach()
		Run(t, l, cases, nodeSources, "node", API, Near, Attach)
	})
	t.Run("woven", func(t *testing.T) {
		Run(t, woven.For(t), cases, nodeSources, "node", Woven)
	})
}

// onNodeAlone runs each case on a node of its own, with an unmodified kubelet.
func onNodeAlone(t *testing.T, cases []Case) {
	for i := range cases {
		Run(t, labtest.Start(t, unmodified()...), cases[i:i+1], nodeSources, "node", API, Near)
	}
}
