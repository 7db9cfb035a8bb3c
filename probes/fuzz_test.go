package probes

import (
	"bytes"
	"os"
	"testing"
)

// FuzzParseBinary: a file that is no kubelet, or a broken one, is an error.
func FuzzParseBinary(f *testing.F) {
	self, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		f.Add(self[:min(len(self), 4096)])
	}
	f.Add([]byte("\x7fELF\x02\x01\x01"))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		if bin, err := ParseBinary(b); err == nil && bin == nil {
			t.Error("neither a binary nor an error")
		}
		r, size := bytes.NewReader(b), int64(len(b))
		if build, err := ReadBuild(r, size); err == nil && build.Kubelet && !build.Kubernetes {
			t.Error("a kubelet without Kubernetes")
		}
		if v, err := ReadVersion(r, size); err != nil && v != "" {
			t.Errorf("version %q in spite of %v", v, err)
		}
	})
}

// FuzzParseSymbol: a symbol that is taken apart can be put together again.
func FuzzParseSymbol(f *testing.F) {
	f.Add("k8s.io/kubernetes/pkg/kubelet.(*Kubelet).SyncPod")
	f.Add("a/b.T.M")
	f.Add("a.b/c.F")
	f.Fuzz(func(t *testing.T, s string) {
		fn, err := ParseSymbol(s)
		if err != nil {
			return
		}
		back := fn.Package + "." + fn.Name
		switch {
		case fn.Pointer:
			back = fn.Package + ".(*" + fn.Receiver + ")." + fn.Name
		case fn.Receiver != "":
			back = fn.Package + "." + fn.Receiver + "." + fn.Name
		}
		if back != s {
			t.Errorf("%q became %q", s, back)
		}
	})
}
