package kubelets

import (
	"errors"
	"testing"
)

// TestNext: of all processes, that one follows a kubelet which does its work: with its runtime, in its directory, for
// its node.
func TestNext(t *testing.T) {
	const other = "--container-runtime-endpoint=unix:///run/other.sock"
	for _, c := range []struct {
		name string
		is   []made
		want int
	}{
		{"none", nil, 0},
		{"it again", []made{{pid: 9, args: []string{"/usr/bin/kubelet", "--hostname-override=n"}}}, 9},
		{"another version", []made{{pid: 9, args: []string{"/opt/new/kubelet", "--hostname-override=n", "--v=4"}}}, 9},
		{"the later of two", []made{
			{pid: 9, args: []string{"/usr/bin/kubelet", "--hostname-override=n"}}, {pid: 11, args: []string{"/usr/bin/kubelet", "--hostname-override=n", "--v=1"}},
		}, 11},
		{"another runtime's", []made{{pid: 9, args: []string{"/usr/bin/kubelet", "--hostname-override=n", other}}}, 0},
		{"another node's", []made{{pid: 9, args: []string{"/usr/bin/kubelet", "--hostname-override=m"}}}, 0},
		{"another directory's", []made{{pid: 9, args: []string{"/usr/bin/kubelet", "--hostname-override=n", "--root-dir=/data"}}}, 0},
		{"one that was there before", []made{{pid: 3, args: []string{"/usr/bin/kubelet", "--hostname-override=n"}}}, 0},
		{"no kubelet", []made{{pid: 9, args: []string{"/usr/bin/crio"}}}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			tr := newTree(t)
			for _, p := range c.is {
				tr.process(p)
			}
			old := plain(func(k *Kubelet) { k.Node = "n" })
			got, err := Next(t.Context(), &old, Options{Proc: tr.proc()})
			if got.PID != c.want || (err == nil) != (c.want != 0) || err != nil && !errors.Is(err, ErrNone) {
				t.Errorf("it is process %d, %v", got.PID, err)
			}
		})
	}
}
